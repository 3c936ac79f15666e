// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/window/swin.hpp"

#include "arches.hpp"
#include "encodings/grid_positions.hpp"
#include "reference/score_terms.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::bias_of;
using reference::decoded;
using reference::fails_with;
using reference::made;
using reference::Options;
using reference::Problem;
using reference::Random;

/// Through the softmax, in float32.
constexpr double tolerance = 1e-5;

Index entries(Index h, Index w) { return (2 * h - 1) * (2 * w - 1); }
Options of(Index h, Index w, Index heads, const Array<float>& table) {
  Options o;
  o.number("heads", static_cast<double>(heads))
      .list("window", {static_cast<double>(h), static_cast<double>(w)});
  return std::move(o.table("table", table, table.size() / heads, heads));
}
Array<float> counting(Index n) {
  Array<float> made(n);
  for (Index i = 0; i < n; ++i) made[i] = static_cast<float>(i);
  return made;
}

template <class A>
class SwinAt : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(SwinAt, Arches);

TYPED_TEST(SwinAt, CountsEntriesAsTwoLoopsOverTheOffsets) {
  for (const auto& [h, w] : {std::pair<Index, Index>{1, 1}, {1, 5}, {2, 2}, {3, 4}, {7, 7}}) {
    const Encoding e = made<Swin, TypeParam>(of(h, w, 1, counting(entries(h, w))));
    const Grid grid(h, w);
    const Array<float> got = bias_of(e, 0, grid.positions(), grid.positions());
    // Offsets in the order of the table: rows from the bottom up to the top, columns likewise.
    Index entry = 0;
    for (Index dh = 1 - h; dh < h; ++dh)
      for (Index dw = 1 - w; dw < w; ++dw, ++entry)
        for (Index m = 0; m < h * w; ++m)
          for (Index j = 0; j < h * w; ++j)
            if (m / w - j / w == dh && m % w - j % w == dw) {
              ASSERT_EQ(got[m * h * w + j], static_cast<float>(entry));
            }
    EXPECT_EQ(entry, entries(h, w));
  }
}

TYPED_TEST(SwinAt, EqualsTheFormulaInsideAttention) {
  const Index h = 3, w = 5, n = h * w;
  const Array<float> table = Random(1).floats(entries(h, w) * 4);
  const Encoding e = made<Swin, TypeParam>(of(h, w, 4, table));
  for (Index kv_heads : {4, 2, 1}) {
    Problem p({.batch = 2,
               .heads = 4,
               .kv_heads = kv_heads,
               .queries = n,
               .keys = n,
               .head_dim = 6,
               .value_dim = 3},
              2);
    p.axes = 2;
    p.q_pos = p.k_pos = Grid(h, w).coordinates;
    reference::expect_attention<TypeParam>(
        e, p,
        [&](Index, Index head, Index t, Index j) {
          const auto dh = static_cast<Index>(p.q_at(t, 0) - p.k_at(j, 0)),
                     dw = static_cast<Index>(p.q_at(t, 1) - p.k_at(j, 1));
          return static_cast<double>(table[((dh + h - 1) * (2 * w - 1) + dw + w - 1) * 4 + head]);
        },
        tolerance);
  }
}

TEST(Swin, HasTheWorkedIndexMatrix) {
  const Grid grid(2, 2);
  EXPECT_EQ(bias_of(made<Swin>(of(2, 2, 1, counting(9))), 0, grid.positions(), grid.positions()),
            (Array<float>{4, 3, 1, 0, 5, 4, 2, 1, 7, 6, 4, 3, 8, 7, 5, 4}));
}

TEST(Swin, F15HasAsManyRowsAsOffsets) {
  // A window of 1 x 3 has the offsets -2 .. 2: five rows, not three.
  EXPECT_TRUE(reference::succeeds(decoded<Swin>(of(1, 3, 1, counting(5)))));
  EXPECT_TRUE(fails_with(decoded<Swin>(of(1, 3, 1, counting(3))), Errc::shape_mismatch, "table"));
}

TEST(Swin, RefusesPositionsOutsideTheWindow) {
  const Encoding e = made<Swin>(of(2, 3, 1, counting(15)));
  const auto accepts = [&](Array<double> p) {
    return e.accepts(Positions::of(p.data(), p.size() / 2, 2));
  };
  EXPECT_TRUE(reference::succeeds(accepts({0, 1, 0, 2})));
  EXPECT_TRUE(fails_with(accepts({0, 2, 0, 2}), Errc::position_out_of_table, "positions"));
  EXPECT_TRUE(fails_with(accepts({0, 1, 0, 3}), Errc::position_out_of_table, "positions"));
  EXPECT_TRUE(fails_with(accepts({0, -1, 0, 0}), Errc::position_out_of_table, "positions"));
  EXPECT_TRUE(fails_with(accepts({0, 0.5, 0, 0}), Errc::not_integer, "positions"));
  const Array<double> line{0, 1};
  EXPECT_TRUE(fails_with(e.accepts(reference::positions(line)), Errc::shape_mismatch, "positions"));
}

TEST(Swin, NamesWhatIsWrong) {
  EXPECT_TRUE(fails_with(decoded<Swin>(of(2, 3, 1, counting(15)).list("window", {2, 2.5})),
                         Errc::not_integer, "window"));
  EXPECT_TRUE(fails_with(decoded<Swin>(of(2, 3, 1, counting(15)).list("window", {0, 3})),
                         Errc::out_of_range, "window"));
  EXPECT_TRUE(fails_with(decoded<Swin>(of(2, 3, 1, counting(15)).list("window", {3})),
                         Errc::shape_mismatch, "window"));
}

}  // namespace
}  // namespace posenc

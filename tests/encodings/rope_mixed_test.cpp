// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/rotary/rope_mixed.hpp"

#include "arches.hpp"
#include "reference/axes.hpp"
#include "reference/options.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::cells;
using reference::decoded;
using reference::fails_with;
using reference::Options;
using reference::succeeds;
using reference::Trial;

Array<float> table(Index heads, Index pairs) {
  return reference::Random(11).floats(2 * heads * pairs, 0.7);
}
Options options(Index heads, Index head_dim) {
  Options o;
  o.number("heads", static_cast<double>(heads)).number("headDim", static_cast<double>(head_dim));
  o.table("frequencies", table(heads, head_dim / 2), {2, heads, head_dim / 2}, 3);
  return o;
}
template <class Arch>
Encoding mixed(const Options& o) {
  return reference::made<RopeMixed, Arch>(o);
}
reference::Angle angle_of(Index heads, Index pairs) {
  return [=, t = table(heads, pairs)](Index head, Index i, const double* p) {
    const double along_x = t[head * pairs + i], along_y = t[(heads + head) * pairs + i];
    return p[1] * along_x + p[0] * along_y;
  };
}

template <class A>
class RopeMixedTest : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(RopeMixedTest, Arches);

TYPED_TEST(RopeMixedTest, TurnsEachHeadItsOwnWay) {
  for (const Index heads : {1, 3})
    for (const Index head_dim : {2, 10, 64})
      reference::expect_rotation<TypeParam>(
          mixed<TypeParam>(options(heads, head_dim)), heads, cells(3, 5),
          {Layout::interleaved, head_dim / 2, head_dim / 2}, angle_of(heads, head_dim / 2));
}

TYPED_TEST(RopeMixedTest, AttendsToImages) {
  for (const Index heads : {1, 3})
    for (const TileSizes& tiles : {TileSizes{64, 128}, TileSizes{4, 5}}) {
      Trial trial{
          .shape = {2, heads, heads, 15, 15, 6, 4}, .tiles = tiles, .causal = false, .axes = 2};
      trial.query_positions = trial.key_positions = cells(3, 5);
      reference::expect_attention<TypeParam>(
          mixed<TypeParam>(options(heads, 6)), trial,
          reference::turned_logit(6, {Layout::interleaved, 3, 3}, angle_of(heads, 3)));
    }
}

TYPED_TEST(RopeMixedTest, AttendsToImagesOfTheirOwnPlaces) {
  Trial trial{.shape = {2, 2, 2, 6, 6, 6, 4}, .tiles = {4, 8}, .causal = false, .axes = 2};
  const Array<double> wide = cells(2, 3), high = cells(3, 2, 1, 4);
  trial.query_positions = Array<double>(24);
  for (Index i = 0; i < 12; ++i)
    trial.query_positions[i] = wide[i], trial.query_positions[12 + i] = high[i];
  trial.key_positions = trial.query_positions;
  trial.position_rows = 2;
  reference::expect_attention<TypeParam>(
      mixed<TypeParam>(options(2, 6)), trial,
      reference::turned_logit(6, {Layout::interleaved, 3, 3}, angle_of(2, 3)));
}

using Native = xsimd::default_arch;

/// Batches and more positions than a block of the table, through the public call.
TEST(RopeMixed, RotatesWholeTensors) {
  constexpr Index batch = 2, heads = 3, rows = 70, width = 6;
  const Encoding e = mixed<Native>(options(heads, width));
  const Array<double> points = cells(7, 10);
  const Array<float> x = reference::Random(5).floats(batch * heads * rows * width);
  Array<float> y(x.size());
  ASSERT_TRUE(succeeds(rotate(e, {.x = y.data(),
                                  .from = x.data(),
                                  .batch = batch,
                                  .heads = heads,
                                  .rows = rows,
                                  .width = width,
                                  .positions = points.data(),
                                  .axes = 2})));
  for (Index plane = 0; plane < batch * heads; ++plane)
    for (Index t = 0; t < rows; ++t) {
      const Index at = (plane * rows + t) * width;
      const double point[] = {points[t], points[rows + t]};
      const Array<double> want =
          reference::turned(x.data() + at, width, {Layout::interleaved, 3, 3}, plane % heads, point,
                            angle_of(heads, 3));
      for (Index c = 0; c < width; ++c)
        ASSERT_NEAR(y[at + c], want[c], 2 * reference::turn_tolerance);
    }
}

TEST(RopeMixed, RefusesTensorsOfOtherHeads) {
  const Encoding e = mixed<Native>(options(3, 6));
  const Array<double> points = cells(1, 2);
  Array<float> x(2 * 2 * 6, 1.0f);
  const Array<float> before = x;
  EXPECT_TRUE(fails_with(rotate(e, {.x = x.data(),
                                    .from = x.data(),
                                    .heads = 2,
                                    .rows = 2,
                                    .width = 6,
                                    .positions = points.data(),
                                    .axes = 2}),
                         Errc::shape_mismatch, "x"));
  EXPECT_TRUE(x.same_bits(before));

  const Encoding* encodings[] = {&e};
  AttentionArguments a;
  a.shape = {1, 3, 1, 2, 2, 6, 6};
  a.encodings = encodings;
  a.axes = 2;
  a.query_positions = a.key_positions = {points.data(), 1};
  EXPECT_TRUE(fails_with(check(a), Errc::unsupported, "k"));
  a.shape.kv_heads = 3;
  EXPECT_TRUE(succeeds(check(a)));
  a.shape.heads = a.shape.kv_heads = 2;
  EXPECT_TRUE(fails_with(check(a), Errc::shape_mismatch, "heads"));
}

TEST(RopeMixed, RefusesTablesOfOtherShapes) {
  Options o;
  o.number("heads", 2).number("headDim", 6);
  o.table("frequencies", Array<float>(2 * 2 * 2), {2, 2, 2}, 3);
  EXPECT_TRUE(fails_with(decoded<RopeMixed>(o), Errc::shape_mismatch, "frequencies"));
  Options three;
  three.number("heads", 2).number("headDim", 6);
  three.table("frequencies", Array<float>(3 * 2 * 3), {3, 2, 3}, 3);
  EXPECT_TRUE(fails_with(decoded<RopeMixed>(three), Errc::shape_mismatch, "frequencies"));
  Options odd;
  odd.number("heads", 2).number("headDim", 7);
  EXPECT_TRUE(fails_with(decoded<RopeMixed>(odd), Errc::not_even, "headDim"));
}

}  // namespace
}  // namespace posenc

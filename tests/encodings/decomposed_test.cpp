// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/decomposed.hpp"

#include "arches.hpp"
#include "encodings/grid_positions.hpp"
#include "reference/score_terms.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::decoded;
using reference::fails_with;
using reference::made;
using reference::Options;
using reference::Problem;
using reference::Random;

/// Sums of `dim` products of size 1, divided and multiplied by the scale on the way.
constexpr double tolerance = 2e-5;

struct Model {
  Index dim;
  Array<double> size, key_size;
  Array<float> height, width;

  /// Tables of as many rows as there are offsets, or of other numbers of rows.
  Model(Index d, Array<double> queries, Array<double> keys, std::uint64_t seed, Index more = 0)
      : dim(d), size(std::move(queries)), key_size(std::move(keys)) {
    Random random(seed);
    height = random.floats((2 * largest(0) - 1 + more) * d);
    width = random.floats((2 * largest(1) - 1 + more) * d);
  }
  double keys(Index axis) const { return key_size.size() > 0 ? key_size[axis] : size[axis]; }
  Index largest(Index axis) const { return static_cast<Index>(std::max(size[axis], keys(axis))); }
  Options options() const {
    Options o;
    o.number("headDim", static_cast<double>(dim)).list("size", size);
    if (key_size.size() > 0) o.list("keySize", key_size);
    return std::move(o.table("relPosH", height, height.size() / dim, dim)
                         .table("relPosW", width, width.size() / dim, dim));
  }
  /// Element c of the vector of an axis: the table, resized with its corners not aligned.
  double element(Index axis, double query, double key, Index c) const {
    const Array<float>& table = axis == 0 ? height : width;
    const double q = size[axis], k = keys(axis);
    const double offset = std::floor(query * std::max(k / q, 1.0) - key * std::max(q / k, 1.0) +
                                     (k - 1) * std::max(q / k, 1.0));
    const double rows = static_cast<double>(table.size() / dim),
                 wanted = 2.0 * static_cast<double>(largest(axis)) - 1;
    const double place = std::max((offset + 0.5) * rows / wanted - 0.5, 0.0),
                 low = std::floor(place);
    const auto at = [&](double row) {
      return table[static_cast<Index>(std::min(row, rows - 1)) * dim + c];
    };
    return (1 - (place - low)) * at(low) + (place - low) * at(low + 1);
  }
  reference::Bias bias(const Problem& p) const {
    return [&, this](Index b, Index h, Index t, Index j) {
      double sum = 0;
      for (Index axis = 0; axis < 2; ++axis)
        for (Index c = 0; c < dim; ++c)
          sum += p.q_row(b, h, t)[c] * element(axis, p.q_at(t, static_cast<int>(axis)),
                                               p.k_at(j, static_cast<int>(axis)), c);
      return sum;
    };
  }
  Problem problem(std::uint64_t seed, Index heads = 2, Index kv_heads = 1) const {
    const Grid q(static_cast<Index>(size[0]), static_cast<Index>(size[1]));
    const Grid k(static_cast<Index>(keys(0)), static_cast<Index>(keys(1)));
    Problem p({.batch = 2,
               .heads = heads,
               .kv_heads = kv_heads,
               .queries = q.coordinates.size() / 2,
               .keys = k.coordinates.size() / 2,
               .head_dim = dim,
               .value_dim = 3},
              seed);
    p.axes = 2;
    p.q_pos = q.coordinates;
    p.k_pos = k.coordinates;
    return p;
  }
};

template <class A>
class DecomposedAt : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(DecomposedAt, Arches);

TYPED_TEST(DecomposedAt, EqualsTheFormulaInsideAttention) {
  const Array<double> none;
  for (const Array<double>& size : {Array<double>{1, 1}, {3, 3}, {4, 2}, {5, 7}})
    for (Index more : {Index{0}, Index{2}, Index{-1}}) {
      if (size[0] == 1 && more < 0) continue;
      const Model model(6, size, none, 1, more);
      const Problem p = model.problem(2);
      reference::expect_attention<TypeParam>(made<Decomposed, TypeParam>(model.options()), p,
                                             model.bias(p), tolerance);
    }
}

TYPED_TEST(DecomposedAt, TakesKeysPooledDifferently) {
  for (const auto& [size, keys] :
       {std::pair<Array<double>, Array<double>>{{4, 6}, {2, 3}}, {{2, 3}, {6, 3}}}) {
    const Model model(5, size, keys, 3);
    const Problem p = model.problem(4, 3, 3);
    reference::expect_attention<TypeParam>(made<Decomposed, TypeParam>(model.options()), p,
                                           model.bias(p), tolerance);
  }
}

TYPED_TEST(DecomposedAt, TakesEveryHeadWidth) {
  for (Index dim = 1; dim <= TestFixture::most; ++dim) {
    const Model model(dim, {3, 2}, {}, static_cast<std::uint64_t>(dim));
    const Problem p = model.problem(5);
    reference::expect_attention<TypeParam>(made<Decomposed, TypeParam>(model.options()), p,
                                           model.bias(p), tolerance);
  }
}

TEST(Decomposed, DoesNotScaleTheQuery) {
  const Model model(4, {3, 3}, {}, 6);
  const Problem p = model.problem(7);
  for (double scale : {1.0, 0.25, 3.0})
    reference::expect_attention<xsimd::default_arch>(made<Decomposed>(model.options()), p,
                                                     model.bias(p), tolerance, scale);
}

TEST(Decomposed, RefusesPositionsOutsideTheGrid) {
  const Encoding e = made<Decomposed>(Model(2, {2, 3}, {}, 8).options());
  const auto accepts = [&](Array<double> p) {
    return e.accepts(Positions::of(p.data(), p.size() / 2, 2));
  };
  EXPECT_TRUE(reference::succeeds(accepts({1, 2})));
  EXPECT_TRUE(fails_with(accepts({2, 0}), Errc::position_out_of_table, "positions"));
  EXPECT_TRUE(fails_with(accepts({0, 3}), Errc::position_out_of_table, "positions"));
  EXPECT_TRUE(fails_with(accepts({0, -1}), Errc::position_out_of_table, "positions"));
  EXPECT_TRUE(fails_with(accepts({0, 0.5}), Errc::not_integer, "positions"));
}

TEST(Decomposed, NamesWhatIsWrong) {
  const Model model(2, {2, 3}, {}, 9);
  EXPECT_TRUE(fails_with(decoded<Decomposed>(model.options().list("size", {2.5, 3})),
                         Errc::not_integer, "size"));
  EXPECT_TRUE(fails_with(decoded<Decomposed>(model.options().list("keySize", {1, 1.5})),
                         Errc::not_integer, "keySize"));
  EXPECT_TRUE(fails_with(decoded<Decomposed>(model.options().list("size", {0, 3})),
                         Errc::out_of_range, "size"));
  EXPECT_TRUE(
      fails_with(decoded<Decomposed>(model.options().table("relPosH", Array<float>(9), 3, 3)),
                 Errc::shape_mismatch, "relPosH"));
}

}  // namespace
}  // namespace posenc

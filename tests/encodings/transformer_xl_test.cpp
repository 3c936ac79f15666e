// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/transformer_xl.hpp"

#include <map>

#include "arches.hpp"
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

/// Sums over E and D of products of size 1, in float32.
constexpr double tolerance = 3e-5;

struct Model {
  Index heads, dim, width;
  Array<float> u, v, relative;
  std::optional<int> clamp{};
  int reach = 512;

  Model(Index h, Index d, Index e, std::uint64_t seed) : heads(h), dim(d), width(e) {
    Random random(seed);
    u = random.floats(h * d, 0.5);
    v = random.floats(h * d, 0.5);
    relative = random.floats(h * d * e, 0.3);
  }
  Options geometry() const {
    Options o;
    o.number("heads", static_cast<double>(heads)).number("headDim", static_cast<double>(dim));
    return std::move(o.table("u", u, heads, dim).table("v", v, heads, dim));
  }
  Options options() const {
    Options o = geometry();
    if (clamp) o.number("clamp", *clamp);
    return std::move(o.number("reach", reach).table("relative", relative, {heads, dim, width}, 3));
  }
  /// Element c of W_r R(distance).
  double r(Index h, double distance, Index c) const {
    const double limit = clamp.value_or(1 << 30), d = std::clamp(distance, -limit, limit);
    double sum = 0;
    for (Index e = 0; e < width; ++e) {
      const Index half = width / 2, i = e % half;
      const double angle =
          d * std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(width));
      sum += (e < half ? std::sin(angle) : std::cos(angle)) * relative[(h * dim + c) * width + e];
    }
    return sum;
  }
  /// The vectors of every distance that a problem has, so that each is projected once.
  reference::Bias bias(const Problem& p) const {
    std::map<double, Array<double>> vectors;
    for (Index t = 0; t < p.s.queries; ++t)
      for (Index j = 0; j < p.s.keys; ++j) {
        const double d = p.q_at(t) - p.k_at(j);
        if (vectors.contains(d)) continue;
        Array<double> all(heads * dim);
        for (Index i = 0; i < all.size(); ++i) all[i] = r(i / dim, d, i % dim);
        vectors.emplace(d, std::move(all));
      }
    return [this, &p, vectors = std::move(vectors)](Index b, Index h, Index t, Index j) {
      const Array<double>& vector = vectors.at(p.q_at(t) - p.k_at(j));
      double sum = 0;
      for (Index c = 0; c < dim; ++c) {
        const double q = p.q_row(b, h, t)[c];
        sum += u[h * dim + c] * p.k_row(b, h, j)[c] + (q + v[h * dim + c]) * vector[h * dim + c];
      }
      return sum / std::sqrt(static_cast<double>(dim));
    };
  }
};

template <class A>
class TransformerXlAt : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(TransformerXlAt, Arches);

TYPED_TEST(TransformerXlAt, EqualsTheFormulaInsideAttention) {
  Model model(4, 6, 10, 1);
  const auto bias_of = [&](const Problem& p) { return model.bias(p); };
  // Everything kept; a part kept, the rest projected when met; nothing kept; limited.
  for (int reach : {512, 9, 0}) {
    model.reach = reach;
    reference::expect_attention_everywhere<TypeParam>(
        made<TransformerXl, TypeParam>(model.options()), 4, 6, bias_of, tolerance);
  }
  model.clamp = 7;
  reference::expect_attention_everywhere<TypeParam>(made<TransformerXl, TypeParam>(model.options()),
                                                    4, 6, bias_of, tolerance);
}

TYPED_TEST(TransformerXlAt, TakesEveryHeadWidth) {
  for (Index dim = 1; dim <= TestFixture::most; ++dim) {
    const Model model(1, dim, 4, static_cast<std::uint64_t>(dim));
    Problem p({.queries = 5, .keys = 19, .head_dim = dim, .value_dim = 2}, 7);
    p.causal = true;
    reference::expect_attention<TypeParam>(made<TransformerXl, TypeParam>(model.options()), p,
                                           model.bias(p), tolerance);
  }
}

TEST(TransformerXl, EqualsTheShiftOfRowsWhereTheCausalMaskLooks) {
  // The reference multiplies queries with R in the order klen-1 .. 0 and shifts row a left by
  // qlen-1-a; what comes in from the right is hidden by the mask.
  const Index queries = 4, keys = 7, dim = 3;
  const Model model(1, dim, 6, 2);
  Problem p({.queries = queries, .keys = keys, .head_dim = dim, .value_dim = 2}, 3);
  p.causal = true;
  const auto shifted = [&](Index, Index, Index t, Index j) {
    const Index column = j + queries - 1 - t;
    if (column >= keys) return 1e3;  // rubbish, which must not matter
    double sum = 0;
    for (Index c = 0; c < dim; ++c)
      sum += model.u[c] * p.k_row(0, 0, j)[c] +
             (p.q_row(0, 0, t)[c] + model.v[c]) *
                 model.r(0, static_cast<double>(keys - 1 - column), c);
    return sum / std::sqrt(3.0);
  };
  reference::expect_attention<xsimd::default_arch>(made<TransformerXl>(model.options()), p, shifted,
                                                   tolerance);
}

TEST(TransformerXl, AttendsAlikeWithItsMemoryInPieces) {
  const Model model(2, 4, 8, 4);
  const Encoding e = made<TransformerXl>(model.options());
  Problem whole(
      {.heads = 2, .kv_heads = 2, .queries = 12, .keys = 12, .head_dim = 4, .value_dim = 3}, 5);
  whole.causal = true;
  const auto want = reference::attend<xsimd::default_arch>(e, whole, {});
  Problem last = whole;
  last.s.queries = 5;
  last.q = Array<float>(2 * 5 * 4);
  for (Index h = 0; h < 2; ++h)
    std::copy_n(whole.q.data() + (h * 12 + 7) * 4, 5 * 4, last.q.data() + h * 5 * 4);
  last.q_pos = reference::counted(5, 7);
  const auto got = reference::attend<xsimd::default_arch>(e, last, {});
  for (Index h = 0; h < 2; ++h)
    for (Index i = 0; i < 15; ++i)
      EXPECT_NEAR(got.output[h * 15 + i], want.output[h * 36 + 21 + i], 2e-6);
}

TEST(TransformerXl, IsPlainAttentionWithZeros) {
  Model zero(2, 4, 6, 6);
  for (Array<float>* table : {&zero.u, &zero.v, &zero.relative})
    *table = Array<float>(table->size());
  Problem p({.heads = 2, .kv_heads = 1, .queries = 9, .keys = 20, .head_dim = 4, .value_dim = 3},
            7);
  reference::expect_attention<xsimd::default_arch>(made<TransformerXl>(zero.options()), p, {},
                                                   1e-5);
}

TEST(TransformerXl, TakesProjectedVectors) {
  // As XLNet has them: distances from -(n-1) to n. The last row stands for all that is farther.
  const Index n = 6, dim = 3, rows = 2 * n;
  const Model model(2, dim, 4, 8);
  const Array<float> vectors = Random(9).floats(rows * 2 * dim);
  for (double shift : {0.0, 3.0, 100.0}) {
    Problem p({.heads = 2, .kv_heads = 2, .queries = n, .keys = n, .head_dim = dim, .value_dim = 2},
              10);
    for (Index t = 0; t < n; ++t) p.q_pos[t] += shift;
    const Encoding e = made<TransformerXl>(
        model.geometry().number("origin", n - 1).table("projected", vectors, {rows, 2, dim}, 3));
    reference::expect_attention<xsimd::default_arch>(
        e, p,
        [&](Index b, Index h, Index t, Index j) {
          const double row = std::clamp(p.q_at(t) - p.k_at(j) + static_cast<double>(n - 1), 0.0,
                                        static_cast<double>(rows - 1));
          double sum = 0;
          for (Index c = 0; c < dim; ++c)
            sum += model.u[h * dim + c] * p.k_row(b, h, j)[c] +
                   (p.q_row(b, h, t)[c] + model.v[h * dim + c]) *
                       vectors[(static_cast<Index>(row) * 2 + h) * dim + c];
          return sum / std::sqrt(3.0);
        },
        tolerance);
  }
}

TEST(TransformerXl, DependsOnDifferencesAlone) {
  Model model(1, 4, 6, 11);
  model.reach = 8;  // a part of the distances is projected when met
  const Encoding e = made<TransformerXl>(model.options());
  Problem p({.queries = 6, .keys = 20, .head_dim = 4, .value_dim = 3}, 12);
  const auto here = reference::attend<xsimd::default_arch>(e, p, {});
  for (Index t = 0; t < 6; ++t) p.q_pos[t] += 1e15;
  for (Index j = 0; j < 20; ++j) p.k_pos[j] += 1e15;
  EXPECT_TRUE(here.output.same_bits(reference::attend<xsimd::default_arch>(e, p, {}).output));
}

TEST(TransformerXl, NamesWhatIsWrong) {
  const Model model(2, 3, 4, 13);
  const Array<float> vectors(5 * 2 * 3);
  EXPECT_TRUE(
      fails_with(decoded<TransformerXl>(model.geometry()), Errc::missing_option, "relative"));
  EXPECT_TRUE(
      fails_with(decoded<TransformerXl>(model.options().table("projected", vectors, {5, 2, 3}, 3)),
                 Errc::option_not_applicable, "projected"));
  EXPECT_TRUE(fails_with(
      decoded<TransformerXl>(
          model.geometry().number("origin", 5).table("projected", vectors, {5, 2, 3}, 3)),
      Errc::out_of_range, "origin"));
  EXPECT_TRUE(
      fails_with(decoded<TransformerXl>(Model(2, 3, 5, 14).options()), Errc::not_even, "relative"));
  EXPECT_TRUE(fails_with(decoded<TransformerXl>(model.options().number("clamp", 0)),
                         Errc::out_of_range, "clamp"));
  const Array<double> half{0.5};
  EXPECT_TRUE(fails_with(made<TransformerXl>(model.options()).accepts(reference::positions(half)),
                         Errc::not_integer, "positions"));
}

}  // namespace
}  // namespace posenc

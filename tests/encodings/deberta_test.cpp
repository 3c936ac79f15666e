// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/deberta.hpp"

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

/// Sums of `dim` products of size 1, in float32.
constexpr double tolerance = 1e-5;

struct Model {
  Index heads, dim, span;
  int max_distance;
  bool logarithmic;
  Array<float> keys, queries;
  bool limit = false;

  Model(Index h, Index d, Index buckets, int farthest, std::uint64_t seed)
      : heads(h),
        dim(d),
        span(buckets == 0 ? farthest : buckets),
        max_distance(farthest),
        logarithmic(buckets != 0) {
    Random random(seed);
    keys = random.floats(2 * span * h * d);
    queries = random.floats(2 * span * h * d);
  }
  Options options(std::string_view terms = "c2p,p2c") const {
    Options o;
    o.number("heads", static_cast<double>(heads))
        .number("headDim", static_cast<double>(dim))
        .text("terms", terms);
    o.number("maxDistance", max_distance).flag("limit", limit);
    if (logarithmic) o.number("buckets", static_cast<double>(span));
    if (terms.find("c2p") != terms.npos) o.table("positionKey", keys, {2 * span, heads, dim}, 3);
    if (terms.find("p2c") != terms.npos)
      o.table("positionQuery", queries, {2 * span, heads, dim}, 3);
    return o;
  }
  /// In floating point, which is right away from whole numbers: sizes are chosen so.
  Index row(double distance) const {
    double size = std::abs(distance);
    if (limit) size = std::min(size, max_distance - 1.0);
    const double c = static_cast<double>(span / 2);
    if (logarithmic && size > c)
      size = c + std::ceil(std::log(size / c) / std::log((max_distance - 1) / c) * (c - 1) - 1e-9);
    const double at = std::copysign(size, distance) + static_cast<double>(span);
    return static_cast<Index>(std::clamp(at, 0.0, static_cast<double>(2 * span - 1)));
  }
  reference::Bias bias(const Problem& p, bool c2p, bool p2c) const {
    return [=, this, &p](Index b, Index h, Index t, Index j) {
      const Index at = (row(p.q_at(t) - p.k_at(j)) * heads + h) * dim;
      const double parts = 1.0 + c2p + p2c;
      return ((c2p ? p.dot(p.q_row(b, h, t), keys.data() + at) : 0.0) +
              (p2c ? p.dot(p.k_row(b, h, j), queries.data() + at) : 0.0)) /
             std::sqrt(static_cast<double>(dim) * parts);
    };
  }
};

template <class A>
class DebertaAt : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(DebertaAt, Arches);

TYPED_TEST(DebertaAt, EqualsTheFormulaInsideAttention) {
  for (const auto& [buckets, farthest] : {std::pair<Index, int>{8, 24}, {0, 9}, {0, 64}, {32, 100}})
    for (std::string_view terms : {"c2p,p2c", "c2p", "p2c"}) {
      const Model model(4, 6, buckets, farthest, static_cast<std::uint64_t>(farthest));
      const bool c2p = terms != "p2c", p2c = terms != "c2p";
      reference::expect_attention_everywhere<TypeParam>(
          made<Deberta, TypeParam>(model.options(terms)), 4, 6,
          [&](const Problem& p) { return model.bias(p, c2p, p2c); }, tolerance);
    }
}

TYPED_TEST(DebertaAt, TakesEveryHeadWidth) {
  for (Index dim = 1; dim <= TestFixture::most; ++dim) {
    const Model model(1, dim, 8, 16, static_cast<std::uint64_t>(dim));
    const Problem p({.queries = 11, .keys = 21, .head_dim = dim, .value_dim = 2}, 7);
    reference::expect_attention<TypeParam>(made<Deberta, TypeParam>(model.options()), p,
                                           model.bias(p, true, true), 2 * tolerance);
  }
}

TEST(Deberta, UsesItsTermsWithAScaleOfTheCallersToo) {
  const Model model(1, 4, 8, 16, 3);
  const Problem p({.queries = 7, .keys = 21, .head_dim = 4, .value_dim = 2}, 7);
  const auto own = model.bias(p, true, true);
  const auto halved = [&](Index b, Index h, Index t, Index j) {
    return own(b, h, t, j) * std::sqrt(12.0) * 0.25;
  };
  reference::expect_attention<xsimd::default_arch>(made<Deberta>(model.options()), p, halved,
                                                   tolerance, 0.25);
}

TEST(Deberta, ScalesByTheNumberOfTerms) {
  const Model model(2, 8, 4, 8, 1);
  EXPECT_DOUBLE_EQ(*made<Deberta>(model.options()).score_scale(8), 1 / std::sqrt(24.0));
  EXPECT_DOUBLE_EQ(*made<Deberta>(model.options("c2p")).score_scale(8), 0.25);
  EXPECT_DOUBLE_EQ(*made<Deberta>(model.options("p2c")).score_scale(8), 0.25);
  EXPECT_DOUBLE_EQ(*made<Deberta>(model.options("")).score_scale(8), 1 / std::sqrt(8.0));
}

TEST(Deberta, HasThePublishedBuckets) {
  const Index span = 256;
  const auto model = decoded<Deberta>(Model(1, 1, span, 512, 1).options());
  ASSERT_TRUE(reference::succeeds(model));
  for (const auto& [distance, bucket] : {std::pair<int, int>{0, 0},
                                         {1, 1},
                                         {127, 127},
                                         {128, 128},
                                         {129, 129},
                                         {130, 130},
                                         {131, 131},
                                         {132, 131},
                                         {140, 137},
                                         {150, 143},
                                         {160, 149},
                                         {180, 160},
                                         {200, 169},
                                         {256, 192},
                                         {300, 207},
                                         {400, 233},
                                         {500, 254},
                                         {509, 255},
                                         {510, 255},
                                         {511, 255}}) {
    EXPECT_EQ(model->row(distance), span + bucket) << distance;
    EXPECT_EQ(model->row(-distance), span - bucket) << -distance;
  }
  EXPECT_EQ(model->row(512), 511);
  EXPECT_EQ(model->row(1e9), 511);
  EXPECT_EQ(model->row(-512), 0);
  EXPECT_EQ(model->row(-1e9), 0);
}

TEST(Deberta, LimitsDistancesFirstWhenAsked) {
  Model model(1, 1, 256, 512, 1);
  model.limit = true;
  const auto limited = decoded<Deberta>(model.options());
  ASSERT_TRUE(reference::succeeds(limited));
  EXPECT_EQ(limited->row(-511), 1);
  EXPECT_EQ(limited->row(-600), 1);
  EXPECT_EQ(limited->row(600), 511);
}

TEST(Deberta, KeepsEveryRowInsideTheTableAndInOrder) {
  for (int buckets : {4, 6, 32, 256})
    for (int farthest = buckets / 2 + 2; farthest <= 600; farthest += farthest < 40 ? 1 : 53) {
      const auto model = decoded<Deberta>(Model(1, 1, buckets, farthest, 1).options());
      ASSERT_TRUE(reference::succeeds(model));
      Index before = 0;
      for (int d = -2 * farthest; d <= 2 * farthest; ++d) {
        const Index row = model->row(d);
        ASSERT_GE(row, before) << buckets << ' ' << farthest << ' ' << d;
        ASSERT_LT(row, 2 * buckets);
        before = row;
        if (std::abs(d) < farthest) {
          ASSERT_EQ(row - buckets, buckets - model->row(-d));
        }
      }
      EXPECT_EQ(before, 2 * buckets - 1);
      EXPECT_EQ(model->row(farthest - 1), 2 * buckets - 1);
    }
}

TEST(Deberta, DependsOnDifferencesAlone) {
  const Encoding e = made<Deberta>(Model(1, 4, 8, 16, 11).options());
  Problem p({.queries = 6, .keys = 20, .head_dim = 4, .value_dim = 3}, 12);
  const auto here = reference::attend<xsimd::default_arch>(e, p, {});
  for (Index t = 0; t < 6; ++t) p.q_pos[t] -= 1e15;
  for (Index j = 0; j < 20; ++j) p.k_pos[j] -= 1e15;
  EXPECT_TRUE(here.output.same_bits(reference::attend<xsimd::default_arch>(e, p, {}).output));
}

TEST(Deberta, NamesWhatIsWrong) {
  const Model model(1, 3, 8, 16, 1);
  Options plain = Options()
                      .number("heads", 1)
                      .number("headDim", 3)
                      .number("buckets", 8)
                      .number("maxDistance", 16);
  EXPECT_TRUE(fails_with(decoded<Deberta>(plain), Errc::missing_option, "positionKey"));
  EXPECT_TRUE(fails_with(decoded<Deberta>(plain.table("positionKey", model.keys, {16, 1, 3}, 3)),
                         Errc::missing_option, "positionQuery"));
  EXPECT_TRUE(fails_with(decoded<Deberta>(model.options().text("terms", "c2p,p2p")),
                         Errc::out_of_range, "terms"));
  EXPECT_TRUE(fails_with(decoded<Deberta>(model.options().number("maxDistance", 5)),
                         Errc::out_of_range, "maxDistance"));
  EXPECT_TRUE(fails_with(decoded<Deberta>(model.options().number("buckets", 7)), Errc::not_even,
                         "buckets"));
  EXPECT_TRUE(fails_with(decoded<Deberta>(model.options().number("buckets", 10)),
                         Errc::shape_mismatch, "positionKey"));
}

}  // namespace
}  // namespace posenc

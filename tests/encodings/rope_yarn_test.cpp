// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/rotary/rope_yarn.hpp"

#include "arches.hpp"
#include "posenc/encodings/rotary/rope.hpp"
#include "reference/plans.hpp"

namespace posenc {
namespace {

using namespace reference;
using reference::Options;

Options of(double head_dim, double factor, double original) {
  return std::move(Options()
                       .number("headDim", head_dim)
                       .number("factor", factor)
                       .number("originalLength", original));
}
Options deepseek() {
  return std::move(of(64, 40, 4096).number("mscale", 1).number("mscaleAllDim", 1));
}
double factor_of(const Options& o, double length = 0) {
  return plan_of(made<RopeYarn>(o), length).plan.attention_factor;
}

/// The published ramp from pair `low` to pair `high`.
Turning yarn(Index d, double factor, double low, double high, double base = 10000) {
  Turning want{.head_dim = d,
               .frequencies = plain(d, base),
               .factor = factor > 1 ? 1 + std::log(factor) / 10 : 1};
  for (Index i = 0; i < d / 2; ++i) {
    const double t = std::min(1.0, std::max(0.0, (static_cast<double>(i) - low) / (high - low)));
    want.frequencies[i] = want.frequencies[i] / factor * t + want.frequencies[i] * (1 - t);
  }
  return want;
}

template <class A>
class RopeYarnRows : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(RopeYarnRows, Arches);

TYPED_TEST(RopeYarnRows, TurnAsTheModelsDo) {
  // Llama 2 ×16, Qwen 2.5 ×4, gpt-oss ×32 without rounding of the ends, in that order.
  expect_turns<TypeParam>(made<RopeYarn, TypeParam>(of(128, 16, 4096)), yarn(128, 16, 20, 46), 1);
  expect_turns<TypeParam>(made<RopeYarn, TypeParam>(of(128, 4, 32768).number("base", 1e6)),
                          yarn(128, 4, 23, 40, 1e6), 1);
  const auto end = [](double turns) {
    return 64 * std::log(4096 / (2 * std::numbers::pi * turns)) / (2 * std::log(150000.0));
  };
  EXPECT_NEAR(end(32), 8.0928, 1e-4);
  EXPECT_NEAR(end(1), 17.3980, 1e-4);
  expect_turns<TypeParam>(
      made<RopeYarn, TypeParam>(of(64, 32, 4096).number("base", 150000).flag("truncate", false)),
      yarn(64, 32, end(32), end(1), 150000), 1);
}

TYPED_TEST(RopeYarnRows, AttendWithTheTemperatureOnWhatRotates) {
  // Six of ten channels rotate; mu enters the scores squared, and there alone.
  Turning want = yarn(6, 4, 1, 3);
  want.head_dim = 10;
  expect_attends<TypeParam>(
      made<RopeYarn, TypeParam>(of(10, 4, 4096).number("rotaryDim", 6).number("betaFast", 8)),
      want);
}

TYPED_TEST(RopeYarnRows, AttendWithAllScoresScaledAsDeepSeekDoes) {
  Turning want = yarn(64, 40, 10, 23);
  want.factor = 1;
  want.logit_scale = std::pow(0.1 * std::log(40.0) + 1, 2);
  expect_attends<TypeParam>(made<RopeYarn, TypeParam>(deepseek().flag("scaleLogits", true)), want);
}

TYPED_TEST(RopeYarnRows, AttendByTheNumberOfKeysWhenDynamic) {
  Turning want = yarn(8, 19.0 / 16, 0, 1);
  expect_attends<TypeParam>(made<RopeYarn, TypeParam>(of(8, 1, 16).flag("dynamic", true)), want);
}

TEST(RopeYarn, HasTheGoldenFrequencies) {
  const auto expect_at = [](const Array<double>& w, const Array<double>& want) {
    const Index n = w.size();
    const Array<Index> at{0, 1, 2, n / 4, n / 2, 3 * n / 4, n - 2, n - 1};
    for (Index i = 0; i < at.size(); ++i) EXPECT_NEAR(w[at[i]], want[i], want[i] * 5e-9);
  };
  expect_at(
      frequencies_of<RopeYarn>(of(128, 16, 4096)),
      {1, 0.865964323, 0.749894209, 0.1, 0.00567307692, 6.25e-5, 8.33450895e-6, 7.2173874e-6});
  expect_at(
      frequencies_of<RopeYarn>(of(128, 16, 4096).text("ramp", "rotations")),
      {1, 0.865964323, 0.749894209, 0.1, 0.00229404833, 6.25e-5, 8.33450895e-6, 7.2173874e-6});
  expect_at(frequencies_of<RopeYarn>(of(128, 4, 32768).number("base", 1e6)),
            {1, 0.805842188, 0.649381632, 0.0316227766, 6.02941176e-4, 7.90569415e-6, 3.84981632e-7,
             3.1023444e-7});
  expect_at(frequencies_of<RopeYarn>(deepseek()),
            {1, 0.749894209, 0.562341325, 0.1, 0.0055, 2.5e-5, 4.44569853e-6, 3.33380358e-6});
  expect_at(
      frequencies_of<RopeYarn>(of(64, 32, 4096).number("base", 150000).flag("truncate", false)),
      {1, 0.689044306, 0.474782055, 0.0508132748, 4.56483919e-4, 4.09997848e-6, 4.38797825e-7,
       3.02351143e-7});
}

TEST(RopeYarn, D7ClampsTheEndOfTheRampAtTheWidthLessOne) {
  const Array<double> w = frequencies_of<RopeYarn>(of(64, 8, 131072));
  EXPECT_NEAR(w[31], 5.257152e-05, 5e-12);  // ends 22 and 35; a clamp to 31 gives 1.666902e-05
  expect_close(w, yarn(64, 8, 22, 35).frequencies, float64_rounding);
}

// Property 17.
TEST(RopeYarn, HasTheTemperatureOfItsFactor) {
  const Array<double> factors{2, 4, 8, 16, 32, 40, 64};
  const Array<double> want{1.06931, 1.13863, 1.20794, 1.27726, 1.34657, 1.36889, 1.41589};
  for (Index i = 0; i < factors.size(); ++i)
    EXPECT_NEAR(factor_of(of(64, factors[i], 4096)), want[i], 5e-6);
  EXPECT_EQ(factor_of(of(64, 1, 4096)), 1);
}

TEST(RopeYarn, TakesTheAttentionFactorInTheOrderOfTheReference) {
  EXPECT_EQ(factor_of(of(64, 8, 4096).number("attentionFactor", 1)), 1);  // D8
  EXPECT_EQ(factor_of(deepseek()), 1);
  EXPECT_EQ(factor_of(deepseek().number("attentionFactor", 1.25)), 1.25);
  EXPECT_NEAR(factor_of(of(64, 8, 4096).number("mscale", 1).number("mscaleAllDim", 0.8)),
              1.0356570849393496, 1e-15);
  const double own = factor_of(of(64, 8, 4096));
  EXPECT_EQ(factor_of(of(64, 8, 4096).number("mscale", 0.7)), own);
  EXPECT_EQ(factor_of(of(64, 8, 4096).number("mscaleAllDim", 0.7)), own);
  EXPECT_EQ(factor_of(of(64, 8, 4096).number("mscale", 0).number("mscaleAllDim", 0.7)), own);
}

TEST(RopeYarn, ScalesScoresByTheSquareOfTheTemperature) {
  const auto scale = [](double all) {
    return made<RopeYarn>(of(64, 40, 4096)
                              .number("mscale", all)
                              .number("mscaleAllDim", all)
                              .flag("scaleLogits", true))
        .logit_scale();
  };
  EXPECT_NEAR(scale(1), 1.87385, 5e-6);      // DeepSeek V3
  EXPECT_NEAR(scale(0.707), 1.58963, 5e-6);  // DeepSeek V2
  EXPECT_EQ(made<RopeYarn>(deepseek()).logit_scale(), 1);
}

// Property 18: the two temperatures are the same only where every channel rotates.
TEST(RopeYarn, ScalesScoresAsTheAttentionFactorDoesWhereAllChannelsRotate) {
  for (bool all : {true, false}) {
    const auto rotary = [&](Options&& o) { return std::move(o.number("rotaryDim", all ? 8 : 4)); };
    const Encoding on_scores = made<RopeYarn>(rotary(std::move(
        of(8, 40, 64).number("mscale", 1).number("mscaleAllDim", 1).flag("scaleLogits", true))));
    const Encoding on_rows = made<RopeYarn>(rotary(of(8, 40, 64)));
    Random random(3);
    const Array<float> q = random.floats(8), k = random.floats(8);
    const auto score = [&](const Encoding& e) {
      Turning turning{.head_dim = 8, .frequencies = plan_of(e).frequencies};
      turning.factor = plan_of(e).plan.attention_factor;
      const Array<double> a = turning.of(q, {9}, Role::query), b = turning.of(k, {4}, Role::key);
      double sum = 0;
      for (Index c = 0; c < 8; ++c) sum += a[c] * b[c];
      return sum * plan_of(e).plan.logit_scale;
    };
    if (all) {
      EXPECT_NEAR(score(on_scores), score(on_rows), 1e-12);
    } else {
      EXPECT_GT(std::abs(score(on_scores) - score(on_rows)), 1e-2);
    }
  }
}

// Property 11.
TEST(RopeYarn, EqualsPlainRopeToTheBitAtFactor1) {
  for (std::string_view precision : {"exact", "hf-f32"})
    for (bool truncate : {true, false}) {
      const Encoding e =
          made<RopeYarn>(of(64, 1, 4096).text("precision", precision).flag("truncate", truncate));
      expect_same(
          plan_of(e).frequencies,
          frequencies_of<Rope>(Options().number("headDim", 64).text("precision", precision)));
      EXPECT_EQ(plan_of(e).plan.attention_factor, 1);
    }
}

TEST(RopeYarn, GrowsWithTheLengthWhenDynamic) {
  const Encoding e = made<RopeYarn>(of(64, 1, 2048).flag("dynamic", true));
  const PlanOf now = plan_of(e, 3000);
  expect_same(now.frequencies, frequencies_of<RopeYarn>(of(64, 3000.0 / 2048, 2048)));
  EXPECT_NEAR(now.plan.attention_factor, 1.0381748581490848, 1e-15);
  EXPECT_EQ(plan_of(e, 2048).plan.attention_factor, 1);
  EXPECT_EQ(now.plan.length_policy, LengthPolicy::per_length);
}

TEST(RopeYarn, RefusesOptionsThatDoNotFit) {
  EXPECT_TRUE(fails_with(decoded<RopeYarn>(of(64, 4, 4096).flag("scaleLogits", true)),
                         Errc::missing_option, "mscaleAllDim"));
  EXPECT_TRUE(
      fails_with(decoded<RopeYarn>(deepseek().flag("scaleLogits", true).flag("dynamic", true)),
                 Errc::option_not_applicable, "scaleLogits"));
  EXPECT_TRUE(fails_with(decoded<RopeYarn>(of(64, 4, 4096).number("betaSlow", 33)),
                         Errc::out_of_range, "betaFast"));
  EXPECT_TRUE(fails_with(decoded<RopeYarn>(of(64, 4, 4096).number("attentionFactor", 0)),
                         Errc::out_of_range, "attentionFactor"));
  EXPECT_TRUE(fails_with(decoded<RopeYarn>(of(64, 4, 4096).text("ramp", "bloc97")),
                         Errc::out_of_range, "ramp"));
}

}  // namespace
}  // namespace posenc

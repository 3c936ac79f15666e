// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/sinusoidal.hpp"

#include <gtest/gtest.h>

#include "reference/options.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::counted;
using reference::decoded;
using reference::embedding_of;
using reference::fails_with;
using reference::made;
using reference::Options;

/// Published values have nine digits; a float32 near 1 has seven.
constexpr double published = 1.2e-7;
/// float64 throughout, then one rounding.
constexpr double one_rounding = 0x1p-24;

Options of(int dim, std::string_view rule = "paper", std::string_view layout = "interleaved") {
  return std::move(Options().number("dim", dim).text("frequencies", rule).text("layout", layout));
}
Array<float> row(Options& options, double position) {
  return embedding_of(made<Sinusoidal>(options), {position});
}
Array<float> row(Options&& options, double position) { return row(options, position); }

void expect_near(const Array<float>& got, const Array<double>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (Index i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << "channel " << i;
}

TEST(Sinusoidal, ReproducesTheGoldenRows) {
  expect_near(row(of(8), 3),
              {0.141120008, -0.989992497, 0.295520207, 0.955336489, 0.0299955002, 0.999550034,
               0.0029999955, 0.9999955},
              published);
  expect_near(row(of(8, "paper", "half"), 3),
              {0.141120008, 0.295520207, 0.0299955002, 0.0029999955, -0.989992497, 0.955336489,
               0.999550034, 0.9999955},
              published);
  expect_near(row(of(8, "t2t", "half"), 3),
              {0.141120008, 0.138798101, 0.00646325907, 0.000299999995, -0.989992497, 0.990320699,
               0.999979113, 0.999999955},
              published);
  expect_near(
      row(of(7, "t2t", "half"), 3),
      {0.141120008, 0.0299955002, 0.000299999995, -0.989992497, 0.999550034, 0.999999955, 0},
      published);
  expect_near(row(of(7), 3),
              {0.141120008, -0.989992497, 0.21423219, 0.976782764, 0.0155377988, 0.999879281,
               0.00111827788},
              published);
}

TEST(Sinusoidal, G1TakesAnOddWidth) {
  expect_near(row(of(5), 1), {0.841471, 0.540302, 0.025116, 0.999685, 0.000631}, 1e-6);
}
TEST(Sinusoidal, G2UsesOneExponentForSineAndCosine) {
  expect_near(row(of(4), 3), {0.141120, -0.989992, 0.029996, 0.999550}, 1e-6);
}
TEST(Sinusoidal, G3NamesBothLayouts) {
  expect_near(row(of(4, "paper", "half"), 3), {0.141120, 0.029996, -0.989992, 0.999550}, 1e-6);
}

TEST(Sinusoidal, FollowsTheFormulaForEveryRuleLayoutAndWidth) {
  for (int dim = 1; dim <= 17; ++dim)
    for (std::string_view rule : {"paper", "t2t"})
      for (std::string_view layout : {"interleaved", "half"})
        for (std::string_view odd : {"auto", "zero", "sine"})
          for (double p : {0.0, 1.0, -7.0, 0.25, 4096.0, 1e6, 0x1p53, -0x1p53}) {
            const Array<float> got = row(of(dim, rule, layout).text("odd", odd), p);
            const int half = dim / 2;
            const bool extra =
                dim % 2 == 1 && (odd == "sine" || (odd == "auto" && rule == "paper"));
            Array<double> want(dim);
            for (int i = 0; i < half + (extra ? 1 : 0); ++i) {
              const double w =
                  rule == "paper"
                      ? std::pow(10000.0, -2.0 * i / dim)
                      : std::pow(10000.0, -static_cast<double>(i) / std::max(half - 1, 1));
              const bool turns = layout == "interleaved";
              want[turns ? 2 * i : i] = std::sin(p * w);
              if (i < half) want[turns ? 2 * i + 1 : half + (extra ? 1 : 0) + i] = std::cos(p * w);
            }
            // The frequency may differ in its last bit, and so the angle by 2^-52 of itself.
            expect_near(got, want, one_rounding + std::abs(p) * 0x1p-51);
          }
}

TEST(Sinusoidal, HasNoDivisionByZeroAtWidths1To3) {
  for (int dim : {1, 2, 3})
    for (std::string_view layout : {"interleaved", "half"})
      for (float value : row(of(dim, "t2t", layout), 5)) EXPECT_TRUE(std::isfinite(value)) << dim;
  expect_near(row(of(2, "t2t"), 5), {std::sin(5.0), std::cos(5.0)}, one_rounding);
  expect_near(row(of(1, "t2t"), 5), {0}, 0);
  expect_near(row(of(1), 5), {std::sin(5.0)}, one_rounding);
}

TEST(Sinusoidal, EndsItsFrequenciesAsTheRulesSay) {
  // At width 512: 1e-4 exactly for t2t, 1.03663e-4 for the paper.
  const auto last_sine = [](std::string_view rule) { return row(of(512, rule, "half"), 100)[255]; };
  EXPECT_NEAR(last_sine("t2t"), std::sin(1e-2), one_rounding);
  EXPECT_NEAR(last_sine("paper"), std::sin(1.03663e-2), 1e-7);
}

TEST(Sinusoidal, DiffersWhollyBetweenTheRulesBeforePosition1024) {
  const Encoding paper = made<Sinusoidal>(of(512, "paper", "half")),
                 t2t = made<Sinusoidal>(of(512, "t2t", "half"));
  const Array<double> p = counted(1025);
  const Array<float> a = embedding_of(paper, p), b = embedding_of(t2t, p);
  double most = 0;
  for (Index t = 0; t <= 1024; ++t)
    for (Index i = 0; i < 256; ++i)
      most = std::max<double>(most, std::abs(a[t * 512 + i] - b[t * 512 + i]));
  EXPECT_NEAR(most, 1.335, 1e-3);
}

TEST(Sinusoidal, HasInnerProductsThatDependOnTheDistanceAlone) {
  constexpr int dim = 64;
  constexpr double tolerance = dim * one_rounding;
  const Encoding e = made<Sinusoidal>(of(dim));
  for (double k : {0.0, 1.0, 7.0, 100.0, 0.5}) {
    double want = 0;
    for (int i = 0; i < dim / 2; ++i) want += std::cos(k * std::pow(10000.0, -2.0 * i / dim));
    for (double p : {0.0, 3.0, 1000.0, 65536.0}) {
      const Array<float> x = embedding_of(e, {p, p + k});
      double product = 0, norm = 0;
      for (Index c = 0; c < dim; ++c) {
        product += static_cast<double>(x[c]) * x[dim + c];
        norm += static_cast<double>(x[c]) * x[c];
      }
      EXPECT_NEAR(product, want, tolerance);
      EXPECT_NEAR(norm, dim / 2, tolerance);
    }
  }
}

TEST(Sinusoidal, OrdersTheSameBitsDifferentlyInTheTwoLayouts) {
  const Array<double> p = counted(9, -3, 1.5);
  const Array<float> turns = embedding_of(made<Sinusoidal>(of(10)), p);
  const Array<float> half = embedding_of(made<Sinusoidal>(of(10, "paper", "half")), p);
  for (Index t = 0; t < p.size(); ++t)
    for (Index i = 0; i < 5; ++i) {
      EXPECT_EQ(turns[t * 10 + 2 * i], half[t * 10 + i]);
      EXPECT_EQ(turns[t * 10 + 2 * i + 1], half[t * 10 + 5 + i]);
    }
}

TEST(Sinusoidal, ShiftsByStartAndMultipliesByScale) {
  const Array<float> plain = row(of(6), 7);
  EXPECT_EQ(row(of(6).number("start", 2), 5), plain);
  EXPECT_EQ(row(of(6).number("start", -2.5), 9.5), plain);
  const Array<float> scaled = row(of(6).number("scale", 0.25), 7);
  for (Index c = 0; c < 6; ++c) EXPECT_EQ(scaled[c], 0.25f * plain[c]);
  const Array<float> zero = row(of(6).number("scale", 0), 7);
  for (float value : zero) EXPECT_EQ(value, 0.0f);
}

TEST(Sinusoidal, UsesTheBaseItIsGiven) {
  const Array<float> x = row(of(4, "paper", "half").number("base", 100), 10);
  expect_near(x, {std::sin(10.0), std::sin(1.0), std::cos(10.0), std::cos(1.0)}, one_rounding);
}

TEST(Sinusoidal, AddsToWhatIsThere) {
  const Encoding e = made<Sinusoidal>(of(3));
  Array<float> x{1, 2, 3};
  const Array<float> pe = embedding_of(e, {4});
  e.embed({.rows = {x.data(), 1, 3, 3}, .positions = reference::positions({4})});
  for (Index c = 0; c < 3; ++c) EXPECT_EQ(x[c], static_cast<float>(c + 1) + pe[c]);
}

TEST(Sinusoidal, RefusesOptionsAndPositionsThatDoNotFit) {
  EXPECT_TRUE(fails_with(decoded<Sinusoidal>({}), Errc::missing_option, "dim"));
  EXPECT_TRUE(fails_with(decoded<Sinusoidal>(of(0)), Errc::out_of_range, "dim"));
  EXPECT_TRUE(fails_with(decoded<Sinusoidal>(of(65537)), Errc::out_of_range, "dim"));
  EXPECT_TRUE(fails_with(decoded<Sinusoidal>(of(4).number("base", 1)), Errc::out_of_range, "base"));
  EXPECT_TRUE(fails_with(decoded<Sinusoidal>(of(4, "other")), Errc::out_of_range, "frequencies"));
  EXPECT_TRUE(fails_with(decoded<Sinusoidal>(of(4, "t2t", "other")), Errc::out_of_range, "layout"));
  EXPECT_TRUE(
      fails_with(decoded<Sinusoidal>(of(4).number("heads", 1)), Errc::unknown_option, "heads"));
  const Encoding e = made<Sinusoidal>(of(4));
  EXPECT_TRUE(
      fails_with(e.accepts(reference::positions({std::nan("")})), Errc::not_finite, "positions"));
  EXPECT_TRUE(fails_with(e.accepts(reference::positions({1e16})), Errc::out_of_range, "positions"));
}

}  // namespace
}  // namespace posenc

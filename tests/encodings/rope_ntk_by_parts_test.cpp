// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/rotary/rope_ntk_by_parts.hpp"

#include "arches.hpp"
#include "posenc/encodings/rotary/rope.hpp"
#include "reference/plans.hpp"

namespace posenc {
namespace {

using namespace reference;
using reference::Options;

constexpr double pi = std::numbers::pi;

Options of(double head_dim, double factor, double original, std::string_view ramp = "index") {
  return std::move(Options()
                       .number("headDim", head_dim)
                       .number("factor", factor)
                       .number("originalLength", original)
                       .text("ramp", ramp));
}

/// The pair that turns so many times within the length, between whole pairs.
double pair_of(double turns, double length, double r) {
  return r * std::log(length / (2 * pi * turns)) / (2 * std::log(10000.0));
}
/// 0 up to the pair of `fast` turns, 1 from that of `slow` turns on.
double rise(Index i, double fast, double slow, double length, double r) {
  const double low = std::max(0.0, std::floor(pair_of(fast, length, r)));
  double high = std::min(r - 1, std::ceil(pair_of(slow, length, r)));
  if (high == low) high += 0.001;
  return std::min(1.0, std::max(0.0, (static_cast<double>(i) - low) / (high - low)));
}
double mix(double a, double b, double part_b) { return a + (b - a) * part_b; }

template <class A>
class RopeNtkByPartsRows : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(RopeNtkByPartsRows, Arches);

TYPED_TEST(RopeNtkByPartsRows, TurnByABlendInThePairsIndex) {
  for (Index d : {2, 4, 32, 128}) {
    const double r = static_cast<double>(d);
    Turning want{.head_dim = d, .frequencies = plain(d)};
    for (Index i = 0; i < d / 2; ++i)
      want.frequencies[i] *= mix(1, 1 / 6.0, rise(i, 20, 2, 2048, r));
    expect_turns<TypeParam>(made<RopeNtkByParts, TypeParam>(
                                of(r, 6, 2048).number("betaFast", 20).number("betaSlow", 2)),
                            want, 1);
  }
}

TYPED_TEST(RopeNtkByPartsRows, TurnByABlendInTheNumberOfTurns) {
  Turning want{.head_dim = 64, .frequencies = plain(64)};
  for (double& f : std::span(want.frequencies.data(), 32)) {
    const double turns = 2048 * f / (2 * pi);
    f *= mix(1 / 6.0, 1, std::min(1.0, std::max(0.0, (turns - 1) / 31)));
  }
  expect_turns<TypeParam>(made<RopeNtkByParts, TypeParam>(of(64, 6, 2048, "rotations")), want, 1);
}

TYPED_TEST(RopeNtkByPartsRows, TurnByTwoBlendsAsFirstPublished) {
  Turning want{.head_dim = 64, .frequencies = plain(64)};
  const Array<double> ntk = plain(64, 10000 * std::pow(6.0, 64.0 / 62));
  for (Index i = 0; i < 32; ++i) {
    const double f = want.frequencies[i];
    const double slow = mix(ntk[i], f / 6, rise(i, 1.25, 0.75, 2048, 64));
    want.frequencies[i] = mix(f, slow, rise(i, 16, 2, 2048, 64));
  }
  expect_turns<TypeParam>(made<RopeNtkByParts, TypeParam>(of(64, 6, 2048, "bloc97")), want, 1);
}

TYPED_TEST(RopeNtkByPartsRows, Attend) {
  Turning want{.head_dim = 16, .frequencies = plain(16)};
  for (Index i = 0; i < 8; ++i) want.frequencies[i] *= mix(1, 0.25, rise(i, 4, 1, 64, 16));
  expect_attends<TypeParam>(made<RopeNtkByParts, TypeParam>(of(16, 4, 64).number("betaFast", 4)),
                            want);
  // Dynamic: 19 keys of a length of 16.
  for (Index i = 0; i < 8; ++i)
    want.frequencies[i] = plain(16)[i] * mix(1, 16 / 19.0, rise(i, 4, 1, 16, 16));
  expect_attends<TypeParam>(
      made<RopeNtkByParts, TypeParam>(of(16, 4, 16).number("betaFast", 4).flag("dynamic", true)),
      want);
}

// Property 11.
TEST(RopeNtkByParts, EqualsPlainRopeToTheBitAtFactor1) {
  for (std::string_view ramp : {"index", "rotations", "bloc97"})
    for (std::string_view precision : {"exact", "hf-f32"}) {
      const Array<double> rope =
          frequencies_of<Rope>(Options().number("headDim", 128).text("precision", precision));
      expect_same(
          frequencies_of<RopeNtkByParts>(of(128, 1, 4096, ramp).text("precision", precision)),
          rope);
      expect_same(
          frequencies_of<RopeNtkByParts>(
              of(128, 8, 4096, ramp).text("precision", precision).flag("dynamic", true), 4096),
          rope);
    }
}

// Property 15.
TEST(RopeNtkByParts, StaysBetweenKeptAndDividedAndFalls) {
  const Array<double> f = plain(128);
  for (std::string_view ramp : {"index", "rotations", "bloc97"}) {
    const Array<double> w = frequencies_of<RopeNtkByParts>(of(128, 16, 4096, ramp));
    for (Index i = 0; i < 64; ++i) {
      EXPECT_LE(w[i], f[i] * (1 + 1e-14));
      EXPECT_GE(w[i], f[i] / 16 * (1 - 1e-14));
      if (i > 0) {
        EXPECT_LT(w[i], w[i - 1]);
      }
    }
  }
  const Array<double> w = frequencies_of<RopeNtkByParts>(of(128, 16, 4096));
  for (Index i = 0; i <= 20; ++i) EXPECT_NEAR(w[i], f[i], f[i] * 1e-14);
  for (Index i = 46; i < 64; ++i) EXPECT_NEAR(w[i], f[i] / 16, f[i] * 1e-15);
  EXPECT_LT(w[21], f[21] * 0.999);
  EXPECT_GT(w[45], f[45] / 16 * 1.001);
}

// Property 16: turning the code's ramp into the paper's would be noticed.
TEST(RopeNtkByParts, DiffersByTheRampOnlyBetweenItsEnds) {
  const Array<double> index = frequencies_of<RopeNtkByParts>(of(128, 16, 4096));
  const Array<double> turns = frequencies_of<RopeNtkByParts>(of(128, 16, 4096, "rotations"));
  double most = 0;
  for (Index i = 0; i < 64; ++i) most = std::max(most, index[i] / turns[i]);
  EXPECT_NEAR(most, 3.04, 0.005);
  for (Index i : {0, 10, 20, 46, 63}) EXPECT_NEAR(index[i], turns[i], turns[i] * 1e-14);
}

TEST(RopeNtkByParts, InterpolatesEveryPairWithoutExtrapolation) {
  const Array<double> f = plain(64);
  for (std::string_view ramp : {"index", "rotations"}) {
    const Array<double> w =
        frequencies_of<RopeNtkByParts>(of(64, 4, 4096, ramp).number("extrapolationFactor", 0));
    for (Index i = 0; i < 32; ++i) EXPECT_NEAR(w[i], f[i] / 4, f[i] * 1e-14);
  }
}

TEST(RopeNtkByParts, IsAStepWhereTheBetasAreEqual) {
  const Array<double> f = plain(128);
  for (std::string_view ramp : {"index", "rotations"}) {
    const Array<double> w = frequencies_of<RopeNtkByParts>(
        of(128, 4, 4096, ramp).number("betaFast", 8).number("betaSlow", 8));
    for (Index i = 0; i < 64; ++i) {
      // Pair 30.6 turns eight times; the code rounds its ends outwards.
      if (i <= 30) {
        EXPECT_NEAR(w[i], f[i], f[i] * 1e-14);
      }
      if (i >= 31) {
        EXPECT_NEAR(w[i], f[i] / 4, f[i] * 1e-14);
      }
    }
  }
}

TEST(RopeNtkByParts, KeepsOrDividesAllWhereAllTurnOftenOrHardly) {
  const Array<double> f = plain(8, 10);
  const auto w = [](double original) {
    return frequencies_of<RopeNtkByParts>(of(8, 4, original).number("base", 10));
  };
  const Array<double> kept = w(1e9), divided = w(1);
  for (Index i = 0; i < 4; ++i) EXPECT_NEAR(kept[i], f[i], f[i] * 1e-13);
  for (Index i = 1; i < 4; ++i) EXPECT_NEAR(divided[i], f[i] / 4, f[i] * 1e-13);
}

TEST(RopeNtkByParts, GrowsWithTheLengthWhenDynamic) {
  const Encoding e = made<RopeNtkByParts>(of(64, 1, 2048).flag("dynamic", true));
  expect_same(plan_of(e, 3072).frequencies, frequencies_of<RopeNtkByParts>(of(64, 1.5, 2048)));
  expect_same(plan_of(e, 100).frequencies, plan_of(e, 2048).frequencies);
  EXPECT_EQ(plan_of(e).plan.length_policy, LengthPolicy::per_length);
  EXPECT_EQ(plan_of(made<RopeNtkByParts>(of(64, 4, 2048))).plan.length_policy, LengthPolicy::fixed);
}

TEST(RopeNtkByParts, RefusesOptionsThatDoNotFit) {
  const auto error_of = [](Options&& o) { return decoded<RopeNtkByParts>(o); };
  // D11: exchanged.
  EXPECT_TRUE(
      fails_with(error_of(std::move(of(64, 4, 4096).number("betaFast", 1).number("betaSlow", 32))),
                 Errc::out_of_range, "betaFast"));
  EXPECT_TRUE(fails_with(error_of(std::move(of(64, 4, 4096).number("betaSlow", 0))),
                         Errc::out_of_range, "betaSlow"));
  EXPECT_TRUE(fails_with(error_of(std::move(of(64, 4, 4096, "bloc97").number("betaFast", 16))),
                         Errc::option_not_applicable, "betaFast"));
  EXPECT_TRUE(fails_with(error_of(std::move(of(64, 4, 4096, "bloc97").number("betaSlow", 2))),
                         Errc::option_not_applicable, "betaSlow"));
  EXPECT_TRUE(fails_with(error_of(of(2, 4, 4096, "bloc97")), Errc::out_of_range, "headDim"));
  EXPECT_TRUE(fails_with(error_of(of(64, 0.5, 4096)), Errc::out_of_range, "factor"));
}

}  // namespace
}  // namespace posenc

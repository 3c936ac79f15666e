// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/rotary/rope_dynamic_ntk.hpp"

#include "arches.hpp"
#include "posenc/encodings/rotary/rope.hpp"
#include "reference/plans.hpp"

namespace posenc {
namespace {

using namespace reference;
using reference::Options;

Options of(double head_dim, double factor, double original, std::string_view variant = "hf") {
  return std::move(Options()
                       .number("headDim", head_dim)
                       .number("factor", factor)
                       .number("originalLength", original)
                       .text("variant", variant));
}
double ntk(double alpha, double r) { return 10000 * std::pow(alpha, r / (r - 2)); }

template <class A>
class RopeDynamicNtkRows : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(RopeDynamicNtkRows, Arches);

TYPED_TEST(RopeDynamicNtkRows, TurnByTheLengthInForce) {
  for (double length : {0.0, 1.0, 100.0, 101.0, 250.0, 4096.0}) {
    const double grown = std::max(1.0, length / 100);
    Turning want{.head_dim = 12, .frequencies = plain(12, ntk(3 * grown - 2, 12))};
    expect_turns<TypeParam>(made<RopeDynamicNtk, TypeParam>(of(12, 3, 100)), want, length);

    want.frequencies = plain(12);
    for (Index i = 0; i < 6; ++i) want.frequencies[i] /= grown;
    expect_turns<TypeParam>(made<RopeDynamicNtk, TypeParam>(of(12, 3, 100, "linear")), want,
                            length);

    const double alpha =
        std::max(1.0, std::pow(2.0, std::ceil(std::log2(std::max(length, 1.0) / 100) + 1)) - 1);
    want.frequencies = plain(12, ntk(alpha, 12));
    expect_turns<TypeParam>(made<RopeDynamicNtk, TypeParam>(of(12, 3, 100, "qwen")), want, length);
  }
}

TYPED_TEST(RopeDynamicNtkRows, AttendByTheNumberOfKeys) {
  // 19 keys, trained at 8: alpha = 2·19/8 − 1.
  const Turning want{.head_dim = 8, .frequencies = plain(8, ntk(2 * 19.0 / 8 - 1, 8))};
  expect_attends<TypeParam>(made<RopeDynamicNtk, TypeParam>(of(8, 2, 8)), want);
}

// Properties 11 and 14.
TEST(RopeDynamicNtk, IsPlainRopeToTheBitUpToTheTrainedLength) {
  for (std::string_view variant : {"hf", "linear", "qwen"})
    for (std::string_view precision : {"exact", "hf-f32"}) {
      const Array<double> rope =
          frequencies_of<Rope>(Options().number("headDim", 64).text("precision", precision));
      for (double length : {0.0, 1.0, 2047.0, 2048.0})
        expect_same(frequencies_of<RopeDynamicNtk>(
                        of(64, 2, 2048, variant).text("precision", precision), length),
                    rope);
    }
}

TEST(RopeDynamicNtk, GoesOnWithoutAStepAndOnlySlower) {
  const Encoding e = made<RopeDynamicNtk>(of(64, 2, 2048));
  expect_close(plan_of(e, 2048 + 1e-6).frequencies, plan_of(e, 2048).frequencies, 1e-8);
  Array<double> before = plan_of(e, 2048).frequencies;
  for (double length : {2049.0, 3000.0, 4096.0, 65536.0}) {
    const Array<double> now = plan_of(e, length).frequencies;
    EXPECT_EQ(now[0], 1);
    for (Index i = 1; i < now.size(); ++i) EXPECT_LT(now[i], before[i]);
    before = now;
  }
}

TEST(RopeDynamicNtk, D1ForgetsALongerCall) {
  const Encoding e = made<RopeDynamicNtk>(of(8, 2, 16));
  const Array<double> grown = plan_of(e, 32).frequencies;
  EXPECT_NEAR(grown[1], 0.069336, 1e-6);  // base 43267.487
  EXPECT_NEAR(grown[2], 0.004807, 1e-6);
  expect_close(plan_of(e, 8).frequencies, {1, 0.1, 0.01, 0.001}, 1e-15);
}

TEST(RopeDynamicNtk, D2TakesTheLengthIntoTheFormula) {
  const auto base = [](const Array<double>& w) { return std::pow(w[63], -128.0 / 126); };
  const Encoding e = made<RopeDynamicNtk>(of(128, 2, 2048));
  EXPECT_NEAR(base(plan_of(e, 3000).frequencies), 19499.28, 0.005);
  EXPECT_NEAR(base(plan_of(e, 2048).frequencies), 10000, 1e-7);
  const Encoding other = made<RopeDynamicNtk>(of(128, 2, 4096));
  EXPECT_NEAR(base(plan_of(other, 8192).frequencies), 30527.74, 0.005);
  EXPECT_NEAR(base(plan_of(other, 16384).frequencies), 72195.86, 0.005);
  EXPECT_NEAR(base(plan_of(made<RopeDynamicNtk>(of(128, 4, 2048)), 8192).frequencies), 135401.97,
              0.005);
}

TEST(RopeDynamicNtk, HasTheGoldenFrequencies) {
  const Array<double> w = frequencies_of<RopeDynamicNtk>(of(128, 2, 4096), 8192);
  const Array<Index> at{0, 1, 2, 16, 32, 48, 62, 63};
  const Array<double> want{1,
                           0.850994291,
                           0.724191284,
                           0.0756530337,
                           0.00572338151,
                           4.32991174e-4,
                           4.52326569e-5,
                           3.84927328e-5};
  for (Index i = 0; i < at.size(); ++i) EXPECT_NEAR(w[at[i]], want[i], want[i] * 2e-9);
}

TEST(RopeDynamicNtk, StepsExactlyAtDoublingsInQwensForm) {
  for (double doublings = 0; doublings < 20; ++doublings) {
    const double length = 1000 * std::pow(2.0, doublings);
    const double below = std::pow(2.0, doublings + 1) - 1, above = 2 * below + 1;
    expect_close(frequencies_of<RopeDynamicNtk>(of(16, 1, 1000, "qwen"), length),
                 plain(16, ntk(below, 16)), float64_rounding);
    expect_close(frequencies_of<RopeDynamicNtk>(of(16, 1, 1000, "qwen"), length + 0.001),
                 plain(16, ntk(above, 16)), float64_rounding);
  }
}

TEST(RopeDynamicNtk, PinsTheLengthWhenAsked) {
  const Encoding frozen = made<RopeDynamicNtk>(of(64, 2, 2048).number("frozenLength", 4096));
  const Encoding free = made<RopeDynamicNtk>(of(64, 2, 2048));
  for (double length : {1.0, 2048.0, 1e6})
    expect_same(plan_of(frozen, length).frequencies, plan_of(free, 4096).frequencies);
  EXPECT_EQ(plan_of(frozen).plan.length_policy, LengthPolicy::fixed);
  EXPECT_EQ(plan_of(free).plan.length_policy, LengthPolicy::per_length);
}

TEST(RopeDynamicNtk, RefusesOptionsThatDoNotFit) {
  for (std::string_view variant : {"hf", "qwen"})
    EXPECT_TRUE(
        fails_with(decoded<RopeDynamicNtk>(of(2, 2, 16, variant)), Errc::out_of_range, "headDim"));
  EXPECT_TRUE(succeeds(decoded<RopeDynamicNtk>(of(2, 2, 16, "linear"))));
  EXPECT_TRUE(
      fails_with(decoded<RopeDynamicNtk>(of(8, 2, 0)), Errc::out_of_range, "originalLength"));
  EXPECT_TRUE(
      fails_with(decoded<RopeDynamicNtk>(Options().number("headDim", 8).number("factor", 2)),
                 Errc::missing_option, "originalLength"));
}

}  // namespace
}  // namespace posenc

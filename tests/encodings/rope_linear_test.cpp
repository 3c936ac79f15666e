// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/rotary/rope_linear.hpp"

#include "arches.hpp"
#include "encodings/rotated.hpp"
#include "posenc/encodings/rotary/rope.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::decoded;
using reference::fails_with;
using reference::made;
using reference::Options;
using reference::Random;
using reference::rotated;

Options of(double head_dim, double factor) {
  return std::move(Options().number("headDim", head_dim).number("factor", factor));
}
Options plain(double head_dim) { return std::move(Options().number("headDim", head_dim)); }

template <class A>
class RopeLinearRows : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(RopeLinearRows, Arches);

TYPED_TEST(RopeLinearRows, TurnByPositionOverFactorAtEveryWidth) {
  constexpr double rounding = 4 * 0x1p-24 * 6;
  for (Index pairs = 1; pairs <= TestFixture::most; ++pairs) {
    const Encoding e = made<RopeLinear, TypeParam>(of(static_cast<double>(2 * pairs), 2.5));
    Random random(static_cast<std::uint64_t>(pairs));
    for (double p : {0.0, 7.0, -3.0, 65536.0}) {
      const Array<float> x = random.floats(2 * pairs), got = rotated<TypeParam>(e, x, {p});
      const Array<double> want = reference::turned(x, p, 2 * pairs, false, 10000, 2.5);
      for (Index c = 0; c < x.size(); ++c) ASSERT_NEAR(got[c], want[c], rounding);
    }
  }
}

TEST(RopeLinear, HasTheGoldenFrequencies) {
  const Array<double> w = reference::frequencies_of(made<RopeLinear>(of(128, 4)));
  const Array<Index> at{0, 1, 2, 16, 32, 48, 62, 63};
  const Array<double> want{0.25,   0.216491081, 0.187473552,   0.025,
                           0.0025, 2.5e-4,      3.33380358e-5, 2.88695496e-5};
  for (Index i = 0; i < at.size(); ++i) EXPECT_NEAR(w[at[i]], want[i], want[i] * 1e-8);
}

// Property 11.
TEST(RopeLinear, EqualsPlainRopeToTheBitAtFactor1) {
  for (std::string_view precision : {"exact", "hf-f32"}) {
    const Encoding one = made<RopeLinear>(of(64, 1).text("precision", precision));
    const Encoding rope = made<Rope>(plain(64).text("precision", precision));
    const Array<float> x = Random(1).floats(64);
    for (double p : {0.0, 5.0, 1234.5, 131072.0})
      EXPECT_TRUE(rotated(one, x, {p}).same_bits(rotated(rope, x, {p}))) << p;
    Array<double> frequencies(32);
    EXPECT_EQ(one.plan(1, frequencies.data()).attention_factor, 1);
  }
}

// Property 12.
TEST(RopeLinear, StandsWherePlainRopeStandsAtPositionOverFactor) {
  constexpr double rounding = 0x1p-24 * 6;
  const Array<float> x = Random(2).floats(64);
  for (double factor : {2.0, 4.0, 3.0})
    for (double p : {7.0, 100.0, 4096.0}) {
      const Array<float> a = rotated(made<RopeLinear>(of(64, factor)), x, {p});
      const Array<float> b = rotated(made<Rope>(plain(64)), x, {p / factor});
      for (Index c = 0; c < 64; ++c) EXPECT_NEAR(a[c], b[c], rounding);
    }
}

TEST(RopeLinear, D15DividesAsRealNumbers) {
  const Array<float> y = rotated(made<RopeLinear>(of(4, 4)), {1, 2, 3, 4}, {7});
  const Array<double> want{-3.130204, 1.929697, 0.449248, 4.034386};
  for (Index c = 0; c < 4; ++c) EXPECT_NEAR(y[c], want[c], 1e-6);
}

TEST(RopeLinear, C6TakesAFactorHoweverItIsWritten) {
  EXPECT_TRUE(reference::succeeds(decoded<RopeLinear>(of(8, 8))));
  EXPECT_TRUE(reference::succeeds(decoded<RopeLinear>(of(8, 8.5))));
}

TEST(RopeLinear, RefusesOptionsThatDoNotFit) {
  EXPECT_TRUE(fails_with(decoded<RopeLinear>(plain(8)), Errc::missing_option, "factor"));
  EXPECT_TRUE(fails_with(decoded<RopeLinear>(of(8, 0.5)), Errc::out_of_range, "factor"));
  EXPECT_TRUE(fails_with(decoded<RopeLinear>(of(8, std::nan(""))), Errc::not_finite, "factor"));
  EXPECT_TRUE(fails_with(decoded<RopeLinear>(of(7, 2)), Errc::not_even, "headDim"));
  EXPECT_TRUE(fails_with(decoded<RopeLinear>(of(8, 2).number("rotaryDim", 10)), Errc::out_of_range,
                         "rotaryDim"));
}

}  // namespace
}  // namespace posenc

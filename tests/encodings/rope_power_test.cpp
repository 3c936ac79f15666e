// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/rotary/rope_power.hpp"

#include "arches.hpp"
#include "posenc/encodings/rotary/rope.hpp"
#include "reference/plans.hpp"

namespace posenc {
namespace {

using namespace reference;
using reference::Options;

Options of(double head_dim, double exponent, double factor = 1) {
  return std::move(
      Options().number("headDim", head_dim).number("exponent", exponent).number("factor", factor));
}
Turning want_of(Index d, double exponent, double factor) {
  Turning want{.head_dim = d, .frequencies = plain(d)};
  const Index n = d / 2;
  for (Index i = 0; i < n; ++i)
    want.frequencies[i] *=
        std::exp(exponent * std::log(static_cast<double>(n - i) / static_cast<double>(n))) / factor;
  return want;
}

template <class A>
class RopePowerRows : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(RopePowerRows, Arches);

TYPED_TEST(RopePowerRows, TurnByFrequenciesTimesAPowerOfTheirRank) {
  for (Index d : {2, 6, 64, 80})
    for (double exponent : {0.1, 0.5, 3.0})
      expect_turns<TypeParam>(made<RopePower, TypeParam>(of(static_cast<double>(d), exponent, 2.5)),
                              want_of(d, exponent, 2.5), 1);
}

TYPED_TEST(RopePowerRows, Attend) {
  expect_attends<TypeParam>(made<RopePower, TypeParam>(of(14, 0.5, 2)), want_of(14, 0.5, 2));
}

TEST(RopePower, HasTheGoldenFrequencies) {
  const Array<double> w = frequencies_of<RopePower>(of(128, 0.5));
  const Array<Index> at{0, 1, 2, 16, 32, 48, 62, 63};
  const Array<double> want{1,    0.859172341,   0.738084114,  0.0866025404, 0.00707106781,
                           5e-4, 2.35735512e-5, 1.44347748e-5};
  for (Index i = 0; i < at.size(); ++i) EXPECT_NEAR(w[at[i]], want[i], want[i] * 5e-9);
  EXPECT_NEAR(w[63] / plain(128)[63], 0.125, 1e-13);
}

// Properties 11 and 22.
TEST(RopePower, EqualsPlainRopeToTheBitAtExponent0) {
  for (std::string_view precision : {"exact", "hf-f32"})
    expect_same(frequencies_of<RopePower>(of(64, 0).text("precision", precision)),
                frequencies_of<Rope>(Options().number("headDim", 64).text("precision", precision)));
}

TEST(RopePower, RefusesOptionsThatDoNotFit) {
  EXPECT_TRUE(fails_with(decoded<RopePower>(of(64, -1)), Errc::out_of_range, "exponent"));
  EXPECT_TRUE(fails_with(decoded<RopePower>(of(64, 1, 0.5)), Errc::out_of_range, "factor"));
  EXPECT_TRUE(fails_with(decoded<RopePower>(Options().number("headDim", 64)), Errc::missing_option,
                         "exponent"));
}

}  // namespace
}  // namespace posenc

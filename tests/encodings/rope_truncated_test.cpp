// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/rotary/rope_truncated.hpp"

#include "arches.hpp"
#include "posenc/encodings/rotary/rope.hpp"
#include "reference/plans.hpp"

namespace posenc {
namespace {

using namespace reference;
using reference::Options;

Options of(double head_dim) { return std::move(Options().number("headDim", head_dim)); }
Options limits(double head_dim, double low, double high, double rho) {
  return std::move(of(head_dim).number("low", low).number("high", high).number("rho", rho));
}
Turning want_of(Index d, double low, double high, double rho, double factor) {
  Turning want{.head_dim = d, .frequencies = plain(d)};
  for (double& f : std::span(want.frequencies.data(), static_cast<std::size_t>(d / 2))) {
    f /= factor;
    if (f < high) f = f < low ? 0 : rho;
  }
  return want;
}

template <class A>
class RopeTruncatedRows : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(RopeTruncatedRows, Arches);

TYPED_TEST(RopeTruncatedRows, TurnByWhatTheLimitsLeave) {
  constexpr double b = 2 * std::numbers::pi / 1000;
  for (Index d : {2, 6, 64, 80}) {
    const double r = static_cast<double>(d);
    expect_turns<TypeParam>(
        made<RopeTruncated, TypeParam>(of(r).number("trainedLength", 1000).number("factor", 4)),
        want_of(d, b / 8, b, b / 16, 4), 1);
    expect_turns<TypeParam>(made<RopeTruncated, TypeParam>(limits(r, 0.002, 0.03, 0.01)),
                            want_of(d, 0.002, 0.03, 0.01, 1), 1);
  }
}

TYPED_TEST(RopeTruncatedRows, Attend) {
  expect_attends<TypeParam>(made<RopeTruncated, TypeParam>(limits(14, 0.005, 0.2, 0.05)),
                            want_of(14, 0.005, 0.2, 0.05, 1));
}

// Property 22.
TEST(RopeTruncated, KeepsSlowsAndStopsAsManyPairsAsPublished) {
  const auto counts = [](double trained) {
    const Array<double> w = frequencies_of<RopeTruncated>(of(128).number("trainedLength", trained));
    const double rho = 2 * std::numbers::pi / trained / 16;
    Array<Index> n{0, 0, 0};
    for (double f : w) ++n[f == 0 ? 2 : std::abs(f - rho) < 1e-12 ? 1 : 0];
    return n;
  };
  EXPECT_EQ(counts(2048), (Array<Index>{41, 14, 9}));
  EXPECT_EQ(counts(4096), (Array<Index>{46, 14, 4}));
  expect_same(frequencies_of<RopeTruncated>(of(128)),
              frequencies_of<RopeTruncated>(of(128).number("trainedLength", 2048)));
}

TEST(RopeTruncated, CountsALimitItselfAsAbove) {
  const Array<double> w = frequencies_of<RopeTruncated>(limits(4, 0.01, 1, 0.25));
  EXPECT_EQ(w[0], 1);
  EXPECT_EQ(w[1], 0.25);  // pair 1 is 1 / 10000^(1/2)
}

// Property 11.
TEST(RopeTruncated, EqualsPlainRopeToTheBitWhenNothingIsSlow) {
  for (std::string_view precision : {"exact", "hf-f32"})
    expect_same(frequencies_of<RopeTruncated>(limits(64, 0, 0, 0).text("precision", precision)),
                frequencies_of<Rope>(of(64).text("precision", precision)));
}

TEST(RopeTruncated, RefusesOptionsThatDoNotFit) {
  EXPECT_TRUE(fails_with(decoded<RopeTruncated>(of(64).number("high", 1).number("rho", 1)),
                         Errc::missing_option, "low"));
  EXPECT_TRUE(fails_with(decoded<RopeTruncated>(of(64).number("low", 1).number("rho", 1)),
                         Errc::missing_option, "high"));
  EXPECT_TRUE(fails_with(decoded<RopeTruncated>(of(64).number("low", 1).number("high", 1)),
                         Errc::missing_option, "rho"));
  EXPECT_TRUE(
      fails_with(decoded<RopeTruncated>(limits(64, 0.5, 0.1, 0)), Errc::out_of_range, "low"));
}

}  // namespace
}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/rotary/rope_ntk.hpp"

#include "arches.hpp"
#include "posenc/encodings/rotary/rope.hpp"
#include "reference/plans.hpp"

namespace posenc {
namespace {

using namespace reference;
using reference::Options;

Options of(double head_dim, double factor) {
  return std::move(Options().number("headDim", head_dim).number("factor", factor));
}
Options mixed(double head_dim, double factor) {
  return std::move(of(head_dim, factor).text("variant", "mixed"));
}

template <class A>
class RopeNtkRows : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(RopeNtkRows, Arches);

TYPED_TEST(RopeNtkRows, TurnByABaseRaisedByTheFactor) {
  for (Index d : {4, 6, 64, 80, 130}) {
    const double r = static_cast<double>(d);
    Turning want{.head_dim = d, .frequencies = plain(d, 10000 * std::pow(3.5, r / (r - 2)))};
    expect_turns<TypeParam>(made<RopeNtk, TypeParam>(of(r, 3.5)), want, 1);
    want.interleaved = true;
    expect_turns<TypeParam>(made<RopeNtk, TypeParam>(of(r, 3.5).text("layout", "interleaved")),
                            want, 1);
  }
}

TYPED_TEST(RopeNtkRows, TurnByFrequenciesSlowedOneByOneWhenMixed) {
  for (Index d : {2, 6, 64}) {
    Turning want{.head_dim = d, .frequencies = plain(d)};
    const double n = static_cast<double>(d / 2), a = std::log(12.0) / std::pow(n, 0.6);
    for (Index i = 0; i < d / 2; ++i)
      want.frequencies[i] *= std::exp(-a * std::pow(static_cast<double>(i + 1), 0.6));
    expect_turns<TypeParam>(
        made<RopeNtk, TypeParam>(mixed(static_cast<double>(d), 12).number("exponent", 0.6)), want,
        1);
  }
}

TYPED_TEST(RopeNtkRows, Attend) {
  Turning want{.head_dim = 10, .frequencies = plain(6, 10000 * std::pow(4.0, 6.0 / 4))};
  expect_attends<TypeParam>(made<RopeNtk, TypeParam>(of(10, 4).number("rotaryDim", 6)), want);
}

// Property 13.
TEST(RopeNtk, LeavesTheFirstPairAndDividesTheLastByTheFactor) {
  for (double d : {4.0, 64.0, 128.0})
    for (double factor : {2.0, 4.0, 8.0, 2.6}) {
      const Array<double> w = frequencies_of<RopeNtk>(of(d, factor));
      const Array<double> f = plain(static_cast<Index>(d));
      EXPECT_EQ(w[0], 1);
      const double last = f[f.size() - 1] / factor;
      EXPECT_NEAR(w[w.size() - 1], last, last * 1e-14);
    }
}

// Property 11.
TEST(RopeNtk, EqualsPlainRopeToTheBitAtFactor1) {
  for (std::string_view precision : {"exact", "hf-f32"}) {
    const Array<double> rope =
        frequencies_of<Rope>(Options().number("headDim", 64).text("precision", precision));
    expect_same(frequencies_of<RopeNtk>(of(64, 1).text("precision", precision)), rope);
    expect_same(frequencies_of<RopeNtk>(mixed(64, 1).text("precision", precision)), rope);
  }
}

TEST(RopeNtk, HasTheGoldenFrequencies) {
  const Array<double> w = frequencies_of<RopeNtk>(of(128, 4));
  const Array<Index> at{0, 1, 2, 16, 32, 48, 62, 63};
  const Array<double> want{1,
                           0.847117185,
                           0.717607525,
                           0.0703227548,
                           0.00494528984,
                           3.47766405e-4,
                           3.40797591e-5,
                           2.88695496e-5};
  for (Index i = 0; i < at.size(); ++i) EXPECT_NEAR(w[at[i]], want[i], want[i] * 2e-9);
}

TEST(RopeNtk, RaisesTheBaseAsOthersMeasuredIt) {
  // C9, and the bases of three factors at width 128.
  EXPECT_NEAR(ntk_base(5e5, 2.6, 128), 1319867.18, 0.005);
  EXPECT_NEAR(ntk_base(1e4, 2, 128), 20221.26, 0.005);
  EXPECT_NEAR(ntk_base(1e4, 4, 128), 40889.94, 0.005);
  EXPECT_NEAR(ntk_base(1e4, 8, 128), 82684.62, 0.005);
  const Array<double> w = frequencies_of<RopeNtk>(of(128, 2.6).number("base", 5e5));
  EXPECT_NEAR(w[1], std::pow(1319867.18, -2.0 / 128), 1e-10);
}

TEST(RopeNtk, RefusesOptionsThatDoNotFit) {
  EXPECT_TRUE(fails_with(decoded<RopeNtk>(of(2, 4)), Errc::out_of_range, "headDim"));
  EXPECT_TRUE(fails_with(decoded<RopeNtk>(of(64, 4).number("rotaryDim", 2)), Errc::out_of_range,
                         "rotaryDim"));
  EXPECT_TRUE(fails_with(decoded<RopeNtk>(of(64, 0.5)), Errc::out_of_range, "factor"));
  EXPECT_TRUE(fails_with(decoded<RopeNtk>(Options().number("headDim", 64)), Errc::missing_option,
                         "factor"));
  EXPECT_TRUE(fails_with(decoded<RopeNtk>(of(64, 4).text("variant", "fixd")), Errc::out_of_range,
                         "variant"));
}

}  // namespace
}  // namespace posenc

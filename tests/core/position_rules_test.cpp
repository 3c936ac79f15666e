// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/position_rules.hpp"

#include <gtest/gtest.h>

#include "reference/errors.hpp"
#include "reference/numbers.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::fails_with;
using reference::succeeds;

Positions of(const Array<double>& p, Index axes = 1) {
  return Positions::of(p.data(), p.size() / axes, axes);
}
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(PositionRules, AcceptAnyFiniteRealWithinTheIntegersOfFloat64) {
  EXPECT_TRUE(succeeds(check_real_positions(of({}))));
  EXPECT_TRUE(succeeds(check_real_positions(of({0, -1, 0.5, -1e9, 0x1p53, -0x1p53, 5e-324}))));
}

TEST(PositionRules, NameTheFirstPositionThatIsNotFinite) {
  for (double bad : {nan, infinity, -infinity}) {
    const Status s = check_real_positions(of({0, 1, bad, bad}));
    EXPECT_TRUE(fails_with(s, Errc::not_finite, "positions"));
    EXPECT_EQ(s.error().index, 2);
  }
}

TEST(PositionRules, RefuseWhatFloat64CannotCount) {
  for (double bad : {0x1p53 + 2, -0x1p53 - 2, 1e300}) {
    const Status s = check_real_positions(of({bad}));
    EXPECT_TRUE(fails_with(s, Errc::out_of_range, "positions"));
    EXPECT_EQ(s.error().index, 0);
    EXPECT_EQ(s.error().received, bad);
  }
}

TEST(PositionRules, RefuseFractionsWhereIntegersAreNeeded) {
  EXPECT_TRUE(succeeds(check_integer_positions(of({-3, 0, 7, 0x1p53}))));
  const Status s = check_integer_positions(of({0, 1, 2.5, 3}));
  EXPECT_TRUE(fails_with(s, Errc::not_integer, "positions"));
  EXPECT_EQ(s.error().index, 2);
  EXPECT_EQ(s.error().received, 2.5);
  EXPECT_TRUE(fails_with(check_integer_positions(of({nan})), Errc::not_finite, "positions"));
}

TEST(PositionRules, LookAtEveryAxisAndCountOverAll) {
  const Status real = check_real_positions(of({0, 1, 2, nan}, 2));
  EXPECT_TRUE(fails_with(real, Errc::not_finite, "positions"));
  EXPECT_EQ(real.error().index, 3);
  const Status whole = check_integer_positions(of({0, 1, 2.5, 3}, 2));
  EXPECT_TRUE(fails_with(whole, Errc::not_integer, "positions"));
  EXPECT_EQ(whole.error().index, 2);
}

TEST(PositionRules, HoldPositionsInsideATable) {
  const Array<double> grid{0, 3, 1, 4};
  EXPECT_TRUE(succeeds(check_inside(of(grid, 2), 0, 0, 3, "inside the grid")));
  const Status s = check_inside(of(grid, 2), 1, 0, 3, "inside the grid");
  EXPECT_TRUE(fails_with(s, Errc::position_out_of_table, "positions"));
  EXPECT_EQ(s.error().index, 3);
  EXPECT_EQ(s.error().received, 4);
  EXPECT_EQ(s.error().high, 3);
  EXPECT_TRUE(
      fails_with(check_inside(of({-1}), 0, 0, 3, ""), Errc::position_out_of_table, "positions"));
}

}  // namespace
}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/powers.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/numbers.hpp"

namespace posenc {
namespace {

using reference::Random;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// In units of the last place of the exact value, which libm gives in a wider type.
double ulps(double got, long double exact) {
  int exponent = 0;
  std::frexp(static_cast<double>(exact), &exponent);
  return static_cast<double>(std::abs(static_cast<long double>(got) - exact) /
                             std::ldexp(1.0L, exponent - 53));
}
using Wide = long double;

TEST(Powers, AreThoseOfAWiderType) {
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    // Bases of up to 1e15 are those of frequencies, whose exponents are from -1 to 1.
    const double x = std::exp(34.5 * std::abs(random.normal()) / 4), y = random.normal();
    ASSERT_LE(ulps(power(x, y), std::pow(Wide(x), Wide(y))), 1) << x << ' ' << y;
    // Near 1 large exponents are possible too: those of xPos.
    const double near = 0.28 + std::abs(random.normal()) / 2, many = 100 * random.normal();
    ASSERT_LE(ulps(power(near, many), std::pow(Wide(near), Wide(many))), 1 + std::abs(many) / 32)
        << near << ' ' << many;
  }
}

TEST(Powers, OfTwoAreExact) {
  for (int k = -1074; k < 1024; ++k) ASSERT_EQ(power(2, k), std::ldexp(1.0, k));
  for (int k = -60; k <= 60; ++k) ASSERT_EQ(power(16, k / 4.0), std::ldexp(1.0, k));
  for (int k = 0; k <= 15; ++k) ASSERT_EQ(power(10, k), std::pow(10.0L, k));
}

TEST(Powers, EndWhereFloat64Does) {
  EXPECT_EQ(power(0, 2), 0);
  EXPECT_EQ(power(0, 0), 1);
  EXPECT_EQ(power(0, -1), infinity);
  EXPECT_EQ(power(7, 0), 1);
  EXPECT_EQ(power(1, 1e300), 1);
  EXPECT_EQ(power(1, 1e308), 1);
  EXPECT_TRUE(std::isnan(power(0, std::nan(""))));
  EXPECT_EQ(power(3, 1e308), infinity);
  EXPECT_EQ(power(3, -1e308), 0);
  EXPECT_EQ(power(0x1p-1074, 1), 0x1p-1074);
  EXPECT_TRUE(std::isnan(power(not_a_number, 2)));
  EXPECT_TRUE(std::isnan(power(2, not_a_number)));
}

TEST(Exponential, IsThatOfAWiderType) {
  Random random(2);
  for (int i = 0; i < 20000; ++i) {
    const double x = random.normal() * (i % 2 == 0 ? 1 : 200);
    if (std::abs(x) > 700) continue;
    ASSERT_LE(ulps(exponential(x), std::exp(Wide(x))), 1) << x;
  }
  EXPECT_EQ(exponential(0), 1);
  EXPECT_EQ(exponential(-1e-300), 1);
  EXPECT_EQ(exponential(710), infinity);
  EXPECT_EQ(exponential(infinity), infinity);
  EXPECT_EQ(exponential(-746), 0);
  EXPECT_EQ(exponential(-infinity), 0);
  EXPECT_NEAR(exponential(-740), std::exp(-740.0), 0x1p-1074);
  EXPECT_TRUE(std::isnan(exponential(not_a_number)));
}

TEST(NaturalLog, IsThatOfAWiderType) {
  Random random(3);
  for (int i = 0; i < 20000; ++i) {
    const double x = std::exp(random.normal() * (i % 2 == 0 ? 0.1 : 200));
    if (x == 0 || x == infinity) continue;
    ASSERT_LE(ulps(natural_log(x), std::log(Wide(x))), 1) << x;
    ASSERT_LE(ulps(natural_log_1p(x), std::log1p(Wide(x))), 1) << x;
  }
  EXPECT_EQ(natural_log(1), 0);
  EXPECT_EQ(natural_log(0x1p-1074), -1074 * std::log(2.0));
  EXPECT_EQ(natural_log(0), -infinity);
  EXPECT_EQ(natural_log(infinity), infinity);
  EXPECT_TRUE(std::isnan(natural_log(-1)));
  EXPECT_TRUE(std::isnan(natural_log(not_a_number)));
  EXPECT_EQ(natural_log_1p(0), 0);
  EXPECT_EQ(natural_log_1p(0x1p-60), 0x1p-60);
  EXPECT_EQ(natural_log_1p(1e300), natural_log(1e300));
  EXPECT_EQ(natural_log_1p(infinity), infinity);
  EXPECT_TRUE(std::isnan(natural_log_1p(not_a_number)));
}

}  // namespace
}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/natural.hpp"

#include "reference/errors.hpp"

namespace posenc {
namespace {

Natural power(std::uint32_t base, Index exponent) {
  auto made = Natural::one(16);
  EXPECT_TRUE(reference::succeeds(made));
  made->multiply(base, exponent);
  return std::move(*made);
}

TEST(Natural, ComparesPowersExactly) {
  EXPECT_TRUE(power(2, 60).at_least(power(4, 30)));
  EXPECT_TRUE(power(4, 30).at_least(power(2, 60)));
  EXPECT_TRUE(power(3, 50).at_least(power(3, 49)));
  EXPECT_FALSE(power(3, 49).at_least(power(3, 50)));
  // The same number of words, and the same but for the ninth digit.
  EXPECT_FALSE(power(999999999, 10).at_least(power(1000000000, 10)));
  EXPECT_TRUE(power(1000000000, 10).at_least(power(999999999, 10)));
}

TEST(Natural, CarriesAcrossWords) {
  const auto big = power(0xFFFFFFFFu, 15);
  EXPECT_TRUE(big.at_least(power(0xFFFFFFFEu, 15)));
  EXPECT_FALSE(big.at_least(power(2, 480)));  // (2^32 - 1)^15 < 2^480
  EXPECT_TRUE(power(2, 480).at_least(big));
}

TEST(Natural, FailsOnlyForLackOfMemory) {
  const reference::AllocationsFailAfter limit(0);
  const auto none = Natural::one(4);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::out_of_memory);
}

}  // namespace
}  // namespace posenc

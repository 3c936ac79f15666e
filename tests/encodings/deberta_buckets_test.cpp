// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/deberta_buckets.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "reference/errors.hpp"
#include "reference/numbers.hpp"

namespace posenc {
namespace {

/// Digits of a natural number, least first; slow and obviously right.
using Digits = std::vector<int>;
Digits power(Index base, Index exponent, Digits n = {1}) {
  for (; exponent > 0; --exponent) {
    Index carry = 0;
    for (int& digit : n) {
      carry += digit * base;
      digit = static_cast<int>(carry % 10);
      carry /= 10;
    }
    for (; carry > 0; carry /= 10) n.push_back(static_cast<int>(carry % 10));
  }
  return n;
}
bool less(const Digits& a, const Digits& b) {
  if (a.size() != b.size()) return a.size() < b.size();
  return std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(), b.rend());
}

/// The bucket of the definition: the least k with n^(c-1) <= (M-1)^k c^(c-1-k).
Index bucket(Index n, Index c, Index farthest) {
  for (Index k = 0; k <= c - 1; ++k)
    if (!less(power(farthest - 1, k, power(c, c - 1 - k)), power(n, c - 1))) return c + k;
  return 2 * c;
}

TEST(DebertaBuckets, EqualTheDefinitionInWholeNumbers) {
  // 4^3 = 2^6, 9^2 = 3^4 …: distances whose logarithm is a whole number of steps.
  for (const auto& [buckets, farthest] : {std::pair<Index, Index>{4, 5},
                                          {4, 9},
                                          {4, 17},
                                          {6, 28},
                                          {6, 82},
                                          {8, 5 * 13},
                                          {8, 4 * 27 + 1},
                                          {10, 5 * 81 + 1},
                                          {16, 8 * 128 + 1},
                                          {32, 128},
                                          {16, 64}}) {
    const auto table = deberta_buckets(buckets, farthest);
    ASSERT_TRUE(reference::succeeds(table));
    for (Index n = 0; n < farthest; ++n)
      ASSERT_EQ((*table)[static_cast<std::size_t>(n)],
                n <= buckets / 2 ? n : bucket(n, buckets / 2, farthest))
          << buckets << ' ' << farthest << ' ' << n;
    EXPECT_EQ((*table)[static_cast<std::size_t>(farthest)], buckets);
  }
}

TEST(DebertaBuckets, FailOnlyForLackOfMemory) {
  for (long n = 0;; ++n) {
    const reference::AllocationsFailAfter limit(n);
    const auto table = deberta_buckets(256, 512);
    if (table) break;
    EXPECT_EQ(table.error().code, Errc::out_of_memory);
  }
}

}  // namespace
}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/t5_buckets.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "reference/errors.hpp"
#include "reference/numbers.hpp"

namespace posenc {
namespace {

using reference::Array;

/// A natural number of any size, by schoolbook multiplication in base 10^9.
class Big {
 public:
  static Big power(std::uint64_t base, Index exponent) {
    Big x;
    for (Index i = 0; i < exponent; ++i) x.times(base);
    return x;
  }
  Big& times(std::uint64_t factor) {
    std::uint64_t carry = 0;
    for (std::uint64_t& d : digits_) {
      carry += d * factor;
      d = carry % base_;
      carry /= base_;
    }
    for (; carry > 0; carry /= base_) digits_.push_back(carry % base_);
    return *this;
  }
  Big& times_power(std::uint64_t base, Index exponent) {
    for (Index i = 0; i < exponent; ++i) times(base);
    return *this;
  }
  bool operator>=(const Big& other) const {
    if (digits_.size() != other.digits_.size()) return digits_.size() > other.digits_.size();
    for (std::size_t i = digits_.size(); i-- > 0;)
      if (digits_[i] != other.digits_[i]) return digits_[i] > other.digits_[i];
    return true;
  }

 private:
  static constexpr std::uint64_t base_ = 1000000000;
  std::vector<std::uint64_t> digits_{1};
};

/// Whether distance n belongs to bucket E + k or a later one:
/// ln(n/E) / ln(M/E) * (N - E) >= k, that is n^(N-E) E^k >= M^k E^(N-E).
bool reaches(Index n, Index k, Index buckets, Index most) {
  const Index exact = buckets / 2, steps = buckets - exact;
  const auto u = [](Index i) { return static_cast<std::uint64_t>(i); };
  return Big::power(u(n), steps).times_power(u(exact), k) >=
         Big::power(u(most), k).times_power(u(exact), steps);
}

/// The bucket of every distance up to `last`, from the starts under test.
Array<Index> buckets_of(Index buckets, Index most, Index last) {
  const auto starts = t5_bucket_starts(buckets, most);
  EXPECT_TRUE(reference::succeeds(starts));
  const Index exact = buckets / 2;
  Array<Index> of(last + 1);
  for (Index n = 0; n <= last; ++n) {
    of[n] = n;
    if (n < exact) continue;
    for (std::size_t k = 0; k < starts->size(); ++k)
      if ((*starts)[k] <= n) of[n] = exact + static_cast<Index>(k);
  }
  return of;
}

struct Run {
  Index first, last, bucket;
};
void expect_runs(const Array<Index>& got, std::initializer_list<Run> runs) {
  for (const Run& run : runs)
    for (Index n = run.first; n <= run.last; ++n) EXPECT_EQ(got[n], run.bucket) << "distance " << n;
}

TEST(T5Buckets, MatchTheTableOfOneDirectionOfTheEncoder) {
  const Array<Index> got = buckets_of(16, 128, 1000);
  for (Index n = 0; n < 8; ++n) EXPECT_EQ(got[n], n);
  expect_runs(got, {{8, 11, 8},
                    {12, 15, 9},
                    {16, 22, 10},
                    {23, 31, 11},
                    {32, 45, 12},
                    {46, 63, 13},
                    {64, 90, 14},
                    {91, 1000, 15}});
}

TEST(T5Buckets, MatchTheTableOfTheDecoder) {
  const Array<Index> got = buckets_of(32, 128, 1000);
  for (Index n = 0; n < 16; ++n) EXPECT_EQ(got[n], n);
  expect_runs(got, {{16, 18, 16},
                    {19, 20, 17},
                    {21, 23, 18},
                    {24, 26, 19},
                    {27, 30, 20},
                    {31, 34, 21},
                    {35, 39, 22},
                    {40, 45, 23},
                    {46, 51, 24},
                    {52, 58, 25},
                    {59, 66, 26},
                    {67, 76, 27},
                    {77, 86, 28},
                    {87, 98, 29},
                    {99, 112, 30},
                    {113, 1000, 31}});
}

TEST(T5Buckets, PutExactPowersWhereFloat64Misplaces) {
  EXPECT_EQ(buckets_of(32, 100, 40)[40], 24) << "float64 in the reference's order says 23";
  EXPECT_EQ(buckets_of(16, 128, 64)[64], 14) << "float64 with a reciprocal says 13";
}

TEST(T5Buckets, AreExactForManyParameters) {
  struct Case {
    Index buckets, most;
  };
  for (const Case& c :
       {Case{2, 2}, Case{2, 128}, Case{3, 9}, Case{4, 3}, Case{4, 128}, Case{8, 5}, Case{8, 64},
        Case{16, 128}, Case{16, 512}, Case{32, 17}, Case{32, 100}, Case{32, 128}, Case{32, 1000},
        Case{64, 128}, Case{128, 256}, Case{20, 1000}}) {
    const Index exact = c.buckets / 2, steps = c.buckets - exact;
    const auto starts = t5_bucket_starts(c.buckets, c.most);
    ASSERT_TRUE(reference::succeeds(starts));
    ASSERT_EQ(static_cast<Index>(starts->size()), steps);
    EXPECT_EQ((*starts)[0], exact);
    for (Index k = 0; k < steps; ++k) {
      const Index start = (*starts)[static_cast<std::size_t>(k)];
      EXPECT_TRUE(reaches(start, k, c.buckets, c.most))
          << c.buckets << '/' << c.most << " bucket " << exact + k;
      const bool earlier = start > exact && reaches(start - 1, k, c.buckets, c.most);
      EXPECT_FALSE(earlier) << c.buckets << '/' << c.most << " bucket " << exact + k;
    }
  }
}

TEST(T5Buckets, RiseWithDistanceAndEndBeforeTheMaximum) {
  for (Index buckets : {2, 6, 32, 100})
    for (Index most : {51, 128, 4096}) {
      const auto starts = t5_bucket_starts(buckets, most);
      ASSERT_TRUE(reference::succeeds(starts));
      for (std::size_t k = 1; k < starts->size(); ++k) EXPECT_LE((*starts)[k - 1], (*starts)[k]);
      EXPECT_LE((*starts)[starts->size() - 1], most);
    }
}

TEST(T5Buckets, FailForLackOfMemoryWithoutLeaking) {
  const MemoryUse before = memory_use();
  for (long n = 0;; ++n) {
    const reference::AllocationsFailAfter limit(n);
    const auto starts = t5_bucket_starts(32, 128);
    if (starts) break;
    EXPECT_TRUE(reference::fails_with(starts, Errc::out_of_memory, ""));
    ASSERT_EQ(memory_use(), before);
    ASSERT_LT(n, 1000);
  }
  EXPECT_EQ(memory_use(), before);
}

}  // namespace
}  // namespace posenc

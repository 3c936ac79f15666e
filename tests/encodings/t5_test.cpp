// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/t5.hpp"

#include "arches.hpp"
#include "reference/options.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::bias_of;
using reference::counted;
using reference::decoded;
using reference::fails_with;
using reference::made;
using reference::Options;
using reference::positions;

/// Bucket b of head h holds 1000 h + b: the bias tells the bucket.
Options of(Index heads, bool bidirectional, Index buckets = 32, Index most = 128) {
  Array<float> table(buckets * heads);
  for (Index b = 0; b < buckets; ++b)
    for (Index h = 0; h < heads; ++h) table[b * heads + h] = static_cast<float>(1000 * h + b);
  return std::move(Options()
                       .number("heads", static_cast<double>(heads))
                       .flag("bidirectional", bidirectional)
                       .number("buckets", static_cast<double>(buckets))
                       .number("maxDistance", static_cast<double>(most))
                       .table("table", std::move(table), buckets, heads));
}

/// The published bucket of one direction, by float32 in the reference's order of operations, which
/// is exact for all parameters that models use.
Index one_direction(Index n, Index buckets, Index most) {
  const Index exact = buckets / 2;
  if (n < exact) return n;
  const float steps = static_cast<float>(buckets - exact);
  const float far = std::log(static_cast<float>(n) / static_cast<float>(exact)) /
                    std::log(static_cast<float>(most) / static_cast<float>(exact)) * steps;
  return std::min(buckets - 1, exact + static_cast<Index>(far));
}
Index bucket(Index relative, bool bidirectional) {
  if (bidirectional)
    return relative > 0 ? 16 + one_direction(relative, 16, 128) : one_direction(-relative, 16, 128);
  return relative > 0 ? 0 : one_direction(-relative, 32, 128);
}

template <class A>
class T5Bias : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(T5Bias, Arches);

TYPED_TEST(T5Bias, AddsTheTableEntryOfTheBucketAtEveryWidth) {
  for (bool bidirectional : {true, false}) {
    const Encoding e = made<T5, TypeParam>(of(2, bidirectional));
    for (Index n = 1; n <= TestFixture::most; ++n)
      for (double first : {-400.0, -95.0, -8.0, 0.0, 5.0, 88.0, 300.0}) {
        const Array<double> q{-1, 3, 130}, k = counted(n, first);
        const Array<float> bias = bias_of(e, 1, positions(q), positions(k));
        for (Index t = 0; t < q.size(); ++t)
          for (Index j = 0; j < n; ++j) {
            const auto relative = static_cast<Index>(k[j] - q[t]);
            ASSERT_EQ(bias[t * n + j], static_cast<float>(1000 + bucket(relative, bidirectional)))
                << relative;
          }
      }
  }
}

TYPED_TEST(T5Bias, IsTheSameForConsecutiveAndScatteredKeys) {
  const Encoding e = made<T5, TypeParam>(of(1, true));
  const Array<double> q{0, 50, 300}, k = counted(200, -30);
  Positions keys = positions(k);
  const Array<float> in_order = bias_of(e, 0, positions(q), keys);
  keys.consecutive = false;
  EXPECT_TRUE(in_order.same_bits(bias_of(e, 0, positions(q), keys)));
}

TEST(T5, H9PutsDistancesIntoThePublishedBuckets) {
  const auto encoder = decoded<T5>(of(1, true)), decoder = decoded<T5>(of(1, false));
  struct Pair {
    Index relative, bucket;
  };
  for (const Pair& p : {Pair{-200, 15}, Pair{-128, 15}, Pair{-64, 14}, Pair{-16, 10}, Pair{-8, 8},
                        Pair{-7, 7}, Pair{-1, 1}, Pair{0, 0}, Pair{1, 17}, Pair{7, 23}, Pair{8, 24},
                        Pair{16, 26}, Pair{64, 30}, Pair{128, 31}})
    EXPECT_EQ(encoder->bucket(p.relative), p.bucket) << p.relative;
  for (const Pair& p : {Pair{-16, 16}, Pair{-17, 16}, Pair{-32, 21}, Pair{-64, 26}, Pair{-128, 31},
                        Pair{1, 0}, Pair{1000, 0}})
    EXPECT_EQ(decoder->bucket(p.relative), p.bucket) << p.relative;
}

TEST(T5, SplitsFutureAndPastAlike) {
  const auto e = decoded<T5>(of(1, true));
  for (Index n = 1; n <= 1000; ++n) EXPECT_EQ(e->bucket(n), e->bucket(-n) + 16);
  for (Index relative = -1000; relative <= 1000; ++relative)
    EXPECT_NE(e->bucket(relative), 16) << "never used";
}

TEST(T5, ServesADecodeRowAsTheLastRowOfTheFullMatrix) {
  const Encoding e = made<T5>(of(1, false));
  const Array<double> all = counted(150), last{149};
  const Array<float> full = bias_of(e, 0, positions(all), positions(all));
  const Array<float> row = bias_of(e, 0, positions(last), positions(all));
  for (Index j = 0; j < 150; ++j) EXPECT_EQ(row[j], full[149 * 150 + j]);
}

TEST(T5, TakesTheLastBucketAtAnyDistance) {
  const Encoding e = made<T5>(of(1, true));
  const Array<double> q{0}, k{-0x1p53, -1e9, -91, 91, 1e9, 0x1p53};
  EXPECT_EQ(bias_of(e, 0, positions(q), positions(k)), (Array<float>{15, 15, 15, 31, 31, 31}));
}

TEST(T5, AsksForScoresThatAreNotScaled) { EXPECT_EQ(made<T5>(of(1, true)).score_scale(64), 1.0); }

TEST(T5, TakesTheSmallestBucketCounts) {
  const Encoding encoder = made<T5>(of(1, true, 4, 2)), decoder = made<T5>(of(1, false, 2, 2));
  const Array<double> q{0}, k{-5, -2, -1, 0, 1, 2, 5};
  EXPECT_EQ(bias_of(encoder, 0, positions(q), positions(k)), (Array<float>{1, 1, 1, 0, 3, 3, 3}));
  EXPECT_EQ(bias_of(decoder, 0, positions(q), positions(k)), (Array<float>{1, 1, 1, 0, 0, 0, 0}));
}

TEST(T5, RefusesOptionsThatDoNotFit) {
  EXPECT_TRUE(fails_with(decoded<T5>({}), Errc::missing_option, "heads"));
  EXPECT_TRUE(fails_with(decoded<T5>(Options().number("heads", 2)), Errc::missing_option, "table"));
  EXPECT_TRUE(fails_with(decoded<T5>(of(1, true, 2)), Errc::out_of_range, "buckets"));
  EXPECT_TRUE(fails_with(decoded<T5>(of(1, true, 7)), Errc::not_even, "buckets"));
  EXPECT_TRUE(fails_with(decoded<T5>(of(1, true, 0)), Errc::out_of_range, "buckets"));
  Result<T5> close = decoded<T5>(of(1, true, 32, 8));
  EXPECT_TRUE(fails_with(close, Errc::out_of_range, "maxDistance"));
  EXPECT_EQ(close.error().low, 9);
  EXPECT_TRUE(reference::succeeds(decoded<T5>(of(1, true, 32, 9))));
  EXPECT_TRUE(fails_with(decoded<T5>(of(1, false, 32, 16)), Errc::out_of_range, "maxDistance"));
  EXPECT_TRUE(
      fails_with(decoded<T5>(of(1, true).number("heads", 2)), Errc::shape_mismatch, "table"));
  const Encoding e = made<T5>(of(1, true));
  EXPECT_TRUE(fails_with(e.accepts(positions({0.5})), Errc::not_integer, "positions"));
}

}  // namespace
}  // namespace posenc

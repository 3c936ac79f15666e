// SPDX-License-Identifier: Apache-2.0
/// What a cache keeps, forgets and shares; its bytes and its failures.
#include "cache/text.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::fails_with;
using reference::Random;
using reference::succeeds;

struct Plain : ::testing::Test {
  Text text = Text::of(
      {.batch = 2, .heads = 4, .kv_heads = 2, .keys = 300, .head_dim = 8, .value_dim = 5}, 3);
  CacheOptions options(Index capacity, Index window = 0, Index sinks = 0) const {
    CacheOptions o = options_for(text, {});
    o.capacity = capacity, o.window = window, o.sinks = sinks;
    return o;
  }
  /// The next `count` tokens.
  Array<float> step(KVCache& cache, Index count = 1) const {
    Array<float> got;
    const AttentionArguments a = text.queries(cache.length(), count, got);
    EXPECT_TRUE(succeeds(cache.attend(a, text.tokens(cache.length(), count))));
    return got;
  }
  Array<std::byte> bytes(const KVCache& cache) const {
    Array<std::byte> made(cache.byte_size());
    cache.to_bytes(made.data());
    return made;
  }
};

TEST_F(Plain, RefusesWhatHasNoRoomAndLosesNothing) {
  auto cache = KVCache::make(options(10));
  step(*cache, 8);
  const Array<std::byte> before = bytes(*cache);
  Array<float> out;
  const AttentionArguments a = text.queries(8, 3, out);
  EXPECT_TRUE(fails_with(cache->append(text.tokens(8, 3)), Errc::cache_full, "append"));
  EXPECT_TRUE(fails_with(cache->attend(a, text.tokens(8, 3)), Errc::cache_full, "append"));
  for (float value : out) EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(bytes(*cache), before);
  EXPECT_TRUE(succeeds(cache->append(text.tokens(8, 2))));
}

TEST_F(Plain, ForgetsTheLastTokensAndDecodesOn) {
  for (Index window : {0, 20}) {
    auto cache = KVCache::make(options(300, window, window == 0 ? 0 : 2));
    step(*cache, 130);
    const Array<float> want = step(*cache, 5);
    ASSERT_TRUE(succeeds(cache->truncate(130)));
    EXPECT_EQ(cache->length(), 130);
    EXPECT_TRUE(step(*cache, 5).same_bits(want));
    EXPECT_TRUE(fails_with(cache->truncate(136), Errc::out_of_range, "length"));
    EXPECT_TRUE(fails_with(cache->truncate(-1), Errc::out_of_range, "length"));
  }
}

TEST_F(Plain, RefusesToGoBackToWhereTheRingHasNoWindow) {
  auto cache =
      KVCache::make(options(0, 4));  // I13, but for the few tokens more that there is room for
  step(*cache, 6);
  EXPECT_TRUE(succeeds(cache->truncate(5)));
  for (Index i = 0; i < 30; ++i) step(*cache);
  EXPECT_TRUE(fails_with(cache->truncate(10), Errc::out_of_range, "length"));
  EXPECT_EQ(cache->length(), 35);
  EXPECT_TRUE(succeeds(cache->truncate(0)));
  EXPECT_EQ(cache->stored(), 0);
}

TEST_F(Plain, KeepsAllEightOfAFullWindow) {  // I12
  auto cache = KVCache::make(options(0, 8));
  for (Index i = 0; i < 8; ++i) step(*cache);
  EXPECT_EQ(cache->stored(), 8);
  step(*cache);
  EXPECT_EQ(cache->stored(), 8);
  EXPECT_EQ(cache->length(), 9);
}

TEST_F(Plain, ForksShareUntilOneWrites) {
  for (Index window : {0, 70}) {
    auto cache = KVCache::make(options(256, window));
    step(*cache, 150);
    const MemoryUse before = memory_use();
    {
      auto fork = cache->fork();
      ASSERT_TRUE(succeeds(fork));
      const Array<std::byte> kept = bytes(*cache);
      ASSERT_TRUE(succeeds(fork->append(text.tokens(200, 100))));
      EXPECT_EQ(bytes(*cache), kept);
      auto again = cache->fork();
      const Array<float> want = step(*again, 9);
      EXPECT_TRUE(step(*cache, 9).same_bits(want));
      ASSERT_TRUE(succeeds(cache->truncate(150)));
      EXPECT_EQ(bytes(*cache), kept);
    }
    const auto diff = static_cast<double>(memory_use().bytes) - static_cast<double>(before.bytes);
    EXPECT_EQ(diff, 0) << window;
  }
}

TEST_F(Plain, ComesBackFromBytesAndRefusesAnyOthers) {
  for (Index window : {0, 20})
    for (Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::i8}) {
      CacheOptions o = options(200, window, window == 0 ? 0 : 3);
      o.dtype = dtype;
      auto cache = KVCache::make(o), other = KVCache::make(o);
      step(*cache, 70);
      step(*cache, 7);
      const Array<std::byte> saved = bytes(*cache);
      const std::span<const std::byte> all(saved.data(), static_cast<std::size_t>(saved.size()));
      ASSERT_TRUE(succeeds(other->from_bytes(all)));
      EXPECT_EQ(bytes(*other), saved);
      EXPECT_TRUE(step(*cache, 3).same_bits(step(*other, 3)));
      const Array<std::byte> before = bytes(*other);
      for (std::size_t n = 0; n < all.size(); n += n < 200 ? 1 : 997)
        ASSERT_FALSE(other->from_bytes(all.first(n))) << n;
      Array<std::byte> longer(saved.size() + 1);
      std::copy(saved.begin(), saved.end(), longer.data());
      EXPECT_TRUE(
          fails_with(other->from_bytes({longer.data(), static_cast<std::size_t>(longer.size())}),
                     Errc::bad_header, "bytes"));
      EXPECT_EQ(bytes(*other), before);
      // Any header: refused, or a cache that can be used.
      Random random(4);
      for (int i = 0; i < 2000; ++i) {
        Array<std::byte> spoilt = saved;
        for (Index n = 1 + random.below(3); n > 0; --n)
          spoilt[random.below(128)] = static_cast<std::byte>(random.below(256));
        if (other->from_bytes({spoilt.data(), static_cast<std::size_t>(spoilt.size())})) {
          ASSERT_LE(other->stored(), 200);
          ASSERT_TRUE(succeeds(other->truncate(0)));
        }
      }
    }
}

TEST_F(Plain, HasChangedNothingWhenMemoryRunsOut) {
  for (Index window : {0, 20}) {
    auto cache = KVCache::make(options(300, window));
    step(*cache, 100);
    auto fork = cache->fork();  // so that writing has to copy
    const Array<std::byte> before = bytes(*cache);
    const MemoryUse use = memory_use();
    for (long n = 0;; ++n) {
      Array<float> out;
      const AttentionArguments a = text.queries(100, 90, out);
      Status done;
      {
        const reference::AllocationsFailAfter limit(n);
        done = cache->attend(a, text.tokens(100, 90));
      }
      if (done) break;
      ASSERT_EQ(done.error().code, Errc::out_of_memory);
      ASSERT_EQ(bytes(*cache), before) << n;
      for (float value : out) ASSERT_TRUE(std::isnan(value));
      ASSERT_LT(n, 100);
    }
    EXPECT_EQ(cache->length(), 190);
    EXPECT_GE(memory_use().bytes, use.bytes);
  }
}

TEST_F(Plain, TakesTheSameMemoryAfterManySteps) {
  for (Index window : {0, 20}) {
    auto cache = KVCache::make(options(300, window));
    step(*cache);
    const MemoryUse before = memory_use();
    for (Index i = 1; i < 299; ++i) step(*cache);
    EXPECT_EQ(memory_use(), before);
  }
}

TEST_F(Plain, SaysWhichOptionIsWrong) {
  const auto refused = [&](auto&& change, Errc code, std::string_view field) {
    CacheOptions o = options(10);
    change(o);
    EXPECT_TRUE(fails_with(KVCache::make(o), code, field));
  };
  refused([](CacheOptions& o) { o.capacity = 0; }, Errc::out_of_range, "capacity");
  refused([](CacheOptions& o) { o.heads = 0; }, Errc::out_of_range, "heads");
  refused([](CacheOptions& o) { o.head_dim = 0; }, Errc::out_of_range, "headDim");
  refused([](CacheOptions& o) { o.sinks = 1; }, Errc::missing_option, "window");
  refused([](CacheOptions& o) { o.own_positions = true; }, Errc::missing_option, "window");
  refused([](CacheOptions& o) { o.capacity = Index{1} << 30; }, Errc::too_large, "capacity");
}

TEST_F(Plain, RefusesWindowsThatTheRingNoLongerHolds) {
  auto cache = KVCache::make(options(0, 8));
  step(*cache, 60);
  Array<float> out;
  AttentionArguments a = text.queries(60, 1, out);
  a.window.left = 9;
  EXPECT_TRUE(fails_with(cache->attend(a, text.tokens(60, 1)), Errc::out_of_range, "window"));
  a.window.left = 8;
  EXPECT_TRUE(succeeds(cache->attend(a, text.tokens(60, 1))));
  a.query_offset = 50;
  EXPECT_TRUE(fails_with(cache->attend(a, text.tokens(61, 1)), Errc::out_of_range, "window"));
  a.query_offset = {};
  a.prefix = 2;
  EXPECT_TRUE(fails_with(cache->attend(a, text.tokens(61, 1)), Errc::out_of_range, "prefix"));
  a.prefix = 0;
  a.window.first = 1;
  EXPECT_TRUE(fails_with(cache->attend(a, text.tokens(61, 1)), Errc::out_of_range, "window.first"));
  EXPECT_EQ(cache->length(), 61);
}

TEST_F(Plain, ShowsAllOfAPieceThatIsLongerThanTheRing) {
  auto cache = KVCache::make(options(0, 4, 1));
  expect_near(step(*cache, 30), at_once(text, {}, 0, 30, {}), 2e-5);
  EXPECT_EQ(cache->stored(), 5);
}

TEST_F(Plain, GoesBackToTheFirstTokensThatItKeeps) {
  for (Index length : {1, 3, 4}) {
    auto cache = KVCache::make(options(0, 8, 4)), fresh = KVCache::make(options(0, 8, 4));
    step(*cache, 200);
    ASSERT_TRUE(succeeds(cache->truncate(length)));
    EXPECT_EQ(cache->stored(), length);
    step(*fresh, length);
    for (Index i = 0; i < 40; ++i) ASSERT_TRUE(step(*cache, 3).same_bits(step(*fresh, 3))) << i;
    EXPECT_EQ(bytes(*cache), bytes(*fresh));
    EXPECT_TRUE(fails_with(cache->truncate(5), Errc::out_of_range, "length"));
  }
}

TEST_F(Plain, ChecksHowKeysAreToBeNormalised) {
  auto cache = KVCache::make(options(10));
  NewTokens t = text.tokens(0, 1);
  const float weights[16] = {};
  t.k_norm = {.kind = HeadNorm::Kind::rms, .epsilon = -1};
  EXPECT_TRUE(fails_with(cache->append(t), Errc::out_of_range, "kNorm"));
  t.k_norm = {.kind = HeadNorm::Kind::rms, .weight = weights, .weight_heads = 3};
  EXPECT_TRUE(fails_with(cache->append(t), Errc::shape_mismatch, "kNorm"));
  Array<float> out;
  AttentionArguments a = text.queries(0, 1, out);
  a.k_norm = t.k_norm;
  EXPECT_TRUE(fails_with(cache->attend(a, text.tokens(0, 1)), Errc::shape_mismatch, "kNorm"));
  EXPECT_EQ(cache->length(), 0);
}

TEST_F(Plain, CountsChangesAndRefusesACallMadeForAnotherLength) {
  auto cache = KVCache::make(options(10));
  std::uint32_t before = cache->changes();
  const auto is_changed = [&] {
    const std::uint32_t now = cache->changes();
    return std::exchange(before, now) != now;
  };
  EXPECT_FALSE(is_changed());
  step(*cache, 4);
  EXPECT_TRUE(is_changed());
  ASSERT_TRUE(succeeds(cache->truncate(3)));
  EXPECT_TRUE(is_changed());
  ASSERT_TRUE(succeeds(cache->append(text.tokens(3, 1))));
  EXPECT_TRUE(is_changed());
  const Array<std::byte> saved = bytes(*cache);
  ASSERT_TRUE(succeeds(cache->from_bytes({saved.data(), static_cast<std::size_t>(saved.size())})));
  EXPECT_TRUE(is_changed());
  NewTokens t = text.tokens(4, 1);
  t.beside = 3;
  Array<float> out;
  EXPECT_TRUE(fails_with(cache->attend(text.queries(4, 1, out), t), Errc::shape_mismatch, "cache"));
  EXPECT_FALSE(is_changed());
  t.beside = 4;
  EXPECT_TRUE(succeeds(cache->attend(text.queries(4, 1, out), t)));
  cache->reset();
  EXPECT_TRUE(is_changed());
}

/// A ring has tokens that it does not show but could go back to; a call that fails must leave them.
TEST_F(Plain, CanStillGoBackAfterACallThatRanOutOfMemory) {
  for (long n = 0;; ++n) {
    auto cache = KVCache::make(options(0, 20, 2)), other = KVCache::make(options(0, 20, 2));
    for (KVCache* one : {&*cache, &*other})
      for (Index i = 0; i < 24; ++i) step(*one, 5);
    Array<float> out;
    const AttentionArguments a = text.queries(120, 15, out);
    Status done;
    {
      const reference::AllocationsFailAfter limit(n);
      done = cache->attend(a, text.tokens(120, 15));
    }
    if (done) break;
    ASSERT_LT(n, 100);
    ASSERT_EQ(cache->length(), 120);
    for (Index back : {110, 98, 90}) {
      const bool possible = static_cast<bool>(other->truncate(back));
      ASSERT_EQ(static_cast<bool>(cache->truncate(back)), possible) << n << ' ' << back;
      ASSERT_EQ(bytes(*cache), bytes(*other)) << n << ' ' << back;
    }
  }
}

}  // namespace
}  // namespace posenc

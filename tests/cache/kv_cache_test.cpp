// SPDX-License-Identifier: Apache-2.0
/// Decoding through a cache against attention over everything at once, for every encoding, in random
/// pieces; what a ring keeps; copies, bytes and failures.
#include "posenc/cache/kv_cache.hpp"

#include "encodings/examples.hpp"
#include "reference/errors.hpp"
#include "reference/numbers.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::fails_with;
using reference::made_example;
using reference::Random;
using reference::Registered;
using reference::registered;
using reference::succeeds;

/// A text of random queries, keys and values, [B, heads, tokens, width].
struct Text {
  AttentionShape shape;
  Array<float> q, k, v;

  static Text of(const AttentionShape& s, std::uint64_t seed) {
    Random random(seed);
    return {s, random.floats(s.batch * s.heads * s.keys * s.head_dim),
            random.floats(s.batch * s.kv_heads * s.keys * s.head_dim),
            random.floats(s.batch * s.kv_heads * s.keys * s.value_dim)};
  }
  /// Rows from `first` on of a tensor with all tokens.
  Tensor4<const float> from(const Array<float>& x, Index heads, Index width, Index first) const {
    auto t = Tensor4<const float>::bhnd(x.data(), heads, shape.keys, width);
    t.data += first * width;
    return t;
  }
  NewTokens tokens(Index first, Index count) const {
    return {.k = from(k, shape.kv_heads, shape.head_dim, first),
            .v = from(v, shape.kv_heads, shape.value_dim, first),
            .count = count};
  }
  /// Queries first .. first + count - 1, into `out` [B, H, count, Dv].
  AttentionArguments queries(Index first, Index count, Array<float>& out) const {
    AttentionArguments a;
    a.shape = shape;
    a.shape.queries = count;
    a.shape.keys = 0;
    out = Array<float>(shape.batch * shape.heads * count * shape.value_dim, reference::nan);
    a.q = from(q, shape.heads, shape.head_dim, first);
    a.output = Tensor4<float>::bhnd(out.data(), shape.heads, count, shape.value_dim);
    a.causal = true;
    return a;
  }
};

using Encodings_ = std::span<const Encoding* const>;

CacheOptions options_for(const Text& text, Encodings_ encodings) {
  const AttentionShape& s = text.shape;
  CacheOptions o{.batch = s.batch,
                 .heads = s.kv_heads,
                 .head_dim = s.head_dim,
                 .value_dim = s.value_dim,
                 .capacity = s.keys};
  for (const Encoding* e : encodings) o.encodings[static_cast<std::size_t>(o.encoding_count++)] = e;
  return o;
}

/// Attention of the same queries over all keys up to theirs, without a cache.
Array<float> at_once(const Text& text, Encodings_ encodings, Index first, Index count,
                     const Window& window) {
  Array<float> out;
  AttentionArguments a = text.queries(first, count, out);
  a.shape.keys = first + count;
  a.k = text.from(text.k, text.shape.kv_heads, text.shape.head_dim, 0);
  a.v = text.from(text.v, text.shape.kv_heads, text.shape.value_dim, 0);
  a.encodings = encodings;
  a.window = window;
  EXPECT_TRUE(succeeds(attention(a)));
  return out;
}

void expect_near(const Array<float>& got, const Array<float>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (Index i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], tolerance) << i;
}

/// Keys and values of size below 6 are off by 2^-12 of themselves as halves and by 6/254 as bytes,
/// which moves scores of 10 channels and with them the weights.
double tolerance_of(Dtype dtype) {
  return dtype == Dtype::f32 ? 2e-5 : dtype == Dtype::f16 ? 1e-2 : 0.4;
}

const reference::Wishes wishes{{"heads", 4}, {"headDim", 12}, {"valueDim", 7}};

AttentionShape shape_for(const Encoding& e, Index tokens) {
  const Index heads = e.heads() != 0 ? e.heads() : 4;
  const bool alone = e.table_heads() > 1 || heads % 2 != 0;
  return {.batch = 2,
          .heads = heads,
          .kv_heads = alone ? heads : heads / 2,
          .keys = tokens,
          .head_dim = e.head_dim() != 0 ? e.head_dim() : 12,
          .value_dim = e.value_dim() != 0 ? e.value_dim() : 7};
}

TEST(KVCache, DecodesWhatAPrefillGivesForEveryEncoding) {
  constexpr Index tokens = 90;
  std::uint64_t seed = 0;
  for (const Registered& r : registered()) {
    if (r.spec.axes > 1 || !(r.spec.sites.rotate || r.spec.sites.score || r.spec.sites.value))
      continue;
    const Encoding e = made_example(r, wishes);
    const Encoding* const encodings[] = {&e};
    const Text text = Text::of(shape_for(e, tokens), 5);
    for (Index round = 0; round < 6; ++round) {
      Random random(++seed);
      CacheOptions o = options_for(text, encodings);
      o.dtype = static_cast<Dtype>(round % 3);
      Window window{};
      if (round >= 2) {
        o.window = 1 + random.below(20);
        o.sinks = random.below(4);
        window = {.left = random.below(o.window + 1), .first = o.sinks};
      }
      auto cache = KVCache::make(o);
      ASSERT_TRUE(succeeds(cache)) << r.spec.id;
      for (Index at = 0; at < tokens;) {
        // Single tokens, short pieces, and pieces longer than the ring.
        const Index count = std::min(tokens - at, Index{1} + random.below(round % 2 == 0 ? 3 : 40));
        SCOPED_TRACE(::testing::Message() << std::string(r.spec.id) << " seed " << seed << " at "
                                          << at << " + " << count);
        if (random.below(5) == 0) {
          ASSERT_TRUE(succeeds(cache->append(text.tokens(at, count))));
        } else {
          Array<float> got;
          AttentionArguments a = text.queries(at, count, got);
          a.window = window;
          ASSERT_TRUE(succeeds(cache->attend(a, text.tokens(at, count))));
          expect_near(got, at_once(text, encodings, at, count, window), tolerance_of(o.dtype));
        }
        at += count;
        ASSERT_EQ(cache->length(), at);
        ASSERT_EQ(cache->stored(), o.window == 0 ? at : std::min(at, o.sinks + o.window));
      }
    }
  }
}

TEST(KVCache, KeepsKeysRotatedWhereNothingCanChangeThem) {
  const std::map<std::string, bool> rotated{
      {"rope", true},           {"rope-yarn", true}, {"xpos", true},   {"rope-dynamic-ntk", false},
      {"rope-longrope", false}, {"rerope", false},   {"alibi", false}, {"shaw", false}};
  for (const Registered& r : registered()) {
    const auto want = rotated.find(std::string(r.spec.id));
    if (want == rotated.end()) continue;
    const Encoding e = made_example(r, wishes);
    const Encoding* const encodings[] = {&e};
    CacheOptions o = options_for(Text::of(shape_for(e, 9), 1), encodings);
    EXPECT_EQ(KVCache::make(o)->keeps_rotated(), want->second) << r.spec.id;
    o.window = 4;
    o.own_positions = true;
    EXPECT_FALSE(KVCache::make(o)->keeps_rotated()) << r.spec.id;
  }
}

/// StreamingLLM's positions from their definition, for token p alone: the first tokens, the last `window`
/// before it and itself, counted from 0.
Array<float> alone_in_cache(const Text& text, Encodings_ encodings, Index p, Index sinks,
                            Index window, const Window& seen) {
  const AttentionShape& s = text.shape;
  const Index n = std::min(p, sinks + window) + 1, first = std::min(sinks, p);
  Array<float> k(s.batch * s.kv_heads * n * s.head_dim), v(s.batch * s.kv_heads * n * s.value_dim);
  for (Index plane = 0; plane < s.batch * s.kv_heads; ++plane)
    for (Index j = 0; j < n; ++j) {
      const Index token = j < first ? j : p + 1 - n + j, row = plane * s.keys + token;
      std::copy_n(&text.k[row * s.head_dim], s.head_dim, &k[(plane * n + j) * s.head_dim]);
      std::copy_n(&text.v[row * s.value_dim], s.value_dim, &v[(plane * n + j) * s.value_dim]);
    }
  Array<float> out;
  AttentionArguments cut = text.queries(p, 1, out);
  cut.shape.keys = n;
  cut.k = Tensor4<const float>::bhnd(k.data(), s.kv_heads, n, s.head_dim);
  cut.v = Tensor4<const float>::bhnd(v.data(), s.kv_heads, n, s.value_dim);
  cut.encodings = encodings;
  cut.window = seen;
  EXPECT_TRUE(succeeds(attention(cut)));
  return out;
}

/// In whatever pieces tokens come, each is placed and sees as if it had come alone.
TEST(KVCache, PlacesTokensWithinTheCacheWhereAsked) {
  constexpr Index tokens = 48, sinks = 3, window = 6;
  for (const Registered& r : registered()) {
    if (r.spec.axes > 1 || !(r.spec.sites.rotate || r.spec.sites.score || r.spec.sites.value))
      continue;
    const Encoding e = made_example(r, wishes);
    const Encoding* const encodings[] = {&e};
    const Text text = Text::of(shape_for(e, tokens), 9);
    const AttentionShape& s = text.shape;
    // A schedule that looks at the length sees that of the piece.
    const bool looks = r.spec.id == "rope-dynamic-ntk" || r.spec.id == "rope-longrope";
    for (Index round = 0; round < 4; ++round) {
      Random random(static_cast<std::uint64_t>(round + 1));
      CacheOptions o = options_for(text, encodings);
      o.window = window, o.own_positions = true;
      o.sinks = round == 2 ? 0 : sinks;
      const Window seen{.left = round == 1 ? std::optional<Index>(4) : std::nullopt,
                        .first = round == 1 ? sinks : 0};
      auto cache = KVCache::make(o);
      for (Index at = 0; at < tokens;) {
        const Index most = looks || round == 0 ? 1 : 30;
        const Index count = std::min(tokens - at, Index{1} + random.below(most));
        SCOPED_TRACE(::testing::Message()
                     << std::string(r.spec.id) << " round " << round << ' ' << at << '+' << count);
        Array<float> got;
        AttentionArguments a = text.queries(at, count, got);
        a.window = seen;
        // Weights and masks have columns for what was held when the call began.
        const Index keys = cache->stored() + count;
        Array<float> weights(s.batch * s.heads * count * keys, reference::nan);
        const Array<std::uint8_t> all(keys, 1);
        if (round == 3) {
          a.weights = weights.data();
          a.mask = {.allowed = all.data(), .column = 1};
        }
        ASSERT_TRUE(succeeds(cache->attend(a, text.tokens(at, count))));
        for (Index t = 0; t < count; ++t) {
          const Array<float> want = alone_in_cache(text, encodings, at + t, o.sinks, window, seen);
          for (Index plane = 0; plane < s.batch * s.heads; ++plane)
            for (Index c = 0; c < s.value_dim; ++c)
              ASSERT_NEAR(got[(plane * count + t) * s.value_dim + c], want[plane * s.value_dim + c],
                          3e-5);
        }
        for (Index row = 0; round == 3 && row < s.batch * s.heads * count; ++row) {
          double sum = 0;
          for (Index j = 0; j < keys; ++j) sum += weights[row * keys + j];
          ASSERT_NEAR(sum, 1, 1e-5);
        }
        at += count;
      }
    }
  }
}

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

TEST_F(Plain, RefusesSizesWhoseProductsWrap) {
  constexpr Index most = std::numeric_limits<std::int32_t>::max();
  CacheOptions o{.heads = most, .head_dim = most, .value_dim = most, .capacity = most / 2};
  EXPECT_TRUE(fails_with(KVCache::make(o), Errc::too_large, "capacity"));
  // An index of WebAssembly holds no more than that.
  if (std::numeric_limits<Index>::max() == most) return;
  constexpr Index beyond = std::numeric_limits<Index>::max();
  EXPECT_TRUE(fails_with(KVCache::make({.head_dim = beyond, .value_dim = 1, .capacity = 1}),
                         Errc::too_large, "headDim"));
  EXPECT_TRUE(fails_with(KVCache::make({.head_dim = 1, .value_dim = beyond, .capacity = 1}),
                         Errc::too_large, "valueDim"));
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

/// Rows and columns cannot be counted, so tokens and queries bring theirs.
TEST(KVCache, AttendsWhereTokensLieInRowsAndColumns) {
  constexpr Index tokens = 20;
  Index seen = 0;
  for (const Registered& r : registered()) {
    if (r.spec.axes == 1 || r.spec.text_axes) continue;
    if (!(r.spec.sites.rotate || r.spec.sites.score || r.spec.sites.value)) continue;
    SCOPED_TRACE(std::string(r.spec.id));
    ++seen;
    const Encoding e = made_example(r, wishes);
    const Encoding* const encodings[] = {&e};
    const Text text = Text::of(shape_for(e, tokens), 5);
    const Index axes = r.spec.axes;
    auto cache = KVCache::make(options_for(text, encodings));
    ASSERT_TRUE(succeeds(cache));
    std::vector<double> places(static_cast<std::size_t>(axes * tokens));
    for (Index i = 0; i < axes * tokens; ++i)
      places[static_cast<std::size_t>(i)] = static_cast<double>(i % tokens == 0 ? 0 : (i * 7) % 2);
    for (Index at = 0, count = 1; at < tokens;
         at += count, count = std::min(tokens - at, count + 1)) {
      std::vector<double> own;
      for (Index axis = 0; axis < axes; ++axis)
        own.insert(own.end(), places.begin() + axis * tokens + at,
                   places.begin() + axis * tokens + at + count);
      Array<float> got, want;
      NewTokens t = text.tokens(at, count);
      EXPECT_TRUE(fails_with(cache->attend(text.queries(at, count, got), t), Errc::missing_option,
                             "positions"));
      t.positions = {.data = own.data()};
      t.axes = static_cast<int>(axes);
      ASSERT_TRUE(succeeds(cache->attend(text.queries(at, count, got), t)));
      AttentionArguments a = text.queries(at, count, want);
      a.shape.keys = at + count;
      a.k = text.from(text.k, text.shape.kv_heads, text.shape.head_dim, 0);
      a.v = text.from(text.v, text.shape.kv_heads, text.shape.value_dim, 0);
      a.encodings = encodings;
      a.axes = static_cast<int>(axes);
      a.key_positions = {.data = places.data(), .stride = tokens};
      a.query_positions = {.data = own.data()};
      ASSERT_TRUE(succeeds(attention(a)));
      expect_near(got, want, 2e-5);
    }
  }
  EXPECT_GE(seen, 4);
}

TEST(KVCache, KnowsBytesTurnedByOtherFrequenciesAndNeedsNoEncodingToSave) {
  for (const Registered& r : registered()) {
    if (r.spec.id != "rope") continue;
    std::optional<KVCache> first;
    Array<std::byte> saved;
    for (const double base : {10000.0, 500000.0, 10000.0}) {
      reference::Wishes own = wishes;
      own["base"] = base;
      const Encoding e = made_example(r, own);
      const Encoding* const encodings[] = {&e};
      const Text text = Text::of(shape_for(e, 9), 1);
      auto cache = KVCache::make(options_for(text, encodings));
      ASSERT_TRUE(succeeds(cache->append(text.tokens(0, 5))));
      if (!first) {
        first.emplace(std::move(*cache));
        saved = Array<std::byte>(first->byte_size());
        first->to_bytes(saved.data());
        continue;
      }
      const Status back = cache->from_bytes({saved.data(), static_cast<std::size_t>(saved.size())});
      if (base == 10000.0)
        EXPECT_TRUE(succeeds(back));
      else
        EXPECT_TRUE(fails_with(back, Errc::shape_mismatch, "bytes"));
    }
    // Its encoding is gone.
    Array<std::byte> again(first->byte_size());
    first->to_bytes(again.data());
    EXPECT_EQ(again, saved);
    auto fork = first->fork();
    fork->to_bytes(again.data());
    EXPECT_EQ(again, saved);
  }
}

}  // namespace
}  // namespace posenc

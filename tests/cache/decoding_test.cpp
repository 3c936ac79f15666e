// SPDX-License-Identifier: Apache-2.0
/// Decoding through a cache against attention over everything at once, for every encoding, in random
/// pieces; positions within the cache; bytes of turned keys.
#include "cache/text.hpp"
#include "encodings/examples.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::fails_with;
using reference::made_example;
using reference::Random;
using reference::Registered;
using reference::registered;
using reference::succeeds;

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
      Window window{.chunk = round == 1 ? 25 : 0};
      if (round >= 2) {
        o.window = 1 + random.below(20);
        o.sinks = random.below(4);
        window = {.left = random.below(o.window + 1), .first = o.sinks};
        if (round == 5) window.chunk = 1 + random.below(o.window + 1);
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

TEST(KVCache, RefusesSizesWhoseProductsWrap) {
  constexpr Index most = std::numeric_limits<std::int32_t>::max();
  // The one to blame is the largest, with the number that was given.
  const auto blamed = [](const CacheOptions& o) {
    const auto made = KVCache::make(o);
    EXPECT_EQ(made.error().code, Errc::too_large);
    return std::pair{made.error().field, static_cast<Index>(made.error().received)};
  };
  using Blame = std::pair<std::string_view, Index>;
  constexpr Index large = most - 5;
  EXPECT_EQ(blamed({.batch = large, .heads = most, .head_dim = large, .capacity = 3}),
            (Blame{"heads", most}));
  EXPECT_EQ(blamed({.batch = most, .heads = large, .head_dim = large, .window = 3, .sinks = 2}),
            (Blame{"batch", most}));
  EXPECT_EQ(blamed({.head_dim = 1, .window = 7, .sinks = large}), (Blame{"sinks", large}));
  EXPECT_EQ(blamed({.head_dim = 1, .window = large, .sinks = 7}), (Blame{"window", large}));
  EXPECT_EQ(blamed({.head_dim = 1, .capacity = large}), (Blame{"capacity", large}));
  // An index of WebAssembly holds no more than that.
  if (std::numeric_limits<Index>::max() == most) return;
  constexpr Index beyond = std::numeric_limits<Index>::max();
  EXPECT_TRUE(fails_with(KVCache::make({.head_dim = beyond, .value_dim = 1, .capacity = 1}),
                         Errc::too_large, "headDim"));
  EXPECT_TRUE(fails_with(KVCache::make({.head_dim = 1, .value_dim = beyond, .capacity = 1}),
                         Errc::too_large, "valueDim"));
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

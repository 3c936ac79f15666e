// SPDX-License-Identifier: Apache-2.0
/// A random text for caches, and attention over all of it at once.
#pragma once

#include <gtest/gtest.h>

#include "posenc/cache/kv_cache.hpp"
#include "reference/errors.hpp"
#include "reference/numbers.hpp"

namespace posenc {

/// A text of random queries, keys and values, [B, heads, tokens, width].
struct Text {
  AttentionShape shape;
  reference::Array<float> q, k, v;

  static Text of(const AttentionShape& s, std::uint64_t seed) {
    reference::Random random(seed);
    return {s, random.floats(s.batch * s.heads * s.keys * s.head_dim),
            random.floats(s.batch * s.kv_heads * s.keys * s.head_dim),
            random.floats(s.batch * s.kv_heads * s.keys * s.value_dim)};
  }
  /// Rows from `first` on of a tensor with all tokens.
  Tensor4<const float> from(const reference::Array<float>& x, Index heads, Index width,
                            Index first) const {
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
  AttentionArguments queries(Index first, Index count, reference::Array<float>& out) const {
    AttentionArguments a;
    a.shape = shape;
    a.shape.queries = count;
    a.shape.keys = 0;
    out = reference::Array<float>(shape.batch * shape.heads * count * shape.value_dim,
                                  reference::nan);
    a.q = from(q, shape.heads, shape.head_dim, first);
    a.output = Tensor4<float>::bhnd(out.data(), shape.heads, count, shape.value_dim);
    a.causal = true;
    return a;
  }
};

using Encodings_ = std::span<const Encoding* const>;

inline CacheOptions options_for(const Text& text, Encodings_ encodings) {
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
inline reference::Array<float> at_once(const Text& text, Encodings_ encodings, Index first,
                                       Index count, const Window& window) {
  reference::Array<float> out;
  AttentionArguments a = text.queries(first, count, out);
  a.shape.keys = first + count;
  a.k = text.from(text.k, text.shape.kv_heads, text.shape.head_dim, 0);
  a.v = text.from(text.v, text.shape.kv_heads, text.shape.value_dim, 0);
  a.encodings = encodings;
  a.window = window;
  EXPECT_TRUE(reference::succeeds(attention(a)));
  return out;
}

inline void expect_near(const reference::Array<float>& got, const reference::Array<float>& want,
                        double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (Index i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], tolerance) << i;
}

}  // namespace posenc

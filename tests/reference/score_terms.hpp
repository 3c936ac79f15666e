// SPDX-License-Identifier: Apache-2.0
/// An encoding inside attention against its formula inside naive attention, for all that must not
/// matter: tile sizes, grouped heads, the order of positions, causal or not.
#pragma once

#include <gtest/gtest.h>

#include "reference/attention.hpp"
#include "reference/options.hpp"

namespace reference {

using posenc::AttentionArguments;
using posenc::Encoding;
using posenc::Positions;
using posenc::Tensor4;

/// q, k, v, and where they stand: [axes][count].
struct Problem {
  AttentionShape s;
  Array<float> q, k, v;
  Array<double> q_pos, k_pos;
  int axes = 1;
  bool causal = false;

  Problem(const AttentionShape& shape, std::uint64_t seed, double deviation = 1) : s(shape) {
    Random random(seed);
    q = random.floats(s.batch * s.heads * s.queries * s.head_dim, deviation);
    k = random.floats(s.batch * s.kv_heads * s.keys * s.head_dim, deviation);
    v = random.floats(s.batch * s.kv_heads * s.keys * s.value_dim);
    q_pos = counted(s.queries, static_cast<double>(s.keys - s.queries));
    k_pos = counted(s.keys);
  }
  double q_at(Index t, int axis = 0) const { return q_pos[axis * s.queries + t]; }
  double k_at(Index j, int axis = 0) const { return k_pos[axis * s.keys + j]; }
  const float* q_row(Index b, Index h, Index t) const {
    return q.data() + ((b * s.heads + h) * s.queries + t) * s.head_dim;
  }
  const float* k_row(Index b, Index h, Index j) const {
    return k.data() + ((b * s.kv_heads + h / s.group()) * s.keys + j) * s.head_dim;
  }
  /// In float64.
  double dot(const float* a, const float* b) const {
    double sum = 0;
    for (Index c = 0; c < s.head_dim; ++c) sum += static_cast<double>(a[c]) * b[c];
    return sum;
  }
  bool sees(Index t, Index j) const { return !causal || j <= s.keys - s.queries + t; }
};

using Bias = std::function<double(Index b, Index h, Index t, Index j)>;

struct Outputs {
  Array<float> output, log_sum_exp;
};
template <class Arch>
Outputs attend(const Encoding& e, const Problem& p, const posenc::TileSizes& tiles,
               std::optional<double> scale = {}) {
  const AttentionShape& s = p.s;
  Outputs got{Array<float>(s.batch * s.heads * s.queries * s.value_dim),
              Array<float>(s.batch * s.heads * s.queries)};
  const Encoding* one = &e;
  const AttentionArguments arguments{
      .shape = s,
      .q = Tensor4<const float>::bhnd(p.q.data(), s.heads, s.queries, s.head_dim),
      .k = Tensor4<const float>::bhnd(p.k.data(), s.kv_heads, s.keys, s.head_dim),
      .v = Tensor4<const float>::bhnd(p.v.data(), s.kv_heads, s.keys, s.value_dim),
      .output = Tensor4<float>::bhnd(got.output.data(), s.heads, s.queries, s.value_dim),
      .log_sum_exp = got.log_sum_exp.data(),
      .encodings = {&one, 1},
      .axes = p.axes,
      .query_positions = {.data = p.q_pos.data()},
      .key_positions = {.data = p.k_pos.data()},
      .scale = scale,
      .causal = p.causal,
      .tiles = tiles};
  EXPECT_TRUE(succeeds(attend_at<Arch>(arguments)));
  return got;
}

/// `bias` is the whole term of the encoding, content included.
template <class Arch>
void expect_attention(const Encoding& e, const Problem& p, const Bias& bias, double tolerance,
                      std::optional<double> scale = {}) {
  Terms terms;
  terms.bias = bias;
  terms.visible = [&](Index, Index, Index t, Index j) { return p.sees(t, j); };
  const double own =
      e.score_scale(p.s.head_dim).value_or(1 / std::sqrt(static_cast<double>(p.s.head_dim)));
  const Answer want = attention(p.s, p.q, p.k, p.v, scale.value_or(own), terms);
  for (const posenc::TileSizes& tiles :
       {posenc::TileSizes{}, {.queries = 1, .keys = 1}, {.queries = 6, .keys = 16}}) {
    const Outputs got = attend<Arch>(e, p, tiles, scale);
    for (Index i = 0; i < got.output.size(); ++i)
      ASSERT_NEAR(got.output[i], want.output[i], tolerance)
          << "element " << i << ", tiles of " << tiles.queries;
    for (Index i = 0; i < got.log_sum_exp.size(); ++i) {
      const double exact = want.log_sum_exp[i];
      if (std::isinf(exact))
        ASSERT_EQ(got.log_sum_exp[i], exact);
      else
        ASSERT_NEAR(got.log_sum_exp[i], exact, tolerance * (1 + std::abs(exact)));
    }
  }
}

/// Odd sizes, grouped heads, decoding, more queries than keys, and positions in any order.
template <class Arch, class BiasOf>
void expect_attention_everywhere(const Encoding& e, Index heads, Index head_dim, BiasOf&& bias_of,
                                 double tolerance) {
  std::uint64_t seed = 100;
  for (const auto& [queries, keys] :
       {std::pair<Index, Index>{1, 1}, {1, 37}, {5, 2}, {9, 37}, {33, 33}})
    for (const Index kv_heads : {heads, Index{1}})
      for (const bool causal : {true, false})
        for (const bool in_order : {true, false}) {
          Problem p({.batch = 2,
                     .heads = heads,
                     .kv_heads = kv_heads,
                     .queries = queries,
                     .keys = keys,
                     .head_dim = head_dim,
                     .value_dim = 5},
                    ++seed);
          p.causal = causal;
          if (!in_order) {
            Random random(seed);
            for (Index i = 0; i < queries; ++i) p.q_pos[i] = static_cast<double>(random.below(60));
            for (Index j = 0; j < keys; ++j) p.k_pos[j] = static_cast<double>(random.below(60));
          }
          expect_attention<Arch>(e, p, bias_of(p), tolerance);
          if (::testing::Test::HasFatalFailure()) {
            ADD_FAILURE() << queries << " queries, " << keys << " keys, " << kv_heads
                          << " key heads, " << (causal ? "causal, " : "")
                          << (in_order ? "in order" : "scattered");
            return;
          }
        }
}

}  // namespace reference

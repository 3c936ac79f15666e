// SPDX-License-Identifier: Apache-2.0
/// Attention whose rotations depend on pairs of positions, in float64: each logit is computed on
/// its own, so no copy, tile or table of the library has a counterpart here.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "posenc/attention/rotations.hpp"
#include "reference/attention.hpp"
#include "reference/errors.hpp"
#include "support/at_width.hpp"

namespace reference {

using posenc::Encoding;

template <class Arch, class E>
Encoding encoding_of(typename E::Options options) {
  auto made = E::make(std::move(options));
  EXPECT_TRUE(succeeds(made));
  auto held = Encoding::of<Arch>(std::move(*made));
  EXPECT_TRUE(succeeds(held));
  return std::move(*held);
}

/// One pair of rows: unscaled logit of query q at m and key k at j.
using Logit = std::function<double(Index head, const float* q, const float* k, const double* m,
                                   const double* j)>;

/// q turned by `distance` times k, as RoPE in the half layout; channels from `rotary_dim` on as
/// they are.
inline double turned_product(const float* q, const float* k, Index dim, Index rotary_dim,
                             double base, double distance) {
  double sum = 0;
  const Index pairs = rotary_dim / 2;
  for (Index i = 0; i < pairs; ++i) {
    const double angle =
        distance * std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(rotary_dim));
    const double qa = q[i], qb = q[i + pairs], ka = k[i], kb = k[i + pairs];
    sum += (qa * ka + qb * kb) * std::cos(angle) + (qa * kb - qb * ka) * std::sin(angle);
  }
  for (Index c = rotary_dim; c < dim; ++c) sum += static_cast<double>(q[c]) * k[c];
  return sum;
}

struct Trial {
  AttentionShape shape;
  posenc::TileSizes tiles{};
  bool causal = true;
  Index axes = 1;
  Array<double> query_positions{}, key_positions{};  ///< [rows, axes, count]; empty = counted
  Index position_rows = 1;
};

/// Single precision through a product of up to 80 channels and a softmax.
inline constexpr double attention_tolerance = 3e-5;

/// Runs `trial` and compares every output with the logits as `logit` defines them.
template <class Arch>
void expect_attention(const Encoding& encoding, const Trial& trial, const Logit& logit) {
  const AttentionShape& n = trial.shape;
  Random random(42);
  const Array<float> q = random.floats(n.batch * n.heads * n.queries * n.head_dim);
  const Array<float> k = random.floats(n.batch * n.kv_heads * n.keys * n.head_dim);
  const Array<float> v = random.floats(n.batch * n.kv_heads * n.keys * n.value_dim);
  Array<float> output(n.batch * n.heads * n.queries * n.value_dim, nan);
  const Encoding* encodings[] = {&encoding};
  posenc::AttentionArguments a;
  a.shape = n;
  a.q = posenc::Tensor4<const float>::bhnd(q.data(), n.heads, n.queries, n.head_dim);
  a.k = posenc::Tensor4<const float>::bhnd(k.data(), n.kv_heads, n.keys, n.head_dim);
  a.v = posenc::Tensor4<const float>::bhnd(v.data(), n.kv_heads, n.keys, n.value_dim);
  a.output = posenc::Tensor4<float>::bhnd(output.data(), n.heads, n.queries, n.value_dim);
  a.encodings = encodings;
  a.axes = static_cast<int>(trial.axes);
  if (trial.query_positions.size() > 0)
    a.query_positions = {trial.query_positions.data(), trial.position_rows};
  if (trial.key_positions.size() > 0)
    a.key_positions = {trial.key_positions.data(), trial.position_rows};
  a.causal = trial.causal;
  a.tiles = trial.tiles;
  ASSERT_TRUE(succeeds(attend_at<Arch>(a)));

  const auto coordinates = [&](const Array<double>& given, Index b, Index count, Index i,
                               Index first) {
    Array<double> point(trial.axes);
    const Index row = trial.position_rows > 1 ? b : 0;
    for (Index axis = 0; axis < trial.axes; ++axis)
      point[axis] = given.size() > 0 ? given[(row * trial.axes + axis) * count + i]
                                     : static_cast<double>(first + i);
    return point;
  };
  Terms terms;
  if (trial.causal) terms.visible = causal(n.keys - n.queries);
  terms.bias = [&](Index b, Index h, Index t, Index j) {
    const Array<double> m = coordinates(trial.query_positions, b, n.queries, t, n.keys - n.queries);
    const Array<double> p = coordinates(trial.key_positions, b, n.keys, j, 0);
    const float* row = q.data() + ((b * n.heads + h) * n.queries + t) * n.head_dim;
    const float* key = k.data() + ((b * n.kv_heads + h / n.group()) * n.keys + j) * n.head_dim;
    return logit(h, row, key, m.data(), p.data()) / std::sqrt(static_cast<double>(n.head_dim));
  };
  const Array<float> nothing(q.size());  // the whole logit is in the bias
  const Answer want = attention(n, nothing, k, v, 1, terms);
  double worst = 0;
  for (Index i = 0; i < output.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(output[i]) - want.output[i]));
  EXPECT_LE(worst, attention_tolerance);
}

/// The shapes and tiles that remaps are tried at: whole and odd, grouped heads, fewer queries than
/// keys.
inline std::vector<Trial> trials(Index head_dim) {
  std::vector<Trial> all;
  for (const posenc::TileSizes& tiles : {posenc::TileSizes{64, 128}, {3, 4}, {1, 16}, {5, 9}}) {
    all.push_back({.shape = {1, 2, 1, 7, 7, head_dim, 3}, .tiles = tiles});
    all.push_back({.shape = {2, 6, 2, 33, 33, head_dim, 8}, .tiles = tiles});
    all.push_back({.shape = {1, 7, 1, 2, 33, head_dim, 5}, .tiles = tiles});
    all.push_back({.shape = {1, 4, 4, 1, 50, head_dim, 8}, .tiles = tiles});
    all.push_back({.shape = {1, 1, 1, 0, 3, head_dim, 2}, .tiles = tiles});
  }
  return all;
}

/// Distances that the copies of an encoding with rotaryDim >= 4 and base 10^4 stand for, from its
/// own choice and tables: the second of two pairs turns slowly enough to be read off.
inline Array<double> effective_distances(const Encoding& e, double query,
                                         const Array<double>& keys) {
  constexpr double slow = 0.01;
  const auto place = [&](double position, posenc::Role role, Index copy) {
    Array<float> table(4);
    Array<double> frequencies(2);
    e.angles({.out = {table.data(), 1, 4, 4},
              .positions = posenc::Positions::of(&position, 1),
              .role = role,
              .length = 1,
              .copy = copy,
              .scratch = frequencies.data()});
    return std::atan2(table[3], table[1]) / slow;
  };
  Array<std::uint8_t> copy(keys.size());
  e.choose(query, posenc::Positions::of(keys.data(), keys.size()), copy.data());
  Array<double> distances(keys.size());
  for (Index j = 0; j < keys.size(); ++j)
    distances[j] = place(query, posenc::Role::query, copy[j]) -
                   place(keys[j], posenc::Role::key, std::min<Index>(copy[j], e.key_copies() - 1));
  return distances;
}

inline void expect_distances(const Encoding& e, double query, const Array<double>& want) {
  const Array<double> got = effective_distances(e, query, counted(want.size()));
  for (Index j = 0; j < want.size(); ++j)
    EXPECT_NEAR(got[j], want[j], 1e-4) << "query " << query << ", key " << j;
}

/// A tile is of one copy exactly when all of its pairs ask for it: then it costs one product.
template <class Arch>
void expect_products_saved(const Encoding& e, Index least_single) {
  const Encoding* encodings[] = {&e};
  posenc::AttentionArguments a;
  a.shape = {1, 1, 1, 96, 96, e.head_dim(), 4};
  a.encodings = encodings;
  const posenc::Rotations<Arch> rotations(a);
  EXPECT_EQ(rotations.copies(), e.copies());
  const Array<double> all = counted(a.shape.keys);
  const posenc::Positions positions = posenc::Positions::of(all.data(), all.size());
  Index single = 0;
  for (Index t = 0; t < 96; t += 4)
    for (Index j = 0; j < 96; j += 8) {
      Array<std::uint8_t> copies(8);
      std::uint8_t lowest = 255, highest = 0;
      for (Index i = t; i < t + 4; ++i) {
        e.choose(all[i], positions.slice(j, 8), copies.data());
        for (std::uint8_t c : copies) lowest = std::min(lowest, c), highest = std::max(highest, c);
      }
      const Index copy = rotations.copy_of(positions.slice(t, 4), positions.slice(j, 8));
      EXPECT_EQ(copy, lowest == highest ? Index{lowest} : Index{-1})
          << "queries from " << t << ", keys from " << j;
      single += copy >= 0 ? 1 : 0;
    }
  EXPECT_GE(single, least_single) << "of 288 tiles";
}

}  // namespace reference

// SPDX-License-Identifier: Apache-2.0
/// One attention problem: asked of the library at any width and tile size, answered by the
/// reference.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "reference/attention.hpp"
#include "reference/errors.hpp"
#include "support/at_width.hpp"

namespace reference {

using posenc::Encoding;
using posenc::Status;
using posenc::TileSizes;

/// Scores of size below 10 are off by a few units of 2^-24 per channel, and weights by as much in
/// proportion; values are below 6.
inline constexpr double attention_tolerance = 1e-5;

/// A mask of extents 1 (broadcast) or those of [B, H, T, S].
struct Mask {
  std::array<Index, 4> extents{1, 1, 1, 1};
  Array<std::uint8_t> allowed{};
  Array<float> bias{};

  Index at(Index b, Index h, Index t, Index j) const {
    return ((b % extents[0] * extents[1] + h % extents[1]) * extents[2] + t % extents[2]) *
               extents[3] +
           j % extents[3];
  }
  Index size() const { return extents[0] * extents[1] * extents[2] * extents[3]; }
  posenc::MaskView view() const {
    const auto stride = [&](std::size_t axis) {
      if (extents[axis] == 1) return Index{0};
      Index elements = 1;
      for (std::size_t inner = axis + 1; inner < 4; ++inner) elements *= extents[inner];
      return elements;
    };
    return {.allowed = allowed.size() > 0 ? allowed.data() : nullptr,
            .bias = bias.size() > 0 ? bias.data() : nullptr,
            .batch = stride(0),
            .head = stride(1),
            .row = stride(2),
            .column = stride(3)};
  }
};

struct Question {
  AttentionShape shape{};
  Array<float> q{}, k{}, v{};  ///< [B, heads, rows, width]
  std::vector<const Encoding*> encodings{};
  int axes = 1;
  Array<double> query_positions{}, key_positions{};  ///< [1 or B, axes, rows]; empty: the default
  std::optional<double> scale{};
  bool causal = false;
  std::optional<Index> query_offset{};
  posenc::Window window{};
  Index prefix = 0;
  posenc::KeyGap key_gap{};
  Mask mask{};
  std::vector<posenc::Sequence> sequences{};
  double softcap = 0;
  Array<float> sinks{};  ///< [H], or empty
  posenc::QueryScale query_scale{};
  posenc::HeadNorm q_norm{}, k_norm{};
  TileSizes tiles{};
  bool rows_first = false;  ///< hand over the layout [B, rows, heads, width]
  bool wants_weights = true, wants_log_sum_exp = true;

  /// Random tensors.
  static Question of(const AttentionShape& s, std::uint64_t seed = 1) {
    Random random(seed);
    Question made{.shape = s};
    made.q = random.floats(s.batch * s.heads * s.queries * s.head_dim);
    made.k = random.floats(s.batch * s.kv_heads * s.keys * s.head_dim);
    made.v = random.floats(s.batch * s.kv_heads * s.keys * s.value_dim);
    return made;
  }
  /// Scores of 0 and values 1, 2, 3, … of one channel: a row's output is the mean of what it sees.
  static Question counting(Index queries, Index keys) {
    Question made{.shape = {.queries = queries, .keys = keys, .head_dim = 1, .value_dim = 1}};
    made.q = Array<float>(queries);
    made.k = Array<float>(keys);
    made.v = Array<float>(keys);
    for (Index j = 0; j < keys; ++j) made.v[j] = static_cast<float>(j + 1);
    return made;
  }
  /// All of the call but its tensors.
  posenc::AttentionArguments arguments() const {
    const auto positions = [&](const Array<double>& p, Index count) -> posenc::PositionRows {
      if (p.size() == 0) return {};
      return {.data = p.data(), .rows = p.size() / std::max<Index>(1, count * axes)};
    };
    return {.shape = shape,
            .q = {},
            .k = {},
            .v = {},
            .output = {},
            .encodings = encodings,
            .axes = axes,
            .query_positions = positions(query_positions, shape.queries),
            .key_positions = positions(key_positions, shape.keys),
            .scale = scale,
            .causal = causal,
            .query_offset = query_offset,
            .window = window,
            .prefix = prefix,
            .key_gap = key_gap,
            .mask = mask.view(),
            .sequences = sequences,
            .softcap = softcap,
            .sinks = sinks.size() > 0 ? sinks.data() : nullptr,
            .query_scale = query_scale,
            .q_norm = q_norm,
            .k_norm = k_norm,
            .tiles = tiles};
  }
  Index first_query() const {
    return query_offset.value_or(shape.keys + key_gap.by - shape.queries);
  }

  /// Whether the rules let query t see key j; both count from 0 within a sequence.
  bool rules_show(Index t, Index j, Index first_of_queries, Index first_keys) const {
    const Index place = first_of_queries + t, key = j + (j >= key_gap.at ? key_gap.by : 0);
    if (key < first_keys) return true;
    if (causal && key > place) return false;
    if (key < window.first) return true;
    const auto chunk_of = [&](Index at) {
      return std::floor(static_cast<double>(at) / static_cast<double>(window.chunk));
    };
    if (window.chunk > 0 && chunk_of(key) != chunk_of(place)) return false;
    return !(window.left && key < place - *window.left) &&
           !(window.right && key > place + *window.right);
  }
  /// Where query t stands: in its sequence, if there are any.
  Index place(Index b, Index t) const {
    for (const posenc::Sequence& s : sequences)
      if (s.batch == b && t >= s.first_query && t < s.first_query + s.queries)
        return s.first_place() + t - s.first_query;
    return first_query() + t;
  }
  /// Whether query t sees key j, of all sequences.
  bool shows(Index b, Index t, Index j) const {
    if (sequences.empty()) return rules_show(t, j, first_query(), prefix);
    for (const posenc::Sequence& s : sequences)
      if (s.batch == b && t >= s.first_query && t < s.first_query + s.queries)
        return j >= s.first_key && j < s.first_key + s.keys &&
               rules_show(t - s.first_query, j - s.first_key, s.first_place(), s.prefix);
    return false;
  }
};

/// What the library gave; NaN where it wrote nothing.
struct Given {
  Status status;
  Array<float> output, weights, log_sum_exp;
};

/// From [B, heads, rows, width] to [B, rows, heads, width], or back with heads and rows exchanged.
inline Array<float> transposed(const Array<float>& x, Index batch, Index heads, Index rows,
                               Index width) {
  Array<float> y(x.size());
  for (Index b = 0; b < batch; ++b)
    for (Index h = 0; h < heads; ++h)
      for (Index t = 0; t < rows; ++t)
        for (Index c = 0; c < width; ++c)
          y[((b * rows + t) * heads + h) * width + c] = x[((b * heads + h) * rows + t) * width + c];
  return y;
}

template <class Arch = xsimd::default_arch>
Given ask(const Question& ask) {
  const AttentionShape& s = ask.shape;
  Given given{{},
              Array<float>(s.batch * s.heads * s.queries * s.value_dim, nan),
              Array<float>(ask.wants_weights ? s.batch * s.heads * s.queries * s.keys : 0, nan),
              Array<float>(ask.wants_log_sum_exp ? s.batch * s.heads * s.queries : 0, nan)};
  const auto in = [&](const Array<float>& x, Index heads, Index rows, Index width) {
    return ask.rows_first ? transposed(x, s.batch, heads, rows, width) : x;
  };
  const Array<float> q = in(ask.q, s.heads, s.queries, s.head_dim),
                     k = in(ask.k, s.kv_heads, s.keys, s.head_dim),
                     v = in(ask.v, s.kv_heads, s.keys, s.value_dim);
  const auto tensor = [&]<class T>(T* data, Index heads, Index rows, Index width) {
    return ask.rows_first ? posenc::Tensor4<T>::bnhd(data, heads, rows, width)
                          : posenc::Tensor4<T>::bhnd(data, heads, rows, width);
  };
  posenc::AttentionArguments a = ask.arguments();
  a.q = tensor(q.data(), s.heads, s.queries, s.head_dim);
  a.k = tensor(k.data(), s.kv_heads, s.keys, s.head_dim);
  a.v = tensor(v.data(), s.kv_heads, s.keys, s.value_dim);
  a.output = tensor(given.output.data(), s.heads, s.queries, s.value_dim);
  a.weights = ask.wants_weights ? given.weights.data() : nullptr;
  a.log_sum_exp = ask.wants_log_sum_exp ? given.log_sum_exp.data() : nullptr;
  given.status = attend_at<Arch>(a);
  if (ask.rows_first)
    given.output = transposed(given.output, s.batch, s.queries, s.heads, s.value_dim);
  return given;
}

/// As the models define it from position 0 on; below that it is 1.
inline double query_scale(const posenc::QueryScale& q, double m) {
  using Kind = posenc::QueryScale::Kind;
  if (m < 0) return 1;
  if (q.kind == Kind::log_n) return std::max(1.0, std::log(m + 1) / std::log(q.length));
  return 1 + q.factor * std::log(1 + std::floor((q.kind == Kind::llama4 ? m + 1 : m) / q.length));
}

/// x [B, heads, rows, width] normalised row by row.
template <class Real>
Array<Real> normalised(const Array<Real>& x, const posenc::HeadNorm& norm, Index heads, Index rows,
                       Index width) {
  if (norm.kind == posenc::HeadNorm::Kind::none || width == 0) return x;
  Array<Real> y(x.size());
  for (Index row = 0; row < x.size() / width; ++row) {
    double sum = 0;
    for (Index c = 0; c < width; ++c) sum += std::pow(x[row * width + c], 2);
    const double size = norm.kind == posenc::HeadNorm::Kind::rms
                            ? std::sqrt(sum / static_cast<double>(width) + norm.epsilon)
                            : std::max(std::sqrt(sum), norm.epsilon);
    for (Index c = 0; c < width; ++c) {
      const Index at = norm.weight_heads > 1 ? row / rows % heads * width + c : c;
      y[row * width + c] = static_cast<Real>(x[row * width + c] / size *
                                             (norm.weight == nullptr ? 1 : norm.weight[at]));
    }
  }
  return y;
}

/// What the reference must know of a question, which has to live as long; `terms` says what the
/// encodings do, everything else is added here, all but the query scale at explicit positions.
inline Terms terms_of(const Question& ask, Terms terms = {}) {
  const Mask& mask = ask.mask;
  const auto encoding_bias = terms.bias;
  terms.visible = [&ask, &mask](Index b, Index h, Index t, Index j) {
    if (!ask.shows(b, t, j)) return false;
    if (mask.allowed.size() > 0) return mask.allowed[mask.at(b, h, t, j)] != 0;
    return mask.bias.size() == 0 || mask.bias[mask.at(b, h, t, j)] != -infinity;
  };
  terms.bias = [&mask, encoding_bias](Index b, Index h, Index t, Index j) {
    const double added = mask.bias.size() > 0 ? mask.bias[mask.at(b, h, t, j)] : 0.0;
    return added + (encoding_bias ? encoding_bias(b, h, t, j) : 0.0);
  };
  terms.softcap = ask.softcap;
  terms.sinks = ask.sinks;
  if (!terms.temperature && ask.query_scale.kind != posenc::QueryScale::Kind::none)
    terms.temperature = [&ask](Index b, Index t) {
      return query_scale(ask.query_scale, static_cast<double>(ask.place(b, t)));
    };
  return terms;
}
inline double scale_of(const Question& ask) {
  const Index dim = ask.shape.head_dim;
  return ask.scale.value_or(dim > 0 ? 1 / std::sqrt(static_cast<double>(dim)) : 1);
}

/// The reference's answer.
inline Answer answer(const Question& ask, Terms terms = {}) {
  const AttentionShape& s = ask.shape;
  const Array<float> q = normalised(ask.q, ask.q_norm, s.heads, s.queries, s.head_dim),
                     k = normalised(ask.k, ask.k_norm, s.kv_heads, s.keys, s.head_dim);
  return attention(s, q, k, ask.v, scale_of(ask), terms_of(ask, std::move(terms)));
}

inline ::testing::AssertionResult close(const Array<float>& got, const Array<double>& want,
                                        double tolerance) {
  if (got.size() != want.size()) return ::testing::AssertionFailure() << got.size() << " elements";
  for (Index i = 0; i < got.size(); ++i) {
    const bool same = std::isnan(want[i])
                          ? std::isnan(got[i])
                          : got[i] == want[i] || std::abs(got[i] - want[i]) <= tolerance;
    if (!same)
      return ::testing::AssertionFailure()
             << "element " << i << " is " << got[i] << ", not " << want[i];
  }
  return ::testing::AssertionSuccess();
}

/// Everything that was asked for.
inline void expect_close(const Question& ask, const Given& got, const Answer& want,
                         double tolerance = attention_tolerance) {
  ASSERT_TRUE(succeeds(got.status));
  ASSERT_TRUE(close(got.output, want.output, tolerance)) << "output";
  if (ask.wants_weights) {
    ASSERT_TRUE(close(got.weights, want.weights, tolerance)) << "weights";
  }
  if (ask.wants_log_sum_exp) {
    ASSERT_TRUE(close(got.log_sum_exp, want.log_sum_exp, tolerance)) << "log-sum-exp";
  }
}

}  // namespace reference

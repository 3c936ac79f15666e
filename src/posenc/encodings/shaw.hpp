// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>

#include "posenc/core/encoding.hpp"
#include "posenc/core/position_rules.hpp"
#include "posenc/core/tile_gradients.hpp"
#include "posenc/core/toeplitz.hpp"

namespace posenc {

/// Relative position representations on keys and values. Shaw, Uszkoreit & Vaswani, 2018.
///
///   c(m, j) = clip(j - m, -k, k) + k
///   s(m, j) = q_m · (k_j + keyTable[c]) / sqrt(D)        out_m = sum_j p(m, j) (v_j + valueTable[c])
///
/// Tables are shared by all heads. `queryTable` adds k_j · queryTable[c] / sqrt(D), the second term
/// of BERT's relative_key_query. Hugging Face indexes by m - j: give its rows in reverse order.
class Shaw : public EncodingDefaults {
 public:
  struct Options {
    int head_dim = 0;
    int max_distance = 0;
    Table key_table, value_table, query_table;
  };
  static constexpr Spec spec{
      .id = "shaw",
      .title = "Shaw relative",
      .summary = "Learned vectors per clipped distance, added to keys and to values.",
      .formula = "s(m, j) = qₘ·(kⱼ + Aᴷ[clip(j − m, −k, k)])/√d",
      .paper = "Shaw, Uszkoreit & Vaswani, 2018",
      .url = "https://arxiv.org/abs/1803.02155",
      .used_by = "tensor2tensor, BERT with relative_key",
      .sites = {.score = true, .value = true},
      .positions = PositionKind::integer,
      .relative = true};
  using F = FieldOf<Options>;
  static constexpr std::array fields{
      F::integer<&Options::head_dim>("headDim", "Width of one head.", 1, 4096).required(64),
      F::integer<&Options::max_distance>("maxDistance", "Distances beyond this share the last row.",
                                         1, 65536)
          .required(16),
      F::table<&Options::key_table>("keyTable", "Added to keys [2 maxDistance + 1, headDim].",
                                    Dim::of("maxDistance", 2, 1), Dim::of("headDim"))
          .required(),
      F::table<&Options::value_table>("valueTable",
                                      "Added to values [2 maxDistance + 1, width of values].",
                                      Dim::of("maxDistance", 2, 1), Dim::any("valueDim", 64)),
      F::table<&Options::query_table>("queryTable",
                                      "Multiplied with keys [2 maxDistance + 1, headDim].",
                                      Dim::of("maxDistance", 2, 1), Dim::of("headDim"))};

  static Result<Shaw> make(Options&& o) { return Shaw(std::move(o)); }

  Index head_dim() const { return o_.head_dim; }
  Index value_dim() const { return o_.value_table.empty() ? 0 : o_.value_table.shape[1]; }
  Index score_scratch(Index, Index) const { return 2 * reach() + 1; }
  Status accepts(const Positions& positions) const { return check_integer_positions(positions); }

  /// Only the rows of the table that the tile can reach are multiplied: one, far from the diagonal.
  template <class Arch>
  void score(Arch, const ScoreTile& t) const {
    const ToeplitzRow products{t.scratch, reach()};
    for (Index i = 0; i < t.scores.rows; ++i) {
      const auto [first, last] = range(t.q_pos[i], t.k_pos);
      for (Index c = first; c <= last; ++c)
        t.scratch[c] = dot<Arch>(t.q.row(i), o_.key_table.row(c), o_.head_dim);
      add_toeplitz<Arch>(products, t.q_pos[i], t.k_pos, t.scores.row(i));
      if (!o_.query_table.empty()) add_key_products<Arch>(t, i);
    }
  }

  template <class Arch>
  void value(Arch, const ValueTile& t) const {
    if (o_.value_table.empty()) return;
    for (Index i = 0; i < t.weights.rows; ++i) {
      const float* w = t.weights.row(i);
      // Keys in one bucket share a row: their weights are summed first, and the far ends, which
      // hold nearly all keys of a long sequence, cost one row.
      for (Index j = 0; j < t.weights.cols;) {
        const Index c = bucket(t.q_pos[i], t.k_pos[j]);
        float sum = 0;
        do sum += w[j++];
        while (j < t.weights.cols && bucket(t.q_pos[i], t.k_pos[j]) == c);
        if (sum != 0) add_scaled<Arch>(sum, o_.value_table.row(c), t.out.row(i), t.out.cols);
      }
    }
  }

  static constexpr std::array<std::string_view, 3> gradients{"keyTable", "valueTable",
                                                             "queryTable"};
  Index gradient_size() const { return start(3); }
  template <class Arch>
  void score_gradient(Arch, const ScoreGradient& g) const {
    const ScoreTile& t = g.tile;
    std::fill_n(t.scratch, 2 * reach() + 1, 0.0f);
    for (Index i = 0; i < g.gradient.rows; ++i) {
      const float* by = g.gradient.row(i);
      for (Index j = 0; j < g.gradient.cols; ++j) {
        if (by[j] == 0) continue;
        const Index c = bucket(t.q_pos[i], t.k_pos[j]);
        t.scratch[c] += by[j];
        if (o_.query_table.empty()) continue;
        const float scaled = by[j] * t.scale * t.temperature(i);
        add_scaled<Arch>(scaled, o_.query_table.row(c), g.k.row(j), o_.head_dim);
        add_row(scaled, t.k.row(j), g.sums + start(2) + c * o_.head_dim, o_.head_dim);
      }
      const auto [first, last] = range(t.q_pos[i], t.k_pos);
      for (Index c = first; c <= last; ++c) {
        const float sum = std::exchange(t.scratch[c], 0.0f);
        if (sum == 0) continue;
        add_scaled<Arch>(sum, o_.key_table.row(c), g.q.row(i), o_.head_dim);
        add_row(sum, t.q.row(i), g.sums + c * o_.head_dim, o_.head_dim);
      }
    }
  }
  template <class Arch>
  void value_gradient(Arch, const ValueGradient& g) const {
    if (o_.value_table.empty()) return;
    const ValueTile& t = g.tile;
    for (Index i = 0; i < t.weights.rows; ++i)
      for (Index j = 0; j < t.weights.cols;) {
        const Index c = bucket(t.q_pos[i], t.k_pos[j]);
        const float product = dot<Arch>(t.out.row(i), o_.value_table.row(c), t.out.cols);
        float sum = 0;
        do {
          sum += t.weights.row(i)[j];
          g.weights.row(i)[j++] += product;
        } while (j < t.weights.cols && bucket(t.q_pos[i], t.k_pos[j]) == c);
        if (sum != 0) add_row(sum, t.out.row(i), g.sums + start(1) + c * t.out.cols, t.out.cols);
      }
  }
  void collect_gradients(double* sums, float* const* tables) const {
    for (Index i = 0; i < 3; ++i)
      round_gradients(sums + start(i), start(i + 1) - start(i), tables[i]);
  }

 private:
  explicit Shaw(Options&& o) : o_(std::move(o)) {}

  /// Of the sums of table i, in the order of `gradients`.
  Index start(Index i) const {
    Index sum = 0;
    if (i > 0) sum += static_cast<Index>(o_.key_table.data.size());
    if (i > 1) sum += static_cast<Index>(o_.value_table.data.size());
    if (i > 2) sum += static_cast<Index>(o_.query_table.data.size());
    return sum;
  }
  Index reach() const { return o_.max_distance; }
  Index bucket(double query, double key) const {
    const double k = o_.max_distance;
    return static_cast<Index>(std::clamp(key - query, -k, k) + k);
  }
  std::pair<Index, Index> range(double query, const Positions& keys) const {
    if (keys.count == 0) return {0, -1};
    if (keys.consecutive) return {bucket(query, keys[0]), bucket(query, keys[keys.count - 1])};
    const auto [least, greatest] = std::minmax_element(keys.data, keys.data + keys.count);
    return {bucket(query, *least), bucket(query, *greatest)};
  }
  template <class Arch>
  void add_key_products(const ScoreTile& t, Index i) const {
    const float scale = t.scale * t.temperature(i);
    for (Index j = 0; j < t.scores.cols; ++j) {
      const float* row = o_.query_table.row(bucket(t.q_pos[i], t.k_pos[j]));
      t.scores.row(i)[j] += scale * dot<Arch>(t.k.row(j), row, o_.head_dim);
    }
  }

  Options o_;
};

}  // namespace posenc

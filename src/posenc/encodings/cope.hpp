// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>

#include "posenc/core/encoding.hpp"
#include "posenc/core/exp.hpp"
#include "posenc/core/position_rules.hpp"
#include "posenc/core/vector_table.hpp"

namespace posenc {

/// Contextual position encoding: how far back a key is, counted in keys that matter to the query.
/// Golovneva et al., 2024.
///
///   g(m, t) = sigmoid(s(m, t))       p(m, j) = min(sum_{t = j..m} g(m, t), maxPositions - 1)
///   s(m, j) += (1 - w) z(floor p) + w z(ceil p),   w = p - floor p,   z(n) = q_m · table[:, n]
///
/// The gates see the scaled scores, and 0 where a mask hides the key. `scaleLogits` multiplies z by
/// the softmax scale as well, as the published training does; its `nodiv` setting does not. The
/// table is shared by all heads, and the positions of tokens are not used, only their order.
class Cope : public EncodingDefaults {
 public:
  struct Options {
    int head_dim = 0;
    Table table;
    bool scale_logits = true;
  };
  static constexpr Spec spec{
      .id = "cope",
      .title = "CoPE",
      .summary =
          "Positions that count keys by how much the query attends to them, from a learned table.",
      .formula = "s(m, j) += qₘ·E[p]/√d, p = min(Σ_{t=j..m} σ(s(m, t)), maxPositions − 1)",
      .paper = "Golovneva et al., 2024",
      .url = "https://arxiv.org/abs/2405.18719",
      .sites = {.score = true},
      .relative = true,
      .cumulative = true};
  using F = FieldOf<Options>;
  static constexpr std::array fields{
      F::integer<&Options::head_dim>("headDim", "Width of one head.", 1, 4096).required(64),
      F::boolean<&Options::scale_logits>("scaleLogits", "Scale the position logits like q·k."),
      F::table<&Options::table>("table",
                                "One vector per position, as columns [headDim, maxPositions].",
                                Dim::of("headDim"), Dim::any("maxPositions", 64))
          .required()};

  static Result<Cope> make(Options&& o) {
    const Index count = o.table.shape[1];
    VectorTable table;
    if (Status s = table.allocate(1, count, o.head_dim); !s) return s;
    for (Index k = 0; k < o.head_dim; ++k)
      for (Index p = 0; p < count; ++p) table.at(0, p, k) = o.table.row(k)[p];
    return Cope(std::move(table), count, o.scale_logits);
  }

  Index head_dim() const { return table_.depth(); }
  /// The sum of the gates of all keys newer than the tile.
  Index carry_width() const { return 1; }
  Index score_scratch(Index, Index cols) const {
    return table_.scratch() + table_.columns() + 2 * round_up(cols, 4);
  }
  Status accepts(const Positions& positions) const { return check_real_positions(positions); }

  template <class Arch>
  void score(Arch, const ScoreTile& t) const {
    float* const block = t.scratch;
    float* const logits = block + row_group * table_.depth();
    float* const gates = logits + row_group * table_.columns();
    const float factor = scale_logits_ ? 1.0f : inverse(t.scale);
    for (Index i = 0; i < t.scores.rows; i += row_group) {
      const Index count = load_rows<Arch>(t.q, i, factor, block);
      float least = last_;
      for (Index r = 0; r < count; ++r) least = std::min(least, passed(t, i + r));
      table_.products<Arch>(block, 0, static_cast<Index>(least), static_cast<Index>(last_) + 1,
                            logits);
      for (Index r = 0; r < count; ++r) {
        open_gates<Arch>(t.scores.row(i + r), t.scores.cols, gates);
        t.carry.row(i + r)[0] = add_logits(logits + r * table_.columns(), gates, passed(t, i + r),
                                           t.scores.row(i + r), t.scores.cols);
      }
    }
  }

  static constexpr std::array<std::string_view, 1> gradients{"table"};
  Index gradient_size() const { return table_.size(); }
  bool needs_scores() const { return true; }
  /// A gate moves the positions of its own and of all older keys, so on the way back, from the
  /// oldest key to the newest, `carry` sums what the positions passed so far ask for.
  template <class Arch>
  void score_gradient(Arch, const ScoreGradient& g) const {
    const ScoreTile& t = g.tile;
    const Index cols = g.gradient.cols, columns = table_.columns();
    float* const block = t.scratch;
    float* const logits = block + row_group * table_.depth();
    float* const by_logits = logits + row_group * columns;
    float* const gates = by_logits + columns;
    float* const by_places = gates + round_up(cols, 4);
    const float factor = scale_logits_ ? 1.0f : inverse(t.scale);
    std::fill_n(by_logits, columns, 0.0f);
    for (Index i = 0; i < g.gradient.rows; i += row_group) {
      const Index count = load_rows<Arch>(t.q, i, factor, block);
      table_.products<Arch>(block, 0, 0, static_cast<Index>(last_) + 1, logits);
      for (Index r = 0; r < count; ++r) {
        float* const by = g.gradient.row(i + r);
        const float* z = logits + r * columns;
        open_gates<Arch>(t.scores.row(i + r), cols, gates);
        float sum = passed(t, i + r);
        for (Index j = cols; j-- > 0;) {
          sum += gates[j];
          const float p = sum < last_ ? sum : last_;
          const auto below = static_cast<Index>(p);
          const float w = p - static_cast<float>(below);
          by_logits[below] += by[j] * (1 - w);
          by_places[j] = 0;
          if (p == last_) continue;
          by_logits[below + 1] += by[j] * w;
          by_places[j] = by[j] * (z[below + 1] - z[below]);
        }
        float& carried = g.carry.row(i + r)[0];
        for (Index j = 0; j < cols; ++j) {
          carried += by_places[j];
          by[j] += carried * gates[j] * (1 - gates[j]);
        }
        table_.pull_back<Arch>(t.q.row(i + r), factor, by_logits, 0, 0,
                               static_cast<Index>(last_) + 1, g.q.row(i + r), g.sums);
      }
    }
  }
  void collect_gradients(double* sums, float* const* tables) const {
    const auto count = static_cast<Index>(last_) + 1;
    if (tables[0] == nullptr) return;
    for (Index k = 0; k < table_.depth(); ++k)
      for (Index p = 0; p < count; ++p)
        tables[0][k * count + p] = static_cast<float>(sums[table_.place(0, p, k)]);
  }

 private:
  Cope(VectorTable table, Index count, bool scale_logits)
      : table_(std::move(table)),
        last_(static_cast<float>(count - 1)),
        scale_logits_(scale_logits) {}

  /// Of a scale of 0 nothing is left to divide.
  static float inverse(float scale) { return scale == 0 ? 0.0f : 1 / scale; }
  static float passed(const ScoreTile& t, Index i) { return t.first ? 0.0f : t.carry.row(i)[0]; }

  template <class Arch>
  static void open_gates(const float* scores, Index n, float* gates) {
    using V = xsimd::batch<float, Arch>;
    for_each_vector<Arch>(n, [&](Index j, auto io) {
      const V x = io.load(scores + j);
      const V e = exp_nonpositive<Arch>(-xsimd::abs(x));
      io.store(xsimd::select(x >= V(0.0f), V(1.0f), e) / (V(1.0f) + e), gates + j);
    });
  }

  /// From the newest key to the oldest; returns the sum of all gates so far.
  float add_logits(const float* z, const float* gates, float sum, float* scores, Index n) const {
    for (Index j = n; j-- > 0;) {
      sum += gates[j];
      // Of a NaN that no mask hides, only this row may know.
      const float p = sum < last_ ? sum : last_;
      const auto below = static_cast<Index>(p);
      const float w = p - static_cast<float>(below);
      const float low = z[below];
      scores[j] += w == 0 ? low : low + w * (z[below + 1] - low);
    }
    return sum;
  }

  VectorTable table_;
  float last_;  ///< the greatest position
  bool scale_logits_;
};

}  // namespace posenc

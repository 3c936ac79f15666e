// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <limits>

#include "posenc/core/encoding.hpp"
#include "posenc/core/position_rules.hpp"
#include "posenc/core/tile_gradients.hpp"

namespace posenc {

/// Forgetting bias: every token and head has a forget gate, and a key fades by the gates of all
/// tokens after it. Lin et al., 2025; data-dependent ALiBi in x-transformers.
///
///   b_h(m, j) = F[h, m] - F[h, j] = sum of ln f[h, t] over t = j+1 .. m,     f = sigmoid(w_h · x +
///   b_h)
///
/// The table has a column per position of one sequence: F itself, or with `form: 'gates'` the ln f,
/// which are then summed in float64, as they should be for thousands of tokens. A gate that is shut,
/// ln f = −∞, hides all keys before its token from it and from all later ones; sums of −∞ could not
/// tell keys behind it apart, so only single gates may be shut. Keys in the future would be amplified:
/// use it under a causal mask.
class Forgetting : public EncodingDefaults {
 public:
  enum class Form { cumulative, gates };
  static constexpr std::array<std::string_view, 2> form_names{"cumulative", "gates"};

  struct Options {
    int heads = 0;
    Table table;
    Form form = Form::cumulative;
  };
  static constexpr Spec spec{
      .id = "forgetting",
      .title = "Forgetting bias",
      .summary = "Keys fade by the forget gates, computed from the data, of all tokens after them.",
      .formula = "b(m, j) = Fₘ − Fⱼ, F = Σ ln σ(wₕ·xₜ + bₕ)",
      .paper = "Lin et al., 2025",
      .url = "https://arxiv.org/abs/2503.02130",
      .used_by = "Forgetting Transformer, x-transformers",
      .sites = {.score = true},
      .positions = PositionKind::index,
      .content_free = true};
  using F = FieldOf<Options>;
  static constexpr std::array fields{
      F::integer<&Options::heads>("heads", "Query heads.", 1, 65536).required(8),
      F::choice<&Options::form>(
          "form", "What the table holds: sums up to each position, or single ln f.", form_names),
      F::table<&Options::table>("table", "Logarithms of forget gates [heads, S].", Dim::of("heads"),
                                Dim::any("S", 512))
          .required()
          .hiding()
          .initialised_by(0.5)};

  static Result<Forgetting> make(Options&& o) {
    const Index count = o.table.shape[1];
    Buffer<double> sums;
    if (Status s = sums.allocate(o.table.data.size()); !s) return s;
    Buffer<float> shut;
    if (Status s = shut.allocate(o.table.data.size()); !s) return s;
    for (Index h = 0; h < o.heads; ++h) {
      double sum = 0;
      float gates_shut = 0;
      for (Index i = 0; i < count; ++i) {
        const double entry = o.table.row(h)[i];
        const bool open = std::isfinite(entry);
        if (!open && o.form == Form::cumulative)
          return fault(Errc::not_finite, "table",
                       "finite numbers; with form: 'gates' a gate may be shut", entry,
                       static_cast<double>(h * count + i));
        if (o.form == Form::cumulative) sum = 0;
        if (open) sum += entry;
        sums.data()[h * count + i] = sum;
        shut.data()[h * count + i] = gates_shut += open ? 0.0f : 1.0f;
      }
    }
    return Forgetting(std::move(sums), std::move(shut), o, count);
  }

  Index heads() const { return heads_; }
  Index score_scratch(Index, Index cols) const { return 2 * cols; }
  Status accepts(const Positions& positions) const {
    if (Status s = check_integer_positions(positions); !s) return s;
    return check_inside(positions, 0, 0, static_cast<double>(count_ - 1), "inside the table");
  }

  template <class Arch>
  void score(Arch, const ScoreTile& t) const {
    using V = xsimd::batch<float, Arch>;
    if (t.scores.cols == 0) return;
    // Relative to the first key, so that the differences of float32 are those of a tile.
    const double origin = sum(t.head, t.k_pos[0]);
    float* const shut = t.scratch + t.scores.cols;
    for (Index j = 0; j < t.scores.cols; ++j) {
      t.scratch[j] = static_cast<float>(sum(t.head, t.k_pos[j]) - origin);
      shut[j] = gates_shut(t.head, t.k_pos[j]);
    }
    const V hidden(-std::numeric_limits<float>::infinity());
    for (Index i = 0; i < t.scores.rows; ++i) {
      const V own(static_cast<float>(sum(t.head, t.q_pos[i]) - origin)),
          passed(gates_shut(t.head, t.q_pos[i]));
      float* row = t.scores.row(i);
      for_each_vector<Arch>(t.scores.cols, [&](Index j, auto io) {
        const V faded = io.load(row + j) + (own - io.load(t.scratch + j));
        io.store(xsimd::select(io.load(shut + j) == passed, faded, hidden), row + j);
      });
    }
  }

  static constexpr std::array<std::string_view, 1> gradients{"table"};
  Index gradient_size() const { return heads_ * count_; }
  template <class Arch>
  void score_gradient(Arch, const ScoreGradient& g) const {
    double* own = g.sums + g.tile.head * count_;
    for (Index i = 0; i < g.gradient.rows; ++i)
      for (Index j = 0; j < g.gradient.cols; ++j) {
        const double by = g.gradient.row(i)[j];
        own[static_cast<Index>(g.tile.q_pos[i])] += by;
        own[static_cast<Index>(g.tile.k_pos[j])] -= by;
      }
  }
  /// A single gate is part of the sums at every later position.
  void collect_gradients(double* sums, float* const* tables) const {
    if (gates_)
      for (Index h = 0; h < heads_; ++h)
        for (Index i = count_ - 1; i-- > 0;) sums[h * count_ + i] += sums[h * count_ + i + 1];
    round_gradients(sums, gradient_size(), tables[0]);
  }

 private:
  Forgetting(Buffer<double> sums, Buffer<float> shut, const Options& o, Index count)
      : sums_(std::move(sums)),
        shut_(std::move(shut)),
        heads_(o.heads),
        count_(count),
        gates_(o.form == Form::gates) {}

  Index at(Index head, double position) const {
    return head * count_ + static_cast<Index>(position);
  }
  double sum(Index head, double position) const { return sums_.data()[at(head, position)]; }
  float gates_shut(Index head, double position) const { return shut_.data()[at(head, position)]; }

  Buffer<double> sums_;  ///< [heads][count]: of the gates that are not shut
  Buffer<float> shut_;   ///< [heads][count]: how many are, up to each; exact below 2^24
  Index heads_, count_;
  bool gates_;
};

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>

#include "posenc/core/encoding.hpp"
#include "posenc/core/position_rules.hpp"
#include "posenc/core/tile_gradients.hpp"

namespace posenc {

/// Learned absolute positions: x[t] += table[position + offset]. Embeddings only.
///
/// `offset` is 0 for BERT and GPT-2, 2 for OPT, padding index + 1 for RoBERTa and its relatives;
/// those reserve their first rows, so the usable length is rows - offset. A position of -1 then
/// names the padding row, as the reference index computations do. A row past the end is an error;
/// `pastEnd: 'clamp'` takes the last row instead, and only when asked. Devlin et al., 2018.
class Learned : public EncodingDefaults {
 public:
  enum class PastEnd { error, clamp };
  static constexpr std::array<std::string_view, 2> past_end_names{"error", "clamp"};

  struct Options {
    Table table;
    int offset = 0;
    PastEnd past_end = PastEnd::error;
  };
  static constexpr Spec spec{
      .id = "learned",
      .title = "Learned absolute",
      .summary = "One trained vector per position, added to the token embedding.",
      .formula = "xₜ += table[t + offset]",
      .paper = "Devlin et al., 2018",
      .url = "https://arxiv.org/abs/1810.04805",
      .used_by = "BERT, GPT-2, OPT, RoBERTa",
      .sites = {.embed = true},
      .positions = PositionKind::index};
  using F = FieldOf<Options>;
  static constexpr std::array fields{
      F::table<&Options::table>("table", "The trained rows [rows, E].", Dim::any("rows", 512),
                                Dim::any("E", 64))
          .required(),
      F::integer<&Options::offset>(
          "offset", "Rows reserved before position 0: OPT 2, RoBERTa padding index + 1.", 0, 1e6),
      F::choice<&Options::past_end>(
          "pastEnd", "A position past the table: an error, or its last row.", past_end_names)};

  static Result<Learned> make(Options&& o) {
    if (o.offset >= o.table.shape[0])
      return fault(Errc::out_of_range, "offset", "less than the rows of the table",
                   static_cast<double>(o.offset));
    return Learned(std::move(o));
  }

  Index embed_width() const { return o_.table.shape[1]; }
  /// Positions 0 .. usable_length() - 1 have a row of their own.
  Index usable_length() const { return o_.table.shape[0] - o_.offset; }

  Status accepts(const Positions& positions) const {
    if (Status s = check_integer_positions(positions); !s) return s;
    const double last = static_cast<double>(usable_length() - 1);
    return check_inside(positions, 0, -o_.offset,
                        o_.past_end == PastEnd::error ? last : largest_position,
                        "inside the table");
  }

  template <class Arch>
  void embed(Arch, const RowBlock& b) const {
    for (Index t = 0; t < b.rows.rows; ++t)
      add_to<Arch>(b.source(t), o_.table.row(row(b.positions[t])), b.rows.row(t), b.rows.cols);
  }

  static constexpr std::array<std::string_view, 1> gradients{"table"};
  Index gradient_size() const { return static_cast<Index>(o_.table.data.size()); }
  void row_gradient(const RowGradient& g) const {
    for (Index t = 0; t < g.rows.rows; ++t) {
      double* sums = g.sums + row(g.positions[t]) * g.rows.cols;
      for (Index c = 0; c < g.rows.cols; ++c) sums[c] += g.rows.row(t)[c];
    }
  }
  void collect_gradients(double* sums, float* const* tables) const {
    round_gradients(sums, gradient_size(), tables[0]);
  }

 private:
  Index row(double position) const {
    return static_cast<Index>(
        std::min(position + o_.offset, static_cast<double>(o_.table.shape[0] - 1)));
  }

  explicit Learned(Options&& o) : o_(std::move(o)) {}
  Options o_;
};

}  // namespace posenc

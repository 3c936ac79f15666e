// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "posenc/core/tile_gradients.hpp"
#include "posenc/core/waves.hpp"
#include "posenc/encodings/rotary/rotary.hpp"

namespace posenc {

/// RoPE with learned directions: each pair of each head turns with its own mixture of column and
/// row. Heo et al., 2024.
///
///   φ(h, i) = x·frequencies[0, h, i] + y·frequencies[1, h, i]
///
/// Positions are [row, column] as everywhere, so y is the first axis; the table holds x first, as
/// the authors' checkpoints do. plan() cannot show two frequencies per pair: it gives head 0's
/// length of (ωx, ωy), radians per step in the direction in which the pair turns fastest.
class RopeMixed : public EncodingDefaults {
 public:
  struct Options {
    int heads = 0;
    int head_dim = 0;
    Layout layout = Layout::interleaved;
    Table frequencies;
  };
  static constexpr Spec spec{
      .id = "rope-mixed",
      .title = "RoPE-mixed",
      .summary = "2-D RoPE whose pairs turn along learned directions, apart for every head.",
      .formula = "φ(h, i) = x·ωˣ(h, i) + y·ωʸ(h, i)",
      .paper = "Heo et al., 2024",
      .url = "https://arxiv.org/abs/2403.13298",
      .used_by = "RoPE-ViT",
      .sites = {.rotate = true},
      .axes = 2,
      .relative = true};
  using F = FieldOf<Options>;
  static constexpr std::array fields{
      F::integer<&Options::heads>("heads", "Number of attention heads.", 1, 4096).required(4),
      F::integer<&Options::head_dim>("headDim", "Width of one head; even.", 2, 4096)
          .multiple_of(2)
          .required(64),
      F::choice<&Options::layout>("layout", "Which channels pair: (i, i + r/2) or (2i, 2i + 1).",
                                  layout_names),
      F::table<&Options::frequencies>("frequencies",
                                      "Radians per column, then per row [2, heads, headDim / 2].",
                                      Dim::exactly(2), Dim::of("heads"), Dim::half_of("headDim"))
          .required()
          .initialised_by(0.5)};

  static Result<RopeMixed> make(Options&& o) { return RopeMixed(std::move(o)); }

  Index heads() const { return o_.heads; }
  Index head_dim() const { return o_.head_dim; }
  Index table_heads() const { return o_.heads; }
  Status accepts(const Positions& positions) const { return check_real_positions(positions); }

  Rotation rotation() const { return {.layout = o_.layout, .pairs = pairs(), .partner = pairs()}; }

  Plan plan(double, double* frequencies) const {
    for (Index i = 0; i < pairs(); ++i) {
      const double x = along(0, 0)[i], y = along(1, 0)[i];
      frequencies[i] = std::sqrt(x * x + y * y);
    }
    return {.inverse_frequencies = {frequencies, static_cast<std::size_t>(pairs())},
            .rotation = rotation()};
  }

  void angles(const AngleBlock& b) const {
    const float *per_column = along(0, b.head), *per_row = along(1, b.head);
    for (Index t = 0; t < b.positions.count; ++t) {
      const double row = b.positions.axis(0)[t], column = b.positions.axis(1)[t];
      const auto angle = [&](Index i) {
        return column * static_cast<double>(per_column[i]) + row * static_cast<double>(per_row[i]);
      };
      write_cosines_and_sines(pairs(), angle, b.out.row(t), b.out.row(t) + pairs());
    }
  }

  static constexpr std::array<std::string_view, 1> gradients{"frequencies"};
  Index gradient_size() const { return 2 * o_.heads * pairs(); }
  void angle_gradient(const AngleGradient& g) const {
    const bool in_turns = o_.layout == Layout::interleaved;
    const Index step = in_turns ? 2 : 1, partner = in_turns ? 1 : pairs();
    for (Index t = 0; t < g.rows.rows; ++t)
      for (Index i = 0; i < pairs(); ++i) {
        const double by_angle = angle_gradient_of(g, t, i * step, i * step + partner);
        g.sums[g.head * pairs() + i] += by_angle * g.positions.axis(1)[t];
        g.sums[(o_.heads + g.head) * pairs() + i] += by_angle * g.positions.axis(0)[t];
      }
  }
  void collect_gradients(double* sums, float* const* tables) const {
    round_gradients(sums, gradient_size(), tables[0]);
  }

 private:
  explicit RopeMixed(Options&& o) : o_(std::move(o)) {}

  Index pairs() const { return o_.head_dim / 2; }
  const float* along(Index axis, Index head) const {
    return o_.frequencies.data.data() + (axis * o_.heads + head) * pairs();
  }

  Options o_;
};

}  // namespace posenc

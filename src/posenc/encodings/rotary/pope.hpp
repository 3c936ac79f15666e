// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "posenc/core/encoding.hpp"
#include "posenc/core/position_rules.hpp"
#include "posenc/core/powers.hpp"
#include "posenc/core/tile_gradients.hpp"
#include "posenc/core/waves.hpp"

namespace posenc {

/// PoPE, polar coordinates: what a token says is the length of a pair, where it stands the direction.
/// Gopalakrishnan et al., 2025. With ω_c = base^(−c/d), one frequency for each of the d channels:
///
///   q' = softplus(q_c) · (cos mω_c, sin mω_c)      k' = softplus(k_c) · (cos(jω_c + δ), sin(jω_c + δ))
///   q' · k' = Σ_c softplus(q_c) softplus(k_c) cos((m − j)ω_c − δ_hc)
///
/// So no content can turn a pair, as it does in RoPE, where a pair of channels has a direction of its
/// own. Rows grow to 2d: all cosine parts, then all sine parts. δ is learned, one phase per head and
/// channel, and used within [−2π, 0]. Scores are divided by √d all the same.
class Pope : public EncodingDefaults {
 public:
  struct Options {
    int heads = 0;
    int head_dim = 0;
    double base = 10000;
    Table phases;
  };
  static constexpr Spec spec{
      .id = "pope",
      .title = "PoPE",
      .summary =
          "Each channel becomes a vector: its length from the content, its direction from the "
          "position.",
      .formula = "s(m, j) = Σ_c softplus(q_c)·softplus(k_c)·cos((m − j)·base^(−c/d) − δ_c)/√d",
      .paper = "Gopalakrishnan et al., 2025",
      .url = "https://arxiv.org/abs/2509.10534",
      .used_by = "x-transformers",
      .sites = {.rotate = true},
      .relative = true};
  using F = FieldOf<Options>;
  static constexpr std::array fields{
      F::integer<&Options::heads>("heads", "Number of attention heads.", 1, 4096).required(4),
      F::integer<&Options::head_dim>("headDim", "Width of one head; rows become twice as wide.", 1,
                                     2048)
          .required(64),
      F::number<&Options::base>("base", "Theta: the wavelengths span 2 pi to 2 pi base.", 1, 1e15)
          .exclusive_min()
          .logarithmic(),
      F::table<&Options::phases>("phases",
                                 "Learned angles that keys are turned by, used within -2 pi and 0 "
                                 "[heads, headDim]; none when left out.",
                                 Dim::of("heads"), Dim::of("headDim"))
          .initialised_by(1.0)};

  static Result<Pope> make(Options&& o) { return Pope(std::move(o)); }

  Index heads() const { return o_.heads; }
  Index head_dim() const { return o_.head_dim; }
  /// Only phases tell heads apart.
  Index table_heads() const { return o_.phases.empty() ? 1 : o_.heads; }
  Status accepts(const Positions& positions) const { return check_real_positions(positions); }

  Rotation rotation() const {
    return {.pairs = o_.head_dim, .partner = o_.head_dim, .polar = true};
  }

  Plan plan(double, double* frequencies) const {
    for (Index c = 0; c < o_.head_dim; ++c)
      frequencies[c] = power(o_.base, -static_cast<double>(c) / static_cast<double>(o_.head_dim));
    return {.inverse_frequencies = {frequencies, static_cast<std::size_t>(o_.head_dim)},
            .rotation = rotation()};
  }

  void angles(const AngleBlock& b) const {
    plan(b.length, b.scratch);
    const bool turned = b.role == Role::key && !o_.phases.empty();
    for (Index t = 0; t < b.positions.count; ++t) {
      const auto angle = [&](Index c) {
        return b.positions[t] * b.scratch[c] +
               (turned ? static_cast<double>(phase(b.head, c)) : 0.0);
      };
      write_cosines_and_sines(o_.head_dim, angle, b.out.row(t), b.out.row(t) + o_.head_dim);
    }
  }

  static constexpr std::array<std::string_view, 1> gradients{"phases"};
  Index gradient_size() const { return static_cast<Index>(o_.phases.data.size()); }
  /// A phase beyond its limits does not matter.
  void angle_gradient(const AngleGradient& g) const {
    if (g.role == Role::query || o_.phases.empty()) return;
    for (Index c = 0; c < o_.head_dim; ++c)
      if (phase(g.head, c) == o_.phases.row(g.head)[c])
        for (Index t = 0; t < g.rows.rows; ++t)
          g.sums[g.head * o_.head_dim + c] += angle_gradient_of(g, t, c, o_.head_dim + c);
  }
  void collect_gradients(double* sums, float* const* tables) const {
    round_gradients(sums, gradient_size(), tables[0]);
  }

 private:
  explicit Pope(Options&& o) : o_(std::move(o)) {}

  float phase(Index head, Index channel) const {
    return std::clamp(o_.phases.row(head)[channel], static_cast<float>(-2 * std::numbers::pi),
                      0.0f);
  }
  Options o_;
};

}  // namespace posenc

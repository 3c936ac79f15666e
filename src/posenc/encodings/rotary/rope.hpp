// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "posenc/encodings/rotary/rotary.hpp"

namespace posenc {

/// Rotary position embedding: pair i of q and k turns by position * base^(-2i/r), so q·k depends on
/// the distance alone. Su et al., 2021. The exponent's denominator is the rotary width r, not the
/// head width; channels from r on pass through. Values are never rotated.
struct RopeSchedule : ScheduleDefaults {
  using Options = RotaryOptions;
  static constexpr Spec spec{
      .id = "rope",
      .title = "RoPE",
      .summary = "Rotates pairs of query and key channels by angles proportional to position.",
      .formula = "(a, b) ← (a cos φ − b sin φ, b cos φ + a sin φ), φ = p·base^(−2i/r)",
      .paper = "Su et al., 2021",
      .url = "https://arxiv.org/abs/2104.09864",
      .used_by = "Llama, Mistral, Qwen, Gemma, GPT-NeoX, GPT-J",
      .sites = {.rotate = true},
      .relative = true};
  static constexpr auto fields = rotary_fields<Options>();

  RopeSchedule(const Options& o, Index rotary_dim, double) : base(o.base), rotary_dim(rotary_dim) {}
  template <class Real>
  Real frequency(Index pair) const {
    return rotary_frequency<Real>(base, rotary_dim, pair);
  }

  double base;
  Index rotary_dim;
};
using Rope = Rotary<RopeSchedule>;

}  // namespace posenc

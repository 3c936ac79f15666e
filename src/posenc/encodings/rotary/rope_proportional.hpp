// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "posenc/encodings/rotary/rotary.hpp"

namespace posenc {

struct RopeProportionalOptions : RotaryOptions {
  double fraction = 1;
  double factor = 1;
};

/// p-RoPE: the fastest fraction p of the pairs rotates, the slow rest carries content alone.
/// Barbero et al., 2024; "proportional" in Gemma 4.
///
///   ωᵢ = base^(−2i/r) / factor for i < ⌊p·r/2⌋, else 0
///
/// Unlike a partial rotary width, the exponent is over the full width r and pairs reach over it, i
/// with i + r/2: the channels that rotate are not a prefix. p = 0.25 at 512 makes 64 pairs, the
/// last at 0.033 rather than 0.0000012.
struct RopeProportionalSchedule : ScheduleDefaults {
  using Options = RopeProportionalOptions;
  static constexpr Spec spec{
      .id = "rope-proportional",
      .title = "RoPE, proportional",
      .summary = "Rotates only the fastest pairs; the slowest, which drift in long texts, stand.",
      .formula = "ωᵢ = base^(−2i/r) / factor for i < ⌊p·r/2⌋, else 0",
      .paper = "Barbero et al., 2024",
      .url = "https://arxiv.org/abs/2410.06205",
      .used_by = "Gemma 4 in its global layers",
      .sites = {.rotate = true},
      .relative = true};
  static constexpr auto fields =
      rotary_fields<Options>(FieldOf<Options>::number<&Options::fraction>(
                                 "fraction", "Part of the pairs that rotate.", 0, 1)
                                 .required(0.25),
                             FieldOf<Options>::number<&Options::factor>(
                                 "factor", "What all rotations are divided by.", 1, 1e6)
                                 .logarithmic());

  RopeProportionalSchedule(const Options& o, Index rotary_dim, double)
      : o(o),
        active(static_cast<Index>(std::floor(o.fraction * static_cast<double>(rotary_dim) / 2))),
        rotary_dim(rotary_dim) {}
  template <class Real>
  Real frequency(Index pair) const {
    if (pair >= active) return 0;
    return rotary_frequency<Real>(o.base, rotary_dim, pair) / static_cast<Real>(o.factor);
  }

  const Options& o;
  Index active, rotary_dim;
};
using RopeProportional = Rotary<RopeProportionalSchedule>;

}  // namespace posenc

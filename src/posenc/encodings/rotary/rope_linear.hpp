// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "posenc/encodings/rotary/rotary.hpp"

namespace posenc {

struct RopeLinearOptions : RotaryOptions {
  double factor = 1;
};

/// Position interpolation: every frequency divided by `factor`, as if position p were p / factor (a
/// real division: 7 / 4 is 1.75, not 1). Chen et al., 2023; kaiokendev, 2023.
struct RopeLinearSchedule : ScheduleDefaults {
  using Options = RopeLinearOptions;
  static constexpr Spec spec{
      .id = "rope-linear",
      .title = "RoPE, linear scaling",
      .summary = "Position interpolation: all rotations slowed by one factor, for longer contexts.",
      .formula = "ωᵢ = base^(−2i/r) / factor",
      .paper = "Chen et al., 2023",
      .url = "https://arxiv.org/abs/2306.15595",
      .used_by = "Gemma 3 in its global layers, deepseek-coder, LongChat",
      .sites = {.rotate = true},
      .relative = true};
  static constexpr auto fields =
      rotary_fields<Options>(FieldOf<Options>::number<&Options::factor>(
                                 "factor", "Extended length / trained length.", 1, 1e6)
                                 .required(4)
                                 .logarithmic());

  RopeLinearSchedule(const Options& o, Index rotary_dim, double)
      : base(o.base), factor(o.factor), rotary_dim(rotary_dim) {}
  template <class Real>
  Real frequency(Index pair) const {
    return rotary_frequency<Real>(base, rotary_dim, pair) / static_cast<Real>(factor);
  }

  double base, factor;
  Index rotary_dim;
};
using RopeLinear = Rotary<RopeLinearSchedule>;

}  // namespace posenc

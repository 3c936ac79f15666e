// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "posenc/core/powers.hpp"
#include "posenc/encodings/rotary/rotary.hpp"

namespace posenc {

struct RopePowerOptions : RotaryOptions {
  double exponent = 0.5;
  double factor = 1;
};

/// Giraffe's power basis: slow rotations are slowed most, fast ones hardly. Pal et al., 2023.
///
///   ωᵢ = fᵢ / factor · (1 − i/n)^k
struct RopePowerSchedule : ScheduleDefaults {
  using Options = RopePowerOptions;
  static constexpr Spec spec{
      .id = "rope-power",
      .title = "RoPE, power scaling",
      .summary = "Slows each rotation by a power of its rank, the slowest most.",
      .formula = "ωᵢ = base^(−2i/r) / factor · (1 − i/n)^k",
      .paper = "Pal et al., 2023",
      .url = "https://arxiv.org/abs/2308.10882",
      .used_by = "experiments of the Giraffe authors",
      .sites = {.rotate = true},
      .relative = true};
  static constexpr auto fields = rotary_fields<Options>(
      FieldOf<Options>::number<&Options::exponent>("exponent", "k; 0 is plain RoPE.", 0, 64)
          .required(0.5),
      FieldOf<Options>::number<&Options::factor>("factor", "Linear scaling, which comes first.", 1,
                                                 1e6)
          .logarithmic());

  RopePowerSchedule(const Options& o, Index rotary_dim, double) : o(o), rotary_dim(rotary_dim) {}
  template <class Real>
  Real frequency(Index pair) const {
    const Real left = Real(1) - static_cast<Real>(2 * pair) / static_cast<Real>(rotary_dim);
    return rotary_frequency<Real>(o.base, rotary_dim, pair) / static_cast<Real>(o.factor) *
           static_cast<Real>(power(left, static_cast<Real>(o.exponent)));
  }

  const Options& o;
  Index rotary_dim;
};
using RopePower = Rotary<RopePowerSchedule>;

}  // namespace posenc

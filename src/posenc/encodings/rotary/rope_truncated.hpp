// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <numbers>

#include "posenc/encodings/rotary/rotary.hpp"

namespace posenc {

struct RopeTruncatedOptions : RotaryOptions {
  int trained_length = 2048;
  std::optional<double> low, high, rho;
  double factor = 1;
};

/// Giraffe's truncated basis: rotations that never come round within the trained length are
/// stopped, so that no unseen angle occurs. Pal et al., 2023. With f'ᵢ = fᵢ / factor:
///
///   f' ≥ high → f'        low ≤ f' < high → rho        f' < low → 0
///
/// From the trained length T: high = 2π/T, low = high/8, rho = high/16, as in the authors' code
/// (rho is below low there). Pairs of frequency 0 carry no position.
struct RopeTruncatedSchedule : ScheduleDefaults {
  using Options = RopeTruncatedOptions;
  static constexpr Spec spec{
      .id = "rope-truncated",
      .title = "RoPE, truncated basis",
      .summary = "Keeps rotations seen in full while training, and slows or stops the others.",
      .formula =
          "ωᵢ = f'ᵢ if f'ᵢ ≥ high, ρ if low ≤ f'ᵢ < high, else 0; f'ᵢ = base^(−2i/r) / factor",
      .paper = "Pal et al., 2023",
      .url = "https://arxiv.org/abs/2308.10882",
      .used_by = "Giraffe",
      .sites = {.rotate = true},
      .relative = true};
  static constexpr auto fields = rotary_fields<Options>(
      FieldOf<Options>::integer<&Options::trained_length>(
          "trainedLength", "Sets low, high and rho where these are not given.", 1, 1e9)
          .logarithmic(),
      FieldOf<Options>::number<&Options::low>("low", "Slower rotations than this stop.", 0, 1e3),
      FieldOf<Options>::number<&Options::high>("high", "Rotations at least so fast stay.", 0, 1e3),
      FieldOf<Options>::number<&Options::rho>("rho", "The frequency of those between.", 0, 1e3),
      FieldOf<Options>::number<&Options::factor>("factor", "Linear scaling, which comes first.", 1,
                                                 1e6)
          .logarithmic());

  RopeTruncatedSchedule(const Options& o, Index rotary_dim, double)
      : o(o),
        high(o.high.value_or(2 * std::numbers::pi / o.trained_length)),
        low(o.low.value_or(high / 8)),
        rho(o.rho.value_or(high / 16)),
        rotary_dim(rotary_dim) {}

  /// The three limits come together, and then in order.
  static Status check(const Options& o, Index) {
    if (!o.low && !o.high && !o.rho) return {};
    for (const auto& [name, value] : {std::pair{"low", o.low}, {"high", o.high}, {"rho", o.rho}})
      if (!value)
        return fault(Errc::missing_option, name, "given, as low, high and rho come together");
    if (*o.low <= *o.high) return {};
    return outside(Errc::out_of_range, "low", "at most high", *o.low, 0, *o.high);
  }
  template <class Real>
  Real frequency(Index pair) const {
    const Real f = rotary_frequency<Real>(o.base, rotary_dim, pair) / static_cast<Real>(o.factor);
    if (f >= static_cast<Real>(high)) return f;
    return f >= static_cast<Real>(low) ? static_cast<Real>(rho) : Real(0);
  }

  const Options& o;
  double high, low, rho;
  Index rotary_dim;
};
using RopeTruncated = Rotary<RopeTruncatedSchedule>;

}  // namespace posenc

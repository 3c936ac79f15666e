// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "posenc/core/powers.hpp"
#include "posenc/encodings/rotary/rotary.hpp"

namespace posenc {

struct XposOptions : RotaryOptions {
  double scale_base = 512;
  double center = 0;
};

/// xPos: RoPE whose queries grow with position and keys shrink alike, so that scores decay with
/// distance. Sun et al., 2022. With ζᵢ = (2i + 0.4 r) / (1.4 r), at position p, for q and k:
///
///   q: cos, sin × ζᵢ^((p − c)/scaleBase)        k: × ζᵢ^(−(p − c)/scaleBase)
///
/// so a pair's product carries ζᵢ^((m − j)/scaleBase). The centre c cancels only if q and k share
/// it: here it is an option, so cached keys stay valid, where references move it with the length.
/// For causal attention: the amplitude grows for keys ahead. The references pair channels
/// interleaved.
struct XposSchedule : ScheduleDefaults {
  using Options = XposOptions;
  static constexpr Spec spec{
      .id = "xpos",
      .title = "xPos",
      .summary = "RoPE with an amplitude that makes scores decay with distance.",
      .formula = "φ = p·base^(−2i/r), amplitude ζᵢ^(±(p−c)/scaleBase), ζᵢ = (2i + 0.4r)/(1.4r)",
      .paper = "Sun et al., 2022",
      .url = "https://arxiv.org/abs/2212.10554",
      .used_by = "RetNet",
      .sites = {.rotate = true},
      .relative = true};
  static constexpr auto fields = rotary_fields<Options>(
      FieldOf<Options>::number<&Options::scale_base>(
          "scaleBase", "Distance over which the first pair decays to 2/7.", 1, 1e9)
          .logarithmic(),
      FieldOf<Options>::number<&Options::center>("center", "Position of amplitude 1.", -1e15,
                                                 1e15));

  XposSchedule(const Options& o, Index rotary_dim, double)
      : o(o), width(static_cast<double>(rotary_dim)), rotary_dim(rotary_dim) {}

  /// Within what float32 holds of the steepest pair's amplitude, 2/7 to the power: 36260 from the
  /// centre by default. Queries overflow on one side and keys on the other.
  static Status accepts(const Options& o, const Positions& positions) {
    if (o.rotary_dim.value_or(o.head_dim) == 0) return {};
    const double reach = o.scale_base *
                         natural_log(static_cast<double>(std::numeric_limits<float>::max())) /
                         natural_log(3.5);
    for (Index i = 0; i < positions.count; ++i)
      if (std::abs(positions[i] - o.center) > reach)
        return Error{.code = Errc::out_of_range,
                     .field = "positions",
                     .expected = "near enough to the centre for float32 to hold the amplitude",
                     .received = positions[i],
                     .index = static_cast<double>(i),
                     .low = o.center - reach,
                     .high = o.center + reach};
    return {};
  }
  template <class Real>
  Real frequency(Index pair) const {
    return rotary_frequency<Real>(o.base, rotary_dim, pair);
  }
  double amplitude(const AngleBlock& b, Index pair, double position) const {
    const double zeta = (2 * static_cast<double>(pair) + 0.4 * width) / (1.4 * width);
    const double exponent = (position - o.center) / o.scale_base;
    return power(zeta, b.role == Role::query ? exponent : -exponent);
  }

  const Options& o;
  double width;
  Index rotary_dim;
};
using Xpos = Rotary<XposSchedule>;

}  // namespace posenc

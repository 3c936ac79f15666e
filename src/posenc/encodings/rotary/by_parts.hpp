// SPDX-License-Identifier: Apache-2.0
/// What NTK-by-parts and YaRN share: fast pairs keep their frequency, slow ones are divided by the
/// factor, and a ramp blends the two in between.
#pragma once

#include <numbers>

#include "posenc/core/powers.hpp"
#include "posenc/encodings/rotary/ntk.hpp"

namespace posenc {

/// What the ramp is linear in.
///   index      the pair's index, between those that turn betaFast and betaSlow times within L:
///              every implementation, and so every published weight
///   rotations  the number of turns itself: the paper. Up to 4 times slower inside the ramp
///   bloc97     two index ramps with their own constants: interpolated, then NTK, then kept
enum class Ramp : std::uint8_t { index, rotations, bloc97 };
inline constexpr std::array<std::string_view, 3> ramp_names{"index", "rotations", "bloc97"};

struct ByPartsOptions : RotaryOptions {
  double factor = 1;
  int original_length = 4096;
  double beta_fast = 32, beta_slow = 1;
  Ramp ramp = Ramp::index;
  double extrapolation_factor = 1;
  bool dynamic = false;
};

/// rope's options, those above, and `own`; `ramps` are the first names that the encoding has.
template <class Options, std::size_t ramps, class... Own>
constexpr auto by_parts_fields(Own... own) {
  using F = FieldOf<Options>;
  return rotary_fields<Options>(
      F::template number<&ByPartsOptions::factor>(
          "factor", "Extended length / trained length; not used when dynamic.", 1, 1e6)
          .required(4)
          .logarithmic(),
      F::template integer<&ByPartsOptions::original_length>(
          "originalLength", "Length the model was trained at before it was extended.", 1, 1e9)
          .required(4096)
          .logarithmic(),
      F::template number<&ByPartsOptions::beta_fast>(
          "betaFast", "Pairs that turn at least so often within originalLength stay.", 0, 1e6)
          .exclusive_min(),
      F::template number<&ByPartsOptions::beta_slow>(
          "betaSlow", "Pairs that turn at most so often are divided by the factor.", 0, 1e6)
          .exclusive_min(),
      F::template choice<&ByPartsOptions::ramp>(
          "ramp", "What the blend is linear in: pair index (all code), or turns (the paper).",
          std::span(ramp_names).template first<ramps>()),
      F::template number<&ByPartsOptions::extrapolation_factor>(
          "extrapolationFactor", "Weight of the kept frequencies; 0 interpolates every pair.", 0,
          1),
      F::template boolean<&ByPartsOptions::dynamic>(
          "dynamic", "Take max(1, length / originalLength) for the factor.")
          .leading_to(LengthPolicy::per_length),
      own...);
}

/// Rises from 0 at pair `low` to 1 at pair `low + width`.
struct IndexRamp {
  double low = 0, width = 1;

  /// From the pair that turns `fast` times within `length` to the one that turns `slow` times.
  static IndexRamp between(double fast, double slow, double length, const RotaryOptions& o,
                           Index rotary_dim, bool truncate) {
    const auto pair_of = [&](double turns) {
      return static_cast<double>(rotary_dim) *
             natural_log(length / (turns * 2 * std::numbers::pi)) / (2 * natural_log(o.base));
    };
    double low = pair_of(fast), high = pair_of(slow);
    if (truncate) low = std::floor(low), high = std::ceil(high);
    // r − 1 and not the last pair n − 1: all implementations have it, and weights depend on it.
    // They do not clamp the other way, and keep (divide) every pair where all are slow (fast).
    const double last = std::max(0.0, static_cast<double>(rotary_dim) - 1);
    low = std::clamp(low, 0.0, last);
    high = std::clamp(high, 0.0, last);
    return {low, high == low ? high + 0.001 - low : high - low};
  }
  template <class Real>
  Real at(Index pair) const {
    return std::clamp((static_cast<Real>(pair) - static_cast<Real>(low)) / static_cast<Real>(width),
                      Real(0), Real(1));
  }
};

struct ByPartsSchedule : ScheduleDefaults {
  ByPartsSchedule(const ByPartsOptions& o, Index rotary_dim, double length, bool truncate)
      : o(o),
        rotary_dim(rotary_dim),
        factor(o.dynamic ? std::max(1.0, length / o.original_length) : o.factor) {
    const auto ramp = [&](double fast, double slow) {
      return IndexRamp::between(fast, slow, o.original_length, o, rotary_dim, truncate);
    };
    if (o.ramp == Ramp::index) {
      keep_to_stretch = ramp(o.beta_fast, o.beta_slow);
    } else if (o.ramp == Ramp::bloc97) {
      stretched_base = ntk_base(o.base, factor, rotary_dim);
      ntk_to_linear = ramp(1.25, 0.75);
      keep_to_stretch = ramp(16, 2);
    }
  }

  static Status check(const ByPartsOptions& o, Index rotary_dim) {
    if (o.ramp == Ramp::bloc97) {
      if (o.beta_fast != 32 || o.beta_slow != 1)
        return fault(Errc::option_not_applicable, o.beta_fast != 32 ? "betaFast" : "betaSlow",
                     "left out, since this ramp has constants of its own",
                     o.beta_fast != 32 ? o.beta_fast : o.beta_slow);
      return check_ntk(o, rotary_dim);
    }
    if (o.beta_fast >= o.beta_slow) return {};
    return fault(Errc::out_of_range, "betaFast", "at least betaSlow; are they exchanged?",
                 o.beta_fast);
  }
  static LengthPolicy length_policy(const ByPartsOptions& o, LengthPolicy declared) {
    return o.dynamic ? LengthPolicy::per_length : declared;
  }

  template <class Real>
  Real frequency(Index pair) const {
    const Real period = rotary_period<Real>(o.base, rotary_dim, pair);
    const Real kept = Real(1) / period;
    Real stretched = Real(1) / (static_cast<Real>(factor) * period);
    if (o.ramp == Ramp::bloc97)
      stretched = blend(rotary_frequency<Real>(stretched_base, rotary_dim, pair), stretched,
                        Real(1) - ntk_to_linear.at<Real>(pair));
    const Real part =
        o.ramp == Ramp::rotations ? part_by_turns(kept) : Real(1) - keep_to_stretch.at<Real>(pair);
    return blend(kept, stretched, part * static_cast<Real>(o.extrapolation_factor));
  }

  /// Exact where the two agree, so that a factor of 1 is plain RoPE to the last bit.
  template <class Real>
  static Real blend(Real kept, Real stretched, Real part_kept) {
    if (kept == stretched) return kept;
    return stretched * (Real(1) - part_kept) + kept * part_kept;
  }
  template <class Real>
  Real part_by_turns(Real frequency) const {
    const Real turns =
        static_cast<Real>(o.original_length) * frequency / static_cast<Real>(2 * std::numbers::pi);
    if (o.beta_fast == o.beta_slow)
      return turns >= static_cast<Real>(o.beta_fast) ? Real(1) : Real(0);
    return std::clamp(
        (turns - static_cast<Real>(o.beta_slow)) / static_cast<Real>(o.beta_fast - o.beta_slow),
        Real(0), Real(1));
  }

  const ByPartsOptions& o;
  Index rotary_dim;
  double factor, stretched_base = 1;
  IndexRamp keep_to_stretch{}, ntk_to_linear{};
};

}  // namespace posenc

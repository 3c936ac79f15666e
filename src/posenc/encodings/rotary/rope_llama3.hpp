// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <numbers>

#include "posenc/encodings/rotary/rotary.hpp"

namespace posenc {

struct RopeLlama3Options : RotaryOptions {
  double factor = 1;
  double low_freq_factor = 1, high_freq_factor = 4;
  int original_length = 8192;
};

/// Llama 3.1's scaling, by the wavelength λᵢ = 2π/fᵢ against the original length L.
///
///   λ < L/high → fᵢ        λ > L/low → fᵢ/s
///   else t = (L/λ − low)/(high − low), ωᵢ = (1−t)·fᵢ/s + t·fᵢ
///
/// With low = high (Llama 4 Scout) the band between holds at most λ = L/low itself, which is kept.
/// GGUF has no such keys: it stores fᵢ/ωᵢ, which rope-longrope takes as its lists.
struct RopeLlama3Schedule : ScheduleDefaults {
  using Options = RopeLlama3Options;
  static constexpr Spec spec{
      .id = "rope-llama3",
      .title = "RoPE, Llama 3 scaling",
      .summary = "Divides rotations longer than the trained context, keeps short ones, blends.",
      .formula = "ωᵢ = (1−t)·fᵢ/s + t·fᵢ, t = clip((L/λᵢ − low)/(high − low), 0, 1)",
      .paper = "Grattafiori et al., 2024",
      .url = "https://arxiv.org/abs/2407.21783",
      .used_by = "Llama 3.1, Llama 3.2, Llama 3.3, Llama 4 Scout",
      .sites = {.rotate = true},
      .relative = true};
  static constexpr auto fields = rotary_fields<Options>(
      FieldOf<Options>::number<&Options::factor>("factor", "What slow rotations are divided by.", 1,
                                                 1e6)
          .required(8)
          .logarithmic(),
      FieldOf<Options>::number<&Options::low_freq_factor>(
          "lowFreqFactor", "Pairs with fewer turns within originalLength are divided.", 0, 1e6)
          .exclusive_min(),
      FieldOf<Options>::number<&Options::high_freq_factor>(
          "highFreqFactor", "Pairs with more turns within originalLength stay.", 0, 1e6)
          .exclusive_min(),
      FieldOf<Options>::integer<&Options::original_length>(
          "originalLength", "Length the model was trained at before it was extended.", 1, 1e9)
          .required(8192)
          .logarithmic());

  RopeLlama3Schedule(const Options& o, Index rotary_dim, double) : o(o), rotary_dim(rotary_dim) {}

  static Status check(const Options& o, Index) {
    if (o.high_freq_factor >= o.low_freq_factor) return {};
    return fault(Errc::out_of_range, "highFreqFactor", "at least lowFreqFactor",
                 o.high_freq_factor);
  }
  template <class Real>
  Real frequency(Index pair) const {
    const Real f = rotary_frequency<Real>(o.base, rotary_dim, pair);
    const Real stretched = f / static_cast<Real>(o.factor);
    const Real wavelength = static_cast<Real>(2 * std::numbers::pi) / f;
    if (wavelength > static_cast<Real>(o.original_length / o.low_freq_factor)) return stretched;
    if (wavelength < static_cast<Real>(o.original_length / o.high_freq_factor)) return f;
    if (o.factor == 1 || o.low_freq_factor == o.high_freq_factor) return f;
    const Real t =
        (static_cast<Real>(o.original_length) / wavelength - static_cast<Real>(o.low_freq_factor)) /
        static_cast<Real>(o.high_freq_factor - o.low_freq_factor);
    return (Real(1) - t) * stretched + t * f;
  }

  const Options& o;
  Index rotary_dim;
};
using RopeLlama3 = Rotary<RopeLlama3Schedule>;

}  // namespace posenc

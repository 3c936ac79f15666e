// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "posenc/core/powers.hpp"
#include "posenc/encodings/rotary/rotary.hpp"

namespace posenc {

struct RopeLongropeOptions : RotaryOptions {
  Buffer<double> short_factor, long_factor;
  int original_length = 4096;
  double factor = 1;
  std::optional<double> attention_factor, frozen_length;
};

/// LongRoPE: a searched divisor for each pair, one list up to the original length L and another
/// beyond. Ding et al., 2024; legacy name "su".
///
///   ωᵢ = fᵢ / longFactorᵢ if length > L, else fᵢ / shortFactorᵢ
///   μ = attentionFactor, else √(1 + ln s / ln L) for s > 1, else 1
///
/// The total number of tokens decides, not a token's position, so crossing L changes every key:
/// cache them unrotated, or pin the choice by `frozenLength`. μ is the same on both sides. Equal
/// lists are explicit divisors at any length, as GGUF's rope_freqs.
struct RopeLongropeSchedule : ScheduleDefaults {
  using Options = RopeLongropeOptions;
  static constexpr Spec spec{
      .id = "rope-longrope",
      .title = "RoPE, LongRoPE",
      .summary = "Divides each rotation by a number of its own, from one of two searched lists.",
      .formula = "ωᵢ = base^(−2i/r) / (length > L ? longFactorᵢ : shortFactorᵢ)",
      .paper = "Ding et al., 2024",
      .url = "https://arxiv.org/abs/2402.13753",
      .used_by = "Phi-3, Phi-3.5, Phi-4-mini, MiniCPM",
      .sites = {.rotate = true},
      .length_policy = LengthPolicy::switched};
  static constexpr auto fields = rotary_fields<Options>(
      FieldOf<Options>::list<&Options::short_factor>("shortFactor",
                                                     "Divisors up to originalLength, one per pair.",
                                                     0, 1e9, Dim::half_of("rotaryDim"))
          .exclusive_min()
          .required(1),
      FieldOf<Options>::list<&Options::long_factor>(
          "longFactor", "Divisors beyond it, one per pair.", 0, 1e9, Dim::half_of("rotaryDim"))
          .exclusive_min()
          .required(4),
      FieldOf<Options>::integer<&Options::original_length>(
          "originalLength", "Up to so many tokens shortFactor holds, beyond it longFactor.", 2, 1e9)
          .required(32)
          .logarithmic(),
      FieldOf<Options>::number<&Options::factor>(
          "factor", "Extended length / originalLength; enters the attention factor alone.", 1, 1e6)
          .required(4)
          .logarithmic(),
      FieldOf<Options>::number<&Options::attention_factor>(
          "attentionFactor", "Multiplies cosine and sine, instead of what follows from the factor.",
          0, 1e3)
          .exclusive_min(),
      FieldOf<Options>::number<&Options::frozen_length>(
          "frozenLength", "Choose the list as if so many tokens had been seen.", 0, 1e15)
          .leading_to(LengthPolicy::fixed));

  RopeLongropeSchedule(const Options& o, Index rotary_dim, double length)
      : o(o),
        divisors(o.frozen_length.value_or(length) > o.original_length ? o.long_factor.data()
                                                                      : o.short_factor.data()),
        rotary_dim(rotary_dim) {}

  static LengthPolicy length_policy(const Options& o, LengthPolicy declared) {
    return o.frozen_length ? LengthPolicy::fixed : declared;
  }
  template <class Real>
  Real frequency(Index pair) const {
    return Real(1) /
           (static_cast<Real>(divisors[pair]) * rotary_period<Real>(o.base, rotary_dim, pair));
  }
  double attention_factor() const {
    if (o.attention_factor) return *o.attention_factor;
    return o.factor <= 1 ? 1
                         : std::sqrt(1 + natural_log(o.factor) / natural_log(o.original_length));
  }

  const Options& o;
  const double* divisors;
  Index rotary_dim;
};
using RopeLongrope = Rotary<RopeLongropeSchedule>;

}  // namespace posenc

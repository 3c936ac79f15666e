// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "posenc/encodings/rotary/ntk.hpp"

namespace posenc {

enum class DynamicVariant : std::uint8_t { hf, linear, qwen };
inline constexpr std::array<std::string_view, 3> dynamic_variant_names{"hf", "linear", "qwen"};

struct RopeDynamicNtkOptions : RotaryOptions {
  double factor = 1;
  int original_length = 2048;
  std::optional<double> frozen_length;
  DynamicVariant variant = DynamicVariant::hf;
};

/// NTK-aware scaling by as much as the number of tokens seen asks for. emozilla, 2023. With the
/// original length L and L' = max(length, L):
///
///   hf      α = s·L'/L − (s−1)                   frequencies of rope-ntk with that α
///   qwen    α = 2^(⌈log₂(L'/L)⌉+1) − 1           likewise; Qwen 1
///   linear  fᵢ · L/L'                            positions squeezed into the trained length
///
/// L is the trained length (`max_position_embeddings`), not a separate original one. Up to L all
/// are plain RoPE. The reference keeps the longest length it has met, so its result depends on
/// earlier calls; here it is a function of the length alone. Keys rotated at one length are stale
/// at another: cache them unrotated, or pin the length by `frozenLength`, as Qwen pins it to the
/// prompt's and vLLM to L · s.
struct RopeDynamicNtkSchedule : ScheduleDefaults {
  using Options = RopeDynamicNtkOptions;
  static constexpr Spec spec{
      .id = "rope-dynamic-ntk",
      .title = "RoPE, dynamic NTK scaling",
      .summary = "Plain RoPE up to the trained length, then a base that grows with the length.",
      .formula = "ωᵢ = (base · α^(r/(r−2)))^(−2i/r), α = s·max(length, L)/L − (s−1)",
      .paper = "emozilla, 2023",
      .url = "https://www.reddit.com/r/LocalLLaMA/comments/14mrgpr/",
      .used_by = "Qwen 1, InternLM 2, early Llama fine-tunes",
      .sites = {.rotate = true},
      .length_policy = LengthPolicy::per_length};
  static constexpr auto fields = rotary_fields<Options>(
      FieldOf<Options>::number<&Options::factor>(
          "factor", "How steeply alpha grows with the length; of variant hf only.", 1, 1e6)
          .required(2)
          .logarithmic(),
      FieldOf<Options>::integer<&Options::original_length>(
          "originalLength", "Trained length: up to here nothing changes.", 1, 1e9)
          .required(32)
          .logarithmic(),
      FieldOf<Options>::number<&Options::frozen_length>(
          "frozenLength", "Act as if so many tokens had been seen, whatever the call.", 0, 1e15)
          .leading_to(LengthPolicy::fixed),
      FieldOf<Options>::choice<&Options::variant>("variant", "How the length enters.",
                                                  dynamic_variant_names));

  RopeDynamicNtkSchedule(const Options& o, Index rotary_dim, double length)
      : base(o.base), rotary_dim(rotary_dim) {
    const double original = o.original_length;
    const double seen = std::max(original, o.frozen_length.value_or(length));
    if (o.variant == DynamicVariant::linear)
      stretch = seen / original;
    else
      base = ntk_base(o.base, alpha(o, seen, original), rotary_dim);
  }

  static Status check(const Options& o, Index rotary_dim) {
    return o.variant == DynamicVariant::linear ? Status{} : check_ntk(o, rotary_dim);
  }
  static LengthPolicy length_policy(const Options& o, LengthPolicy declared) {
    return o.frozen_length ? LengthPolicy::fixed : declared;
  }
  template <class Real>
  Real frequency(Index pair) const {
    return rotary_frequency<Real>(base, rotary_dim, pair) / static_cast<Real>(stretch);
  }

  static double alpha(const Options& o, double seen, double original) {
    if (o.variant == DynamicVariant::hf) return o.factor * seen / original - (o.factor - 1);
    // The next power of two by its exponent: a logarithm may round across the step at 2^k.
    int doublings = 0;
    const double fraction = std::frexp(seen / original, &doublings);
    if (fraction == 0.5) --doublings;
    return std::ldexp(2.0, doublings) - 1;
  }

  double base, stretch = 1;
  Index rotary_dim;
};
using RopeDynamicNtk = Rotary<RopeDynamicNtkSchedule>;

}  // namespace posenc

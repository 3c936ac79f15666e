// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "posenc/core/powers.hpp"
#include "posenc/encodings/rotary/ntk.hpp"

namespace posenc {

enum class NtkVariant : std::uint8_t { fixed, mixed };
inline constexpr std::array<std::string_view, 2> ntk_variant_names{"fixed", "mixed"};

struct RopeNtkOptions : RotaryOptions {
  double factor = 1;
  NtkVariant variant = NtkVariant::fixed;
  double exponent = 0.75;
};

/// NTK-aware scaling: slow pairs are stretched, fast ones left nearly alone. bloc97, 2023.
///
///   fixed   ωᵢ = B^(−2i/r), B = base · α^(r/(r−2))           α = factor
///   mixed   ωᵢ = fᵢ · exp(−a (i+1)^b), a = ln α / n^b        b = exponent; Su, 2023
///
/// HunYuan's `alpha` is this α in the fixed form. Mixed also stretches the first pair a little; its
/// reference has α = 12 and sharpens queries by log n besides.
struct RopeNtkSchedule : ScheduleDefaults {
  using Options = RopeNtkOptions;
  static constexpr Spec spec{
      .id = "rope-ntk",
      .title = "RoPE, NTK-aware scaling",
      .summary = "Raises the base so that slow rotations stretch by the factor and fast ones stay.",
      .formula = "ωᵢ = (base · α^(r/(r−2)))^(−2i/r); mixed: fᵢ · exp(−ln α · ((i+1)/n)^b)",
      .paper = "bloc97, 2023; Su, 2023",
      .url = "https://www.reddit.com/r/LocalLLaMA/comments/14lz7j5/",
      .used_by = "HunYuan (as alpha), ExLlama",
      .sites = {.rotate = true},
      .relative = true};
  static constexpr auto fields = rotary_fields<Options>(
      FieldOf<Options>::number<&Options::factor>(
          "factor", "Alpha: what the slowest rotation is divided by.", 1, 1e6)
          .required(4)
          .logarithmic(),
      FieldOf<Options>::choice<&Options::variant>(
          "variant", "A new base, or Su's NTK-RoPE-mixed, which slows every pair.",
          ntk_variant_names),
      FieldOf<Options>::number<&Options::exponent>(
          "exponent", "Mixed only: how the slowing is spread over the pairs.", 0, 16));

  RopeNtkSchedule(const Options& o, Index rotary_dim, double)
      : o(o),
        base(o.variant == NtkVariant::fixed ? ntk_base(o.base, o.factor, rotary_dim) : o.base),
        rotary_dim(rotary_dim) {}

  static Status check(const Options& o, Index rotary_dim) {
    return o.variant == NtkVariant::fixed ? check_ntk(o, rotary_dim) : Status{};
  }
  template <class Real>
  Real frequency(Index pair) const {
    const Real f = rotary_frequency<Real>(base, rotary_dim, pair);
    if (o.variant == NtkVariant::fixed) return f;
    const double part = 2 * static_cast<double>(pair + 1) / static_cast<double>(rotary_dim);
    return f * static_cast<Real>(exponential(-natural_log(o.factor) * power(part, o.exponent)));
  }

  const Options& o;
  double base;
  Index rotary_dim;
};
using RopeNtk = Rotary<RopeNtkSchedule>;

}  // namespace posenc

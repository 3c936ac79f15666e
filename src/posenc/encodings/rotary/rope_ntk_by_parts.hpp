// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "posenc/encodings/rotary/by_parts.hpp"

namespace posenc {

struct RopeNtkByPartsOptions : ByPartsOptions {};

/// NTK-by-parts: a pair's fate depends on how often it turns within the trained length L. bloc97,
/// 2023; Peng et al., 2023. With cᵦ = r·ln(L/(2πβ)) / (2 ln base), low = max(⌊c(betaFast)⌋, 0) and
/// high = min(⌈c(betaSlow)⌉, r−1):
///
///   index      t = clip((i − low)/(high − low), 0, 1), ωᵢ = t·fᵢ/s + (1−t)·fᵢ
///   rotations  γ = clip((L fᵢ/2π − betaSlow)/(betaFast − betaSlow), 0, 1), ωᵢ = (1−γ)·fᵢ/s + γ·fᵢ
///   bloc97     fᵢ/s to NTK over c(0.75)…c(1.25), then that to fᵢ over c(2)…c(16)
///
/// The paper says `rotations`, all code has `index`. Equal betas make a step. YaRN is this and a
/// temperature: rope-yarn.
struct RopeNtkByPartsSchedule : ByPartsSchedule {
  using Options = RopeNtkByPartsOptions;
  static constexpr Spec spec{
      .id = "rope-ntk-by-parts",
      .title = "RoPE, NTK-by-parts scaling",
      .summary = "Keeps fast rotations, divides slow ones by the factor, blends those between.",
      .formula = "ωᵢ = t·fᵢ/s + (1−t)·fᵢ, t = clip((i−low)/(high−low), 0, 1)",
      .paper = "bloc97, 2023; Peng et al., 2023",
      .url = "https://arxiv.org/abs/2309.00071",
      .used_by = "YaRN's authors before YaRN",
      .sites = {.rotate = true},
      .relative = true};
  static constexpr auto fields = by_parts_fields<Options, 3>();

  RopeNtkByPartsSchedule(const Options& o, Index rotary_dim, double length)
      : ByPartsSchedule(o, rotary_dim, length, true) {}
};
using RopeNtkByParts = Rotary<RopeNtkByPartsSchedule>;

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
/// The table of cosines and sines that every frequency schedule fills, compiled once for all.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "posenc/core/encoding.hpp"

namespace posenc {

/// exact   angle = position * frequency and its sine in float64, rounded once to float32
/// hf_f32  frequency, product, cosine and sine in float32, as Hugging Face transformers computes
///         them: 7.7e-3 off at position 131072, but what published logits were made with
enum class Precision : std::uint8_t { exact, hf_f32 };
inline constexpr std::array<std::string_view, 2> precision_names{"exact", "hf-f32"};

/// What a schedule does its own way; null where it does as ScheduleDefaults say.
struct AngleRules {
  const void* schedule = nullptr;
  Index (*axis)(const void*, Index pair) = nullptr;
  double (*coordinate)(const void*, const AngleBlock&, Index axis, double position) = nullptr;
  double (*amplitude)(const void*, const AngleBlock&, Index pair, double position) = nullptr;
};

void fill_angles(const AngleBlock& block, const Plan& plan, Precision precision,
                 const AngleRules& rules);

}  // namespace posenc

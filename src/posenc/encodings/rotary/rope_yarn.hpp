// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "posenc/core/powers.hpp"
#include "posenc/encodings/rotary/by_parts.hpp"

namespace posenc {

struct RopeYarnOptions : ByPartsOptions {
  std::optional<double> attention_factor, mscale, mscale_all_dim;
  bool truncate = true;
  bool scale_logits = false;
};

/// YaRN: the frequencies of rope-ntk-by-parts and a temperature. Peng et al., 2023.
///
///   g(s, m) = 1 + 0.1·m·ln s for s > 1, else 1
///   μ = attentionFactor, else g(s, mscale) / g(s, mscaleAllDim) if both are given and not 0, else
///   g(s, 1)
///
/// μ multiplies cosine and sine of q and of k, so rotated scores grow by μ² and those of channels
/// that do not rotate stay. DeepSeek has μ = 1 and scales the whole score by g(s, mscaleAllDim)²
/// instead: `scaleLogits`. gpt-oss blends between fractional indices: `truncate` false. Dynamic
/// takes max(1, length / originalLength) for s at each call, as in the authors' repository; keys
/// must then be cached unrotated.
struct RopeYarnSchedule : ByPartsSchedule {
  using Options = RopeYarnOptions;
  static constexpr Spec spec{
      .id = "rope-yarn",
      .title = "RoPE, YaRN",
      .summary = "NTK-by-parts and a temperature that sharpens the softmax of longer contexts.",
      .formula = "ωᵢ = t·fᵢ/s + (1−t)·fᵢ, cos and sin × μ, μ = 1 + 0.1 ln s",
      .paper = "Peng et al., 2023",
      .url = "https://arxiv.org/abs/2309.00071",
      .used_by = "Qwen 2.5 and 3, DeepSeek V2 and V3, gpt-oss, Kimi K2, YaRN Llama 2",
      .sites = {.rotate = true},
      .relative = true};
  static constexpr auto fields = by_parts_fields<Options, 2>(
      FieldOf<Options>::number<&Options::attention_factor>(
          "attentionFactor", "Multiplies cosine and sine, instead of what follows from the factor.",
          0, 1e3)
          .exclusive_min(),
      FieldOf<Options>::number<&Options::mscale>(
          "mscale", "With mscaleAllDim: numerator of the attention factor. 0 is as if absent.", 0,
          1e3),
      FieldOf<Options>::number<&Options::mscale_all_dim>(
          "mscaleAllDim", "Denominator of the attention factor, and DeepSeek's scale of scores.", 0,
          1e3),
      FieldOf<Options>::boolean<&Options::truncate>(
          "truncate", "Round the ends of the ramp outwards to whole pairs."),
      FieldOf<Options>::boolean<&Options::scale_logits>(
          "scaleLogits", "Multiply all scores by g(factor, mscaleAllDim)², as DeepSeek does."));

  RopeYarnSchedule(const Options& o, Index rotary_dim, double length)
      : ByPartsSchedule(o, rotary_dim, length, o.truncate), yarn(o) {}

  static Status check(const Options& o, Index rotary_dim) {
    if (Status s = ByPartsSchedule::check(o, rotary_dim); !s) return s;
    if (o.scale_logits && !o.mscale_all_dim)
      return fault(Errc::missing_option, "mscaleAllDim", "given together with scaleLogits");
    if (o.scale_logits && o.dynamic)
      return fault(Errc::option_not_applicable, "scaleLogits",
                   "false when dynamic, since one scale serves all lengths");
    return {};
  }
  static double logit_scale(const Options& o) {
    const double g = o.scale_logits ? temperature(o.factor, *o.mscale_all_dim) : 1;
    return g * g;
  }
  double attention_factor() const {
    if (yarn.attention_factor) return *yarn.attention_factor;
    const double above = yarn.mscale.value_or(0), below = yarn.mscale_all_dim.value_or(0);
    if (above == 0 || below == 0) return temperature(factor, 1);
    return temperature(factor, above) / temperature(factor, below);
  }
  static double temperature(double factor, double mscale) {
    return factor <= 1 ? 1 : 0.1 * mscale * natural_log(factor) + 1;
  }

  const Options& yarn;
};
using RopeYarn = Rotary<RopeYarnSchedule>;

}  // namespace posenc

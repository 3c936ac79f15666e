// SPDX-License-Identifier: Apache-2.0
/// Attention over keys that were split: the parts put together again through their log-sum-exps.
#pragma once

#include <span>

#include "posenc/attention/arguments.hpp"

namespace posenc {

/// What attention over some of the keys gave.
struct PartialResult {
  Tensor4<const float> output;  ///< [B, H, T, width]
  const float* log_sum_exp;     ///< [B, H, T]
};

/// out = sum_i exp(l_i - l) out_i with l = ln sum_i exp(l_i). A part that saw nothing (l_i of
/// -infinity) adds nothing, whatever it holds; where all saw nothing, the row is 0 and l -infinity.
/// `sinks` [H], or null, are logits of the whole: the parts are then computed without. The outputs
/// may be those of a part. Float64 inside, so that the order of many parts does not show.
void merge(std::span<const PartialResult> parts, const AttentionShape& shape, const float* sinks,
           Tensor4<float> output, float* log_sum_exp);

}  // namespace posenc

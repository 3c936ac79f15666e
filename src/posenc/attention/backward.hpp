// SPDX-License-Identifier: Apache-2.0
/// What the backward pass of attention is asked to do.
#pragma once

#include "posenc/attention/arguments.hpp"

namespace posenc {

/// What attention_backward is asked to do.
struct BackwardArguments {
  /// As the forward pass was called. `output` and `log_sum_exp` are what it gave, and are read.
  AttentionArguments forward{};
  Tensor4<const float> output_gradient{};
  Tensor4<float> q_gradient{}, k_gradient{}, v_gradient{};
  float* sink_gradient = nullptr;  ///< [H], or null
  float* mask_gradient = nullptr;  ///< laid out as forward.mask, starts from 0; or null
  /// Of the learned options: for each encoding in turn, one for each of its gradients(), in the
  /// shape of the option and null where it is not wanted or was not given.
  std::span<float* const> tables{};
  bool accumulates = false;  ///< gradients of keys and values are added: sequences may share them
};

/// Errors: those of `check`, UNSUPPORTED for an encoding without a way back, those of positions, and
/// OUT_OF_MEMORY; nothing is written then. What a hidden key holds reaches no gradient; the gradients
/// of hidden pairs are 0.
Status attention_backward(const BackwardArguments& arguments);

}  // namespace posenc

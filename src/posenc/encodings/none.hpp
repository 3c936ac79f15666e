// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "posenc/core/encoding.hpp"

namespace posenc {

/// No positional encoding (NoPE): a decoder still tells order apart through its causal mask; without
/// a mask the layer is permutation-equivariant. Kazemnejad et al., 2023.
class None : public EncodingDefaults {
 public:
  struct Options {};
  static constexpr Spec spec{
      .id = "none",
      .title = "No encoding",
      .summary = "Nothing is added; only a causal mask tells the order of tokens.",
      .formula = "s(m, j) = qₘ·kⱼ",
      .paper = "Kazemnejad et al., 2023",
      .url = "https://arxiv.org/abs/2305.19466",
      .used_by = "SmolLM3 and Llama 4 in some layers",
      .relative = true};
  static constexpr std::array<Field, 0> fields{};

  static Result<None> make(Options) { return None{}; }
};

}  // namespace posenc

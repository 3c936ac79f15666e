// SPDX-License-Identifier: Apache-2.0
/// The normalisation of queries and keys, head by head.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "posenc/core/view.hpp"

namespace posenc {

struct HeadNorm {
  enum class Kind : std::uint8_t {
    none,
    rms,  ///< x / sqrt(mean x^2 + epsilon)
    l2,   ///< x / max(|x|, epsilon)
  };
  Kind kind = Kind::none;
  const float* weight = nullptr;  ///< [D], or [heads, D]; null: 1
  Index weight_heads = 1;         ///< rows of it
  double epsilon = 1e-6;
  bool after_rotation = false;

  constexpr bool before() const { return kind != Kind::none && !after_rotation; }
  constexpr bool after() const { return kind != Kind::none && after_rotation; }

  /// In place, for one row of a head. Float64 throughout and rounded once: the square of a float32
  /// need not fit one, and T (D + 1) such steps are nothing beside T S D.
  void apply(float* row, Index width, Index head) const {
    double sum = 0;
    for (Index c = 0; c < width; ++c) sum += static_cast<double>(row[c]) * row[c];
    const double size = kind == Kind::rms ? std::sqrt(sum / static_cast<double>(width) + epsilon)
                                          : std::max(std::sqrt(sum), epsilon);
    const double factor = size == 0 ? 0.0 : 1 / size;
    const float* w = weight == nullptr ? nullptr : weight + (weight_heads > 1 ? head * width : 0);
    for (Index c = 0; c < width; ++c)
      row[c] = static_cast<float>(row[c] * factor * (w == nullptr ? 1.0 : w[c]));
  }
};

}  // namespace posenc

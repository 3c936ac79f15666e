// SPDX-License-Identifier: Apache-2.0
/// The normalisation of queries and keys, head by head.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "posenc/core/lanes.hpp"

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
    const double factor = factor_of(row, width);
    const float* w = weights_of(head, width);
    for (Index c = 0; c < width; ++c)
      row[c] = static_cast<float>(row[c] * factor * (w == nullptr ? 1.0 : w[c]));
  }

  /// The way back: turns the gradient of a normalised row into that of `row`, and adds to those of the
  /// weights, laid out as they are; null is not wanted. A gradient of 0 stays 0 whatever the row holds.
  POSENC_COLD void pull_back(const float* row, float* gradient, Index width, Index head,
                             double* weight_sums) const {
    if (std::all_of(gradient, gradient + width, [](float by) { return by == 0; })) return;
    const double factor = factor_of(row, width);
    const float* w = weights_of(head, width);
    double along = 0;  // of the gradient and the row
    for (Index c = 0; c < width; ++c) {
      const double by = static_cast<double>(gradient[c]) * row[c];
      along += by * (w == nullptr ? 1.0 : w[c]);
      if (weight_sums != nullptr)
        weight_sums[(weight_heads > 1 ? head * width : 0) + c] += by * factor;
    }
    // A factor that is bounded does not depend on the row.
    const double bend = kind == Kind::rms               ? along / static_cast<double>(width)
                        : factor * epsilon >= 1 - 1e-12 ? 0
                                                        : along;
    for (Index c = 0; c < width; ++c)
      gradient[c] = static_cast<float>(factor * gradient[c] * (w == nullptr ? 1.0 : w[c]) -
                                       factor * factor * factor * bend * row[c]);
  }

 private:
  double factor_of(const float* row, Index width) const {
    double sum = 0;
    for (Index c = 0; c < width; ++c) sum += static_cast<double>(row[c]) * row[c];
    const double size = kind == Kind::rms ? std::sqrt(sum / static_cast<double>(width) + epsilon)
                                          : std::max(std::sqrt(sum), epsilon);
    return size == 0 ? 0.0 : 1 / size;
  }
  const float* weights_of(Index head, Index width) const {
    return weight == nullptr ? nullptr : weight + (weight_heads > 1 ? head * width : 0);
  }
};

}  // namespace posenc

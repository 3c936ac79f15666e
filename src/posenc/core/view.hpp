// SPDX-License-Identifier: Apache-2.0
/// Views: memory somebody else owns, with its shape. Letters used in every comment of the library:
/// B batch, H query heads, G key/value heads, T queries, S keys, D head width, E embedding width.
#pragma once

#include <cstddef>

namespace posenc {

/// Counts and offsets. 32 bits wide in WebAssembly, where no object is larger than 2^31 - 1 bytes.
using Index = std::ptrdiff_t;

/// Rows of floats: row-major, `stride` elements from one row to the next.
template <class T>
struct View2 {
  T* data = nullptr;
  Index rows = 0, cols = 0, stride = 0;

  constexpr T* row(Index i) const { return data + i * stride; }
  constexpr View2 slice(Index first, Index count) const {
    return {data + first * stride, count, cols, stride};
  }
  constexpr operator View2<const T>() const { return {data, rows, cols, stride}; }  // NOLINT
};

/// Where tokens are: one float64 coordinate per token and axis, [axes][count]. Float64 holds every
/// integer to 2^53 and the fractional positions of interpolation.
struct Positions {
  const double* data = nullptr;
  Index count = 0;
  Index axes = 1;
  Index axis_stride = 0;     ///< elements from one axis to the next
  bool consecutive = false;  ///< each position is the one before it plus 1 (on every axis)

  /// Looks once whether the positions are consecutive: biases then need no per-element distance.
  static Positions of(const double* data, Index count, Index axes = 1) {
    return of(data, count, axes, count);
  }
  static Positions of(const double* data, Index count, Index axes, Index axis_stride) {
    Positions made{data, count, axes, axis_stride, true};
    for (Index a = 0; a < axes && made.consecutive; ++a)
      for (Index i = 1; i < count; ++i)
        if (made.axis(a)[i] - made.axis(a)[i - 1] != 1) {  // near 2^53 a sum would round
          made.consecutive = false;
          break;
        }
    return made;
  }
  constexpr double operator[](Index i) const { return data[i]; }
  constexpr const double* axis(Index a) const { return data + a * axis_stride; }
  constexpr Positions slice(Index first, Index n) const {
    return {data + first, n, axes, axis_stride, consecutive};
  }
};

}  // namespace posenc

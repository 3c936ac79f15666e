// SPDX-License-Identifier: Apache-2.0
/// Rows of float32 into what a cache stores: as they are, as halves, or as bytes with a scale.
#pragma once

#include <cmath>

#include "posenc/attention/arguments.hpp"
#include "posenc/core/half.hpp"

namespace posenc {

/// The greatest magnitude becomes 127, so one row is off by at most 1/254 of its greatest element. A
/// row of zeros has the scale 0. Elements are finite.
inline float store_bytes(const float* row, Index width, std::int8_t* out) {
  float greatest = 0;
  for (Index c = 0; c < width; ++c) greatest = std::max(greatest, std::abs(row[c]));
  if (greatest == 0) {
    std::fill_n(out, width, std::int8_t{0});
    return 0;
  }
  const float scale = greatest / 127;
  // A greatest element below 127 subnormals leaves no scale to divide by.
  const float inverse = scale > 0 ? 1 / scale : 0.0f;
  for (Index c = 0; c < width; ++c)
    out[c] = static_cast<std::int8_t>(
        std::clamp(std::nearbyint(std::isfinite(inverse) ? row[c] * inverse : row[c] / scale),
                   -127.0f, 127.0f));
  return scale;
}

/// Stores one row at row `at` of the block that begins at `data`, and its scale where it has one.
inline void store_row(Dtype dtype, const float* row, Index width, std::byte* data, float* scales,
                      Index at) {
  switch (dtype) {
    case Dtype::f32:
      std::copy_n(row, width, reinterpret_cast<float*>(data) + at * width);
      break;
    case Dtype::f16: {
      auto* out = reinterpret_cast<std::uint16_t*>(data) + at * width;
      for (Index c = 0; c < width; ++c) out[c] = to_half(row[c]);
      break;
    }
    case Dtype::i8:
      scales[at] = store_bytes(row, width, reinterpret_cast<std::int8_t*>(data) + at * width);
      break;
  }
}

}  // namespace posenc

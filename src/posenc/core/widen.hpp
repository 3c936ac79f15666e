// SPDX-License-Identifier: Apache-2.0
/// What a cache stores back to float32. Plain loops, which compilers turn into vectors: xsimd has no
/// loads that widen.
#pragma once

#include <bit>
#include <cstdint>

#include "posenc/core/half.hpp"
#include "posenc/core/lanes.hpp"

// Four vectors in a turn of a loop share its steps and its end: 1.2 times as fast in V8.
#if defined(__clang__)
#define POSENC_FOUR_VECTORS _Pragma("clang loop interleave_count(4)")
#define POSENC_NO_VECTORS _Pragma("clang loop vectorize(disable) unroll(disable)")
#else
#define POSENC_FOUR_VECTORS
#define POSENC_NO_VECTORS
#endif

namespace posenc {

/// Halves, every one of which is a float32. Four operations for numbers; infinities and NaN need four
/// more, so the loop only looks whether there were any.
template <class Arch>
void widen_halves(const std::uint16_t* from, Index count, float* to) {
  std::uint32_t special = 0;
  POSENC_FOUR_VECTORS
  for (Index i = 0; i < count; ++i) {
    // Shifted, the sign stands in the upper four bits and the exponent is 112 too small, which
    // multiplying mends for subnormals too.
    const auto bits = static_cast<std::uint32_t>(std::int32_t{std::bit_cast<std::int16_t>(from[i])})
                          << 13 &
                      0x8fffffffu;
    special |= bits + 0x00800000u;  // carries into bit 28 from the greatest exponent
    to[i] = std::bit_cast<float>(bits) * 0x1p112f;
  }
  if ((special & 0x10000000u) == 0) return;
  POSENC_NO_VECTORS
  for (Index i = 0; i < count; ++i) to[i] = from_half(from[i]);
}

/// Bytes times their scale.
template <class Arch>
void widen_bytes(const std::int8_t* from, float scale, Index count, float* to) {
  POSENC_FOUR_VECTORS
  for (Index i = 0; i < count; ++i) to[i] = scale * static_cast<float>(from[i]);
}

POSENC_KERNEL(void widen_halves<xsimd::default_arch>(const std::uint16_t*, Index, float*));
POSENC_KERNEL(void widen_bytes<xsimd::default_arch>(const std::int8_t*, float, Index, float*));

}  // namespace posenc

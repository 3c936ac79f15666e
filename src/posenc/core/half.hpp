// SPDX-License-Identifier: Apache-2.0
/// Numbers of 16 bits (IEEE binary16): 1 sign, 5 exponent and 10 fraction bits.
#pragma once

#include <bit>
#include <cstdint>

namespace posenc {

/// To the nearest, ties to even; below 2^-24 that is a subnormal or 0, from 65520 on infinity. NaN
/// stays NaN.
inline std::uint16_t to_half(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  const std::uint32_t size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (size >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (size < 0x38800000u) {
    // Adding 0.5 puts the last bit of a float32 where a subnormal half has its own, 2^-24: the
    // addition rounds.
    const float shifted = std::bit_cast<float>(size) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  // Half of the last kept bit, less one, and that bit itself: ties go to even.
  const std::uint32_t rounded = size + 0xfffu + (size >> 13 & 1u);
  return static_cast<std::uint16_t>(sign | (rounded - 0x38000000u) >> 13);
}

/// Every one of them is a float32. No branches, so that a loop of these is vectorised.
inline float from_half(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16, size = (half & 0x7fffu) << 13;
  // The exponent is 112 too small; multiplying mends that for subnormals too.
  const float scaled = std::bit_cast<float>(size) * 0x1p112f;
  const std::uint32_t special = size >= 0x0f800000u ? 0x7f800000u : 0u;  // infinity or NaN
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special | sign);
}

}  // namespace posenc

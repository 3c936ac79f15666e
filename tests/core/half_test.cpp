// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/half.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "posenc/core/widen.hpp"
#include "reference/numbers.hpp"

namespace posenc {
namespace {

using reference::Array;

/// From the definition: sign, exponent, fraction.
double value_of(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double fraction = static_cast<double>(bits & 1023);
  const double size = exponent == 31  ? (fraction == 0 ? INFINITY : std::nan(""))
                      : exponent == 0 ? std::ldexp(fraction, -24)
                                      : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000u) != 0 ? -size : size;
}

TEST(Half, ReadsEveryOneOfThem) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float got = from_half(half);
    if (std::isnan(value_of(bits))) {
      EXPECT_TRUE(std::isnan(got) && std::isnan(from_half(to_half(got)))) << bits;
    } else {
      EXPECT_EQ(got, value_of(bits)) << bits;
      EXPECT_EQ(std::signbit(got), (bits & 0x8000u) != 0);
      EXPECT_EQ(to_half(got), half) << bits;
    }
  }
}

/// In rows of 9 with nothing but numbers, and with infinities and NaN among them.
TEST(Half, WidensRowsAsEachAlone) {
  constexpr Index width = 9;
  Array<std::uint16_t> halves(width);
  Array<float> wide(width + 1, 7.0f);
  for (std::uint32_t first = 0; first < 0x10000; first += 5) {
    for (Index i = 0; i < width; ++i)
      halves[i] = static_cast<std::uint16_t>(first + static_cast<std::uint32_t>(i));
    widen_halves<xsimd::default_arch>(halves.data(), width, wide.data());
    for (Index i = 0; i < width; ++i)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]),
                std::bit_cast<std::uint32_t>(from_half(halves[i])))
          << first << " + " << i;
  }
  EXPECT_EQ(wide[width], 7);
}

TEST(Half, RoundsToTheNearestAndTiesToEven) {
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const double low = value_of(bits), high = bits == 0x7bff ? 65536 : value_of(bits + 1);
    const auto middle = static_cast<float>((low + high) / 2);  // exact: 12 bits
    const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    for (float sign : {1.0f, -1.0f}) {
      const std::uint32_t s = sign < 0 ? 0x8000u : 0u;
      EXPECT_EQ(to_half(sign * middle), even | s) << bits;
      EXPECT_EQ(to_half(sign * std::nextafter(middle, 0.0f)), bits | s) << bits;
      EXPECT_EQ(to_half(sign * std::nextafter(middle, 1e9f)), (bits + 1) | s) << bits;
    }
  }
}

}  // namespace
}  // namespace posenc

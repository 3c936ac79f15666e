// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/quarter_turns.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>

namespace posenc {
namespace {

__extension__ using Wide = unsigned __int128;

/// 2/pi behind 64 bits before the point: as much of it as the exponents of float64 reach. Both libm
/// and xsimd do this for more kinds of numbers, with 2.7 KB of digits or 5 KB of code.
constexpr std::uint64_t two_over_pi[]{
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

}  // namespace

QuarterTurns quarter_turns(double angle) {
  // The angle is m 2^e.
  const auto bits = std::bit_cast<std::uint64_t>(angle);
  const int e = static_cast<int>(bits >> 52) - 1075;
  if (e > 971) return {0, std::numeric_limits<double>::quiet_NaN()};
  const std::uint64_t m = (bits & ((std::uint64_t{1} << 52) - 1)) | (std::uint64_t{1} << 52);
  // Bits of 2/pi above 2^(2 - e) make multiples of 4. Of the 192 below them the product with m has two
  // before the point; what comes after those is 2^-137 of a quarter turn, and no float64 is nearer than
  // 2^-62 to a whole one.
  const auto first = static_cast<std::size_t>(e + 62);
  const auto word = [&](std::size_t i) {
    const std::uint64_t* at = two_over_pi + first / 64 + i;
    const std::size_t shift = first % 64;
    return shift == 0 ? at[0] : at[0] << shift | at[1] >> (64 - shift);
  };
  const Wide low = Wide{m} * word(2), middle = Wide{m} * word(1) + (low >> 64);
  const Wide product = (Wide{m * word(0)} << 64) + middle;
  int count = static_cast<int>(product >> 126);
  Wide fraction = product << 2 | static_cast<std::uint64_t>(low) >> 62;
  const bool above_half = fraction >> 127 != 0;
  if (above_half) {
    ++count;
    fraction = -fraction;
  }
  const double rest = static_cast<double>(static_cast<std::uint64_t>(fraction >> 64)) * 0x1p-64 +
                      static_cast<double>(static_cast<std::uint64_t>(fraction)) * 0x1p-128;
  return {count & 3, (above_half ? -rest : rest) * (std::numbers::pi / 2)};
}

}  // namespace posenc

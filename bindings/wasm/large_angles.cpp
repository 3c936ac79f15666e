// SPDX-License-Identifier: Apache-2.0
// What sin and cos of Emscripten's libc ask for where an angle is too large for three parts of pi/2.
// Theirs brings the digits of 2/pi for numbers of 128 bits, 2.7 KB where doubles need 148 bytes. The
// signature is that of musl (src/math/__rem_pio2_large.c); the method is Payne and Hanek's, 1983: only
// those digits of 2/pi that decide about the remainder take part in the product.
#include <cstdint>

#include "pairs.hpp"

namespace {

/// 2/pi in words of 32 bits, behind two that stand before the point: up to 2^1024 no digit after them
/// matters.
constexpr std::uint32_t two_over_pi[]{
    0,          0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041,
    0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
    0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b,
    0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d,
    0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046};
/// Words of the product: the units, then 224 bits of fraction, of which a double that is next to a
/// multiple of pi/2 leaves 160 - 62.
constexpr int words = 8;

}  // namespace

extern "C" {

/// x = sum of parts[i] 2^(e0 - 24 i), of 24 bits each; at most 53 bits in all, the first of them set.
/// Returns the multiple of pi/2 next to x, modulo 8, and in y the rest, the second number where
/// `precision` is not 0 what the first leaves.
int __rem_pio2_large(double* parts, double* y, int e0, int count, int precision) {
  std::uint64_t mantissa = static_cast<std::uint64_t>(parts[0]) << 29;
  if (count > 1) mantissa |= static_cast<std::uint64_t>(parts[1]) << 5;
  if (count > 2) mantissa |= static_cast<std::uint64_t>(parts[2]) >> 19;
  // x = mantissa 2^exponent, with exponent + 32 = 32 first + shift. Words of 2/pi before the first
  // give multiples of 8 and more.
  const int exponent = e0 - 29, first = (exponent + 32) / 32, shift = (exponent + 32) % 32;
  const std::uint64_t low = (mantissa & 0xffffffff) << shift, high = (mantissa >> 32) << shift;
  const std::uint64_t factors[]{low & 0xffffffff, (low >> 32) + (high & 0xffffffff), high >> 32};
  std::uint64_t product[words]{};
  for (int f = 0; f < 3; ++f) {
    std::uint64_t carry = 0;
    for (int i = words - 1; i >= f; --i) {
      carry += factors[f] * two_over_pi[first + i] + product[i - f];
      product[i - f] = carry & 0xffffffff;
      carry >>= 32;
    }
  }
  const bool above = product[1] >> 31 != 0;
  // From the least word up, so that each sum leaves its error exactly.
  double sum = 0, error = 0, scale = 0x1p-224;
  for (int i = words - 1; i > 0; --i, scale *= 0x1p32) {
    const double word = scale * static_cast<double>(above ? product[i] ^ 0xffffffff : product[i]);
    const double next = word + sum;
    error += sum - (next - word);
    sum = next;
  }
  // pi/2 in two parts; beyond the middle to the next multiple, the rest is that of the complement.
  const Pair rest = Pair{sum, error} * Pair{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
  y[0] = above ? -rest.hi : rest.hi;
  if (precision != 0) y[1] = above ? -rest.lo : rest.lo;
  return (static_cast<int>(product[0]) + above) & 7;
}

}  // extern "C"

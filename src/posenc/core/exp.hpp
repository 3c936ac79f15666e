// SPDX-License-Identifier: Apache-2.0
/// The exponential of the softmax, and what is made of it.
#pragma once

#include <cstdint>

#include "posenc/core/lanes.hpp"

namespace posenc {

/// e^x for x <= 0, with an error below 1.5 ulp; below -87.33 (2^-126) it is 0; NaN stays NaN.
/// Half the work of a general exp: no overflow to guard, no gradual underflow to keep, since a
/// weight below 1e-38 of the largest cannot change a float32 sum.
template <class Arch>
inline xsimd::batch<float, Arch> exp_nonpositive(xsimd::batch<float, Arch> x) {
  using V = xsimd::batch<float, Arch>;
  // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits: no conversion needed.
  const V magic(12582912.0f);
  const V shifted = multiply_add<Arch>(x, V(1.44269504f), magic);
  const V n = shifted - magic;
  // ln 2 in two parts: n times the first is exact for |n| < 2^8.
  V r = multiply_add<Arch>(n, V(-0.693359375f), x);
  r = multiply_add<Arch>(n, V(2.12194440e-4f), r);
  // e^r = 1 + r + r^2 p(r) on |r| <= ln(2)/2. p interpolates at Chebyshev nodes: 1.1e-8 relative.
  V p = multiply_add<Arch>(V(1.3926184e-3f), r, V(8.36317893e-3f));
  p = multiply_add<Arch>(p, r, V(4.16665561e-2f));
  p = multiply_add<Arch>(p, r, V(1.66665763e-1f));
  p = multiply_add<Arch>(p, r, V(0.5f));
  p = multiply_add<Arch>(p, r * r, r) + V(1.0f);
  // Unsigned, since below the cutoff the exponent wraps; those lanes are not selected.
  const auto exponent = (xsimd::bitwise_cast<std::uint32_t>(shifted) << 23) +
                        xsimd::batch<std::uint32_t, Arch>(std::uint32_t{127} << 23);
  return xsimd::select(x < V(-87.33f), V(0.0f), p * xsimd::bitwise_cast<float>(exponent));
}

/// ln(1 + e^x), with an error below 4 ulp; NaN stays NaN.
template <class Arch>
inline xsimd::batch<float, Arch> softplus(xsimd::batch<float, Arch> x) {
  using V = xsimd::batch<float, Arch>;
  // = max(x, 0) + ln(1 + u) with u = e^-|x| <= 1, and ln(1 + u) = 2 artanh(z) with z = u/(2 + u) <=
  // 1/3, a series in z^2 whose terms fall ninefold: what is left out is below 2e-9 of it.
  const V u = exp_nonpositive<Arch>(-xsimd::abs(x));
  const V z = u / (u + V(2.0f));
  const V square = z * z;
  V p = multiply_add<Arch>(V(1.0f / 15), square, V(1.0f / 13));
  for (float odd : {11.0f, 9.0f, 7.0f, 5.0f, 3.0f, 1.0f})
    p = multiply_add<Arch>(p, square, V(1 / odd));
  return multiply_add<Arch>(z + z, p, xsimd::select(x > V(0.0f), x, V(0.0f)));
}

}  // namespace posenc

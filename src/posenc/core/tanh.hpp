// SPDX-License-Identifier: Apache-2.0
/// The hyperbolic tangent of the soft cap.
#pragma once

#include "posenc/core/exp.hpp"

namespace posenc {

/// tanh x with an error below 1.5 ulp (1.4567 is the worst of all float32, tests/core/tanh_test.cpp);
/// infinities give +-1, NaN stays NaN.
template <class Arch>
inline xsimd::batch<float, Arch> tanh(xsimd::batch<float, Arch> x) {
  using V = xsimd::batch<float, Arch>;
  const V size = xsimd::abs(x);
  // Near 0 the difference below would lose the digits of x: x + x^3 p(x^2) up to 0.625, where p
  // interpolates at Chebyshev nodes: 1.7e-8 relative.
  const V square = x * x;
  V p = multiply_add<Arch>(V(-6.09671418e-3f), square, V(2.09971797e-2f));
  p = multiply_add<Arch>(p, square, V(-5.38509078e-2f));
  p = multiply_add<Arch>(p, square, V(1.33327693e-1f));
  p = multiply_add<Arch>(p, square, V(-3.33333284e-1f));
  const V near = multiply_add<Arch>(p * square, x, x);
  // 1 - 2e / (1 + e) with e = exp(-2|x|) below 0.29: what e is off by is halved and more.
  const V e = exp_nonpositive<Arch>(size * V(-2.0f));
  const V far = V(1.0f) - (e + e) / (V(1.0f) + e);
  return xsimd::select(size < V(0.625f), near, xsimd::copysign(far, x));
}

/// scores[j] becomes cap · tanh(scores[j] / cap), for n floats.
template <class Arch>
void soft_cap(float cap, float* scores, Index n) {
  const xsimd::batch<float, Arch> bound(cap);
  for_each_vector<Arch>(n, [&](Index j, auto io) {
    io.store(bound * tanh<Arch>(io.load(scores + j) / bound), scores + j);
  });
}

POSENC_KERNEL(void soft_cap<xsimd::default_arch>(float, float*, Index));

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
/// Loops over vectors: whole ones, then one padded copy for the tail. No kernel has a scalar twin,
/// so body and tail round alike, and nothing reads or writes past the end.
#pragma once

#include <xsimd/xsimd.hpp>

#include "posenc/core/machine.hpp"
#include "posenc/core/view.hpp"

// V8 11.3 runs a 4x2 register tile at 42 GFLOP/s and the same tile unrolled by 2 along k at 30: the
// unrolled body spills. LLVM unrolls by itself unless told not to.
#if defined(__clang__)
#define POSENC_DO_NOT_UNROLL _Pragma("clang loop unroll(disable)")
#elif defined(__GNUC__)
#define POSENC_DO_NOT_UNROLL _Pragma("GCC unroll 1")
#else
#define POSENC_DO_NOT_UNROLL
#endif

// The kernels of attention and rotation, for this machine's width. Where the build compiles their
// callers for size (POSENC_KERNELS_APART) they are instantiated in kernels.cpp alone.
#if !defined(POSENC_KERNELS_APART)
#define POSENC_KERNEL(...) static_assert(true)
#elif defined(POSENC_DEFINE_KERNELS)
#define POSENC_KERNEL(...) template __VA_ARGS__
#else
#define POSENC_KERNEL(...) extern template __VA_ARGS__
#endif

// For functions whose work is O((T + S) D) beside kernels of O(T S D): compiled for size.
#if defined(__GNUC__)
#define POSENC_COLD [[gnu::cold]]
#else
#define POSENC_COLD
#endif

// For the body of an inner loop, whose accumulators leave the registers where it is called.
#if defined(__GNUC__)
#define POSENC_INLINE __attribute__((always_inline))
#else
#define POSENC_INLINE
#endif

namespace posenc {

template <class Arch>
inline constexpr Index lanes = static_cast<Index>(xsimd::batch<float, Arch>::size);

/// Loads and stores whole vectors in place.
template <class Arch>
struct WholeVector {
  using V = xsimd::batch<float, Arch>;
  V load(const float* from) const { return V::load_unaligned(from); }
  void store(const V& value, float* to) const { value.store_unaligned(to); }
};

/// The same for the last `count` < lanes elements, through a padded copy; the padding reads as 0.
template <class Arch>
struct PartVector {
  using V = xsimd::batch<float, Arch>;
  Index count;
  V load(const float* from) const {
    alignas(V) float copy[static_cast<std::size_t>(lanes<Arch>)] = {};
    for (Index i = 0; i < count; ++i) copy[i] = from[i];
    return V::load_aligned(copy);
  }
  void store(const V& value, float* to) const {
    alignas(V) float copy[static_cast<std::size_t>(lanes<Arch>)];
    value.store_aligned(copy);
    for (Index i = 0; i < count; ++i) to[i] = copy[i];
  }
};

/// Calls `f(offset, io)` for each vector of `n` floats; `io` loads and stores at any address.
template <class Arch, class F>
inline void for_each_vector(Index n, F&& f) {
  // The index of the loop does not live on: V8 would keep it on the stack for the calls of the rest.
  const Index whole = n - n % lanes<Arch>;
  for (Index i = 0; i < whole; i += lanes<Arch>) f(i, WholeVector<Arch>{});
  if (whole < n) f(whole, PartVector<Arch>{n - whole});
}

/// 0, 1, 2, … as floats.
template <class Arch>
inline xsimd::batch<float, Arch> iota() {
  alignas(xsimd::batch<float, Arch>) float steps[static_cast<std::size_t>(lanes<Arch>)];
  for (Index i = 0; i < lanes<Arch>; ++i) steps[i] = static_cast<float>(i);
  return xsimd::batch<float, Arch>::load_aligned(steps);
}

/// y += a * x, for n floats.
template <class Arch>
inline void add_scaled(float a, const float* x, float* y, Index n) {
  const xsimd::batch<float, Arch> factor(a);
  for_each_vector<Arch>(n, [&](Index i, auto io) {
    io.store(multiply_add<Arch>(factor, io.load(x + i), io.load(y + i)), y + i);
  });
}

/// to = x + y, for n floats; `to` may be either.
template <class Arch>
void add_to(const float* x, const float* y, float* to, Index n) {
  using V = xsimd::batch<float, Arch>;
  // Four vectors are loaded before one is stored, by pointers: a table of 33 MB is added in 0.95 of the
  // time. By an index it takes as long as one at a time, since LLVM 19 makes every address anew.
  constexpr Index together = 4, step = together * lanes<Arch>;
  const Index rest = n % step;
  const float* const end = x + (n - rest);
  POSENC_DO_NOT_UNROLL
  for (; x != end; x += step, y += step, to += step) {
    V sums[together];
    for (Index v = 0; v < together; ++v)
      sums[v] = V::load_unaligned(x + v * lanes<Arch>) + V::load_unaligned(y + v * lanes<Arch>);
    for (Index v = 0; v < together; ++v) sums[v].store_unaligned(to + v * lanes<Arch>);
  }
  for_each_vector<Arch>(
      rest, [&](Index i, auto io) { io.store(io.load(x + i) + io.load(y + i), to + i); });
}

/// to = a * x, for n floats; `to` may be x.
template <class Arch>
void scale_to(const float* x, float a, float* to, Index n) {
  const xsimd::batch<float, Arch> factor(a);
  for_each_vector<Arch>(n, [&](Index i, auto io) { io.store(io.load(x + i) * factor, to + i); });
}

/// The inner product of n floats.
template <class Arch>
inline float dot(const float* x, const float* y, Index n) {
  xsimd::batch<float, Arch> sum(0.0f);
  for_each_vector<Arch>(
      n, [&](Index i, auto io) { sum = multiply_add<Arch>(io.load(x + i), io.load(y + i), sum); });
  return xsimd::reduce_add(sum);
}

POSENC_KERNEL(void add_to<xsimd::default_arch>(const float*, const float*, float*, Index));
POSENC_KERNEL(void scale_to<xsimd::default_arch>(const float*, float, float*, Index));

}  // namespace posenc

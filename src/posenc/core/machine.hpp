// SPDX-License-Identifier: Apache-2.0
/// What compilers do not find by themselves: the only kernels written in a machine's own instructions.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <xsimd/xsimd.hpp>

#ifdef __wasm_simd128__
#include <wasm_simd128.h>
#endif

namespace posenc {

/// Whether a product and a sum round once and not twice. Only a build made for it does: which of the two
/// a relaxed instruction does is up to the machine it runs on.
#ifdef __wasm_relaxed_simd__
inline constexpr bool fuses = true;
#else
inline constexpr bool fuses = false;
#endif

/// The same of instruction sets that are only ever chosen to be fast: the kernels of posenc/wide.
template <class Arch>
inline constexpr bool fuses_at =
    std::is_base_of_v<xsimd::avx2, Arch> || std::is_base_of_v<xsimd::fma3<xsimd::avx2>, Arch> ||
    std::is_base_of_v<xsimd::avx512f, Arch>;

/// `a * b + c`, the one place where a build may choose to fuse it. xsimd's own fma fuses on some
/// architectures and not on others, and its scalar form always does: different bits.
template <class Arch>
inline xsimd::batch<float, Arch> multiply_add(xsimd::batch<float, Arch> a,
                                              xsimd::batch<float, Arch> b,
                                              xsimd::batch<float, Arch> c) {
#ifdef __wasm_relaxed_simd__
  if constexpr (std::same_as<Arch, xsimd::wasm>) return wasm_f32x4_relaxed_madd(a, b, c);
#endif
  if constexpr (fuses_at<Arch>)
    return xsimd::fma(a, b, c);
  else
    return a * b + c;
}

/// Rounds two vectors of float64 to float32, one behind the other.
template <class Arch>
inline void store_rounded(xsimd::batch<double, Arch> first, xsimd::batch<double, Arch> second,
                          float* to) {
#ifdef __wasm_simd128__
  if constexpr (std::same_as<Arch, xsimd::wasm>) {
    // Three instructions; LLVM 19 makes twelve of the loop below, lane by lane.
    wasm_v128_store(to, wasm_i64x2_shuffle(wasm_f32x4_demote_f64x2_zero(first),
                                           wasm_f32x4_demote_f64x2_zero(second), 0, 2));
    return;
  }
#endif
  constexpr std::size_t width = xsimd::batch<double, Arch>::size;
  alignas(xsimd::batch<double, Arch>) double lane[2 * width];
  first.store_aligned(lane);
  second.store_aligned(lane + width);
  for (std::size_t i = 0; i < 2 * width; ++i) to[i] = static_cast<float>(lane[i]);
}

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
/// The matrix product of attention and of content terms, four rows by two vectors at a time.
///
/// A panel holds `panel_width` columns interleaved: [depth][panel_width]. One step of the inner
/// loop loads one line of a panel and broadcasts one element of each row, so nothing is shuffled;
/// in WebAssembly broadcast loads reach 41 GFLOP/s where load-and-shuffle reaches 32.
#pragma once

#include "posenc/core/lanes.hpp"

namespace posenc {

/// 4 rows x 2 vectors: 8 accumulators, 2 panel loads and a broadcast fit the 16 registers that x64
/// gives WebAssembly SIMD. 6 x 2 and 4 x 3 spill there and fall from 42 to 29 GFLOP/s.
inline constexpr Index tile_rows = 4;
inline constexpr Index tile_vectors = 2;
template <class Arch>
inline constexpr Index panel_width = tile_vectors * lanes<Arch>;

constexpr Index round_up(Index n, Index multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

/// acc[tile_rows][panel_width] = a[tile_rows][depth] · panel[depth][panel_width].
template <class Arch>
struct RegisterTile {
  using V = xsimd::batch<float, Arch>;
  V acc[tile_rows][tile_vectors];

  /// `Step` is the distance from one line of the panel to the next.
  template <Index Step = panel_width<Arch>>
  static RegisterTile product(const float* a, Index a_stride, const float* panel, Index depth) {
    RegisterTile t;
    for (auto& row : t.acc)
      for (V& sum : row) sum = V(0.0f);
    POSENC_DO_NOT_UNROLL
    for (Index k = 0; k < depth; ++k) {
      const V b0 = V::load_aligned(panel), b1 = V::load_aligned(panel + lanes<Arch>);
      for (Index r = 0; r < tile_rows; ++r) {
        const V x(a[r * a_stride + k]);
        t.acc[r][0] = multiply_add<Arch>(x, b0, t.acc[r][0]);
        t.acc[r][1] = multiply_add<Arch>(x, b1, t.acc[r][1]);
      }
      panel += Step;
    }
    return t;
  }
  void store(float* c, Index c_stride) const {
    for (Index r = 0; r < tile_rows; ++r)
      for (Index v = 0; v < tile_vectors; ++v)
        acc[r][v].store_unaligned(c + r * c_stride + v * lanes<Arch>);
  }
  void add_to(float* c, Index c_stride) const {
    for (Index r = 0; r < tile_rows; ++r)
      for (Index v = 0; v < tile_vectors; ++v) {
        float* at = c + r * c_stride + v * lanes<Arch>;
        (V::load_unaligned(at) + acc[r][v]).store_unaligned(at);
      }
  }
};

}  // namespace posenc

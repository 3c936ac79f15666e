// SPDX-License-Identifier: Apache-2.0
/// The matrix product of attention and of content terms: a few rows by a few vectors at a time, whose
/// sums stay in registers.
///
/// A panel holds the columns of a tile interleaved: [depth][width]. One step of the inner loop loads
/// one line of a panel and broadcasts one element of each row, so nothing is shuffled; in WebAssembly
/// broadcast loads reach 41 GFLOP/s where load-and-shuffle reaches 32.
#pragma once

#include <numeric>

#include "posenc/core/lanes.hpp"

namespace posenc {

constexpr Index round_up(Index n, Index multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

/// Blocks of rows are padded with zeros to whole groups of so many, whatever the tile, so that what
/// encodings are given and ask for does not depend on the architecture.
inline constexpr Index row_group = 4;

/// Sums of a register tile: rows by vectors.
struct TileShape {
  Index rows = row_group, vectors = 2;
};

/// The tile of attention's two products on each architecture. Every sum goes over its terms in order, so
/// no choice changes a bit of a result whose panels divide a tile of keys (128). A shape must meet two
/// bounds:
///
///   registers  rows · vectors sums + a line of `vectors` + 1 broadcast fit what the architecture has,
///              or one more where an operand comes from memory; beyond that sums go to memory at every
///              step (AVX2: 6 × 2 needs 15 of 16 and reaches 96 GFLOP/s, 8 × 2 needs 19 and reaches 59);
///   latency    rows · vectors sums are in flight at once, at least the cycles of a multiply-add times
///              how many begin in one: 4 · 2 = 8 on Zen 3, on Skylake, and on Zen 4 at 256 bits.
///
///   architecture   registers   shape   of them used   sums in flight
///   WebAssembly        16      4 × 2        11              8         what V8 gives on x64
///   SSE2               16      3 × 4        17             12
///   AVX2               16      6 × 2        15             12
///   AVX-512            32      4 × 2        11              8         Zen 4 begins one in a cycle
///   NEON               32      4 × 2        11              8         not measured
///
/// `./run bench --tiles` measures the shapes; docs/performance.md keeps what they reached.
template <class Arch>
constexpr TileShape product_tile() {
  if constexpr (std::is_base_of_v<xsimd::avx512f, Arch>)
    return {4, 2};
  else if constexpr (std::is_base_of_v<xsimd::avx2, Arch>)
    return {6, 2};
  else if constexpr (std::is_base_of_v<xsimd::sse2, Arch>)
    return {3, 4};
  else
    return {4, 2};
}
template <class Arch>
inline constexpr TileShape tile_of = product_tile<Arch>();

template <class Arch, TileShape Shape = tile_of<Arch>>
inline constexpr Index panel_width = Shape.vectors * lanes<Arch>;

/// How many rows the tile at `row` of a block of `rows` has, padding included.
template <TileShape Shape>
constexpr Index rows_at(Index row, Index rows) {
  if constexpr (Shape.rows == row_group)
    return row_group;
  else
    return std::min(Shape.rows, round_up(rows, row_group) - row);
}

/// Calls f<Rows>() for a tile of `rows` rows: Shape.rows, or fewer at the end of a block of whole groups,
/// of which only those are compiled that can be left over.
template <TileShape Shape, Index Rows = Shape.rows, class F>
POSENC_INLINE inline void with_rows(Index rows, F&& f) {
  constexpr Index step = std::gcd(row_group, Shape.rows);
  if constexpr (Rows <= step) {
    f.template operator()<Rows>();
  } else {
    if (rows == Rows)
      f.template operator()<Rows>();
    else
      with_rows<Shape, Rows - step>(rows, f);
  }
}

/// acc[Rows][Vectors · lanes] = a[Rows][depth] · panel[depth][Vectors · lanes].
template <class Arch, Index Rows, Index Vectors>
struct RegisterTile {
  using V = xsimd::batch<float, Arch>;
  V acc[Rows][Vectors];

  /// `Step` is the distance from one line of the panel to the next.
  template <Index Step = Vectors * lanes<Arch>>
  static RegisterTile product(const float* a, Index a_stride, const float* panel, Index depth) {
    RegisterTile t;
    for (auto& row : t.acc)
      for (V& sum : row) sum = V(0.0f);
    POSENC_DO_NOT_UNROLL
    for (Index k = 0; k < depth; ++k) {
      V line[Vectors];
      for (Index v = 0; v < Vectors; ++v) line[v] = V::load_aligned(panel + v * lanes<Arch>);
      for (Index r = 0; r < Rows; ++r) {
        const V x(a[r * a_stride + k]);
        for (Index v = 0; v < Vectors; ++v)
          t.acc[r][v] = multiply_add<Arch>(x, line[v], t.acc[r][v]);
      }
      panel += Step;
    }
    return t;
  }
  void store(float* c, Index c_stride) const {
    for (Index r = 0; r < Rows; ++r)
      for (Index v = 0; v < Vectors; ++v)
        acc[r][v].store_unaligned(c + r * c_stride + v * lanes<Arch>);
  }
  void add_to(float* c, Index c_stride) const {
    for (Index r = 0; r < Rows; ++r)
      for (Index v = 0; v < Vectors; ++v) {
        float* at = c + r * c_stride + v * lanes<Arch>;
        (V::load_unaligned(at) + acc[r][v]).store_unaligned(at);
      }
  }
};

}  // namespace posenc

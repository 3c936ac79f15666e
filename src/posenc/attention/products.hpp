// SPDX-License-Identifier: Apache-2.0
/// The packing that the two matrix products of attention read from: panels as register_tile.hpp
/// describes them, of keys by columns and of values by column blocks.
#pragma once

#include <algorithm>

#include "posenc/core/register_tile.hpp"

namespace posenc {

/// Packs key rows [n, depth] as columns: panels[n / panel_width][depth][panel_width], the last one
/// padded with zeros. `first` must be a multiple of panel_width.
template <class Arch, TileShape Shape = tile_of<Arch>>
void pack_columns(const float* rows, Index stride, Index n, Index depth, float* panels,
                  Index first) {
  constexpr Index width = panel_width<Arch, Shape>;
  using V = xsimd::batch<float, Arch>;
  for (Index i = 0; i < n; i += width) {
    float* panel = panels + (first + i) * depth;
    const Index filled = std::min(width, n - i);
    Index whole = 0;
    if constexpr (lanes<Arch> == 4) {
      if (filled == width) whole = depth / lanes<Arch> * lanes<Arch>;
      for (Index k = 0; k < whole; k += lanes<Arch>)
        for (Index c = 0; c < width; c += lanes<Arch>) {
          V square[static_cast<std::size_t>(lanes<Arch>)];
          for (Index v = 0; v < lanes<Arch>; ++v)
            square[v] = V::load_unaligned(rows + (i + c + v) * stride + k);
          xsimd::transpose(square, square + lanes<Arch>);
          for (Index v = 0; v < lanes<Arch>; ++v)
            square[v].store_unaligned(panel + (k + v) * width + c);
        }
    }
    for (Index c = 0; c < filled; ++c)
      for (Index k = whole; k < depth; ++k) panel[k * width + c] = rows[(i + c) * stride + k];
    for (Index c = filled; c < width; ++c)
      for (Index k = 0; k < depth; ++k) panel[k * width + c] = 0.0f;
  }
}

/// Packs value rows [n, depth] by column blocks: panels[depth / panel_width][capacity][panel_width],
/// the last block padded with zeros. Returns whether every value is finite.
template <class Arch, TileShape Shape = tile_of<Arch>>
bool pack_rows(const float* rows, Index stride, Index n, Index depth, float* panels, Index capacity,
               Index first) {
  constexpr Index width = panel_width<Arch, Shape>;
  using V = xsimd::batch<float, Arch>;
  V residue(0.0f);  // x * 0 is 0 for finite x and NaN for the rest
  for (Index c = 0; c < depth; c += width) {
    float* panel = panels + c * capacity + first * width;
    const Index filled = std::min(width, depth - c);
    for (Index i = 0; i < n; ++i) {
      const float* from = rows + i * stride + c;
      float* line = panel + i * width;
      if (filled < width) {
        std::copy_n(from, filled, line);
        std::fill(line + filled, line + width, 0.0f);
        from = line;
      }
      // Copied here where a whole line is: a call for each 32 bytes took 3 % of 512 tokens.
      for (Index v = 0; v < Shape.vectors; ++v) {
        const V values = V::load_unaligned(from + v * lanes<Arch>);
        values.store_unaligned(line + v * lanes<Arch>);
        residue += values * V(0.0f);
      }
    }
  }
  return xsimd::reduce_add(residue) == 0.0f;
}

/// out[r][first .. last) = a[r] · column for Shape.rows rows, where pack_columns filled `panels`; columns
/// around those may be written, as whole panels are.
template <class Arch, TileShape Shape = tile_of<Arch>>
void multiply_columns(const float* a, Index a_stride, const float* panels, Index depth, Index first,
                      Index last, float* out, Index out_stride) {
  constexpr Index width = panel_width<Arch, Shape>;
  for (Index j = first / width * width; j < last; j += width)
    RegisterTile<Arch, Shape.rows, Shape.vectors>::product(a, a_stride, panels + j * depth, depth)
        .store(out + j, out_stride);
}

/// The same for a tile of `rows` rows, as rows_at tells.
template <class Arch, TileShape Shape = tile_of<Arch>>
POSENC_INLINE inline void multiply_columns(Index rows, const float* a, Index a_stride,
                                           const float* panels, Index depth, Index first,
                                           Index last, float* out, Index out_stride) {
  if constexpr (Shape.rows == row_group)
    multiply_columns<Arch, Shape>(a, a_stride, panels, depth, first, last, out, out_stride);
  else
    with_rows<Shape>(rows, [&]<Index Rows>() {
      multiply_columns<Arch, TileShape{Rows, Shape.vectors}>(a, a_stride, panels, depth, first,
                                                             last, out, out_stride);
    });
}

/// What add_product does for the tile of Shape.rows rows at row r.
template <class Arch, TileShape Shape>
POSENC_INLINE inline void add_tile(const View2<const float>& a, Index r, const float* panels,
                                   Index capacity, Index depth, bool finite,
                                   const View2<float>& out) {
  constexpr Index width = panel_width<Arch, Shape>;
  for (Index c = 0; c < out.cols; c += width) {
    const float* panel = panels + c * capacity;
    if (finite) {
      RegisterTile<Arch, Shape.rows, Shape.vectors>::product(a.row(r), a.stride, panel, depth)
          .add_to(out.row(r) + c, out.stride);
      continue;
    }
    for (Index i = r; i < r + Shape.rows; ++i)
      for (Index k = 0; k < depth; ++k)
        if (a.row(i)[k] != 0)
          add_scaled<Arch>(a.row(i)[k], panel + k * width, out.row(i) + c, width);
  }
}

/// out[r] += sum over i < depth of a[r][i] times line i of `panels`, which pack_rows filled. Rows come
/// in whole groups. Where the lines are not all finite, those that meet a 0 are left out: 0 is what
/// hidden pairs have, and NaN times it would spread.
template <class Arch, TileShape Shape = tile_of<Arch>>
void add_product(View2<const float> a, const float* panels, Index capacity, Index depth,
                 bool finite, View2<float> out) {
  for (Index r = 0; r < a.rows; r += Shape.rows) {
    if constexpr (Shape.rows == row_group)
      add_tile<Arch, Shape>(a, r, panels, capacity, depth, finite, out);
    else
      with_rows<Shape>(std::min(Shape.rows, a.rows - r), [&]<Index Rows>() {
        add_tile<Arch, TileShape{Rows, Shape.vectors}>(a, r, panels, capacity, depth, finite, out);
      });
  }
}

POSENC_KERNEL(void pack_columns<xsimd::default_arch>(const float*, Index, Index, Index, float*,
                                                     Index));
POSENC_KERNEL(bool pack_rows<xsimd::default_arch>(const float*, Index, Index, Index, float*, Index,
                                                  Index));
POSENC_KERNEL(void multiply_columns<xsimd::default_arch>(const float*, Index, const float*, Index,
                                                         Index, Index, float*, Index));
POSENC_KERNEL(void add_product<xsimd::default_arch>(View2<const float>, const float*, Index, Index,
                                                    bool, View2<float>));

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
/// The two products of attention on register tiles of other shapes than the library uses, compiled for
/// each instruction set: tests compare their sums, `./run bench --tiles` their speeds.
#pragma once

#include <span>
#include <string>

#include "posenc/attention/products.hpp"

namespace posenc {

struct ShapedProducts {
  TileShape shape;
  Index width;  ///< columns of a panel
  void (*pack_columns)(View2<const float> keys, float* panels);
  void (*pack_rows)(View2<const float> values, float* panels);
  /// Queries times keys: out[i][0 .. columns) = a[i] · column. Rows come in whole groups.
  void (*multiply)(View2<const float> a, const float* panels, Index columns, View2<float> out);
  /// Weights times values: out[i] += sum over j of a[i][j] times line j.
  void (*add)(View2<const float> a, const float* panels, View2<float> out);

  std::string name() const {
    return std::to_string(shape.rows) + " x " + std::to_string(shape.vectors);
  }
};

template <class Arch, TileShape Shape>
constexpr ShapedProducts shaped_products() {
  return {.shape = Shape,
          .width = panel_width<Arch, Shape>,
          .pack_columns =
              [](View2<const float> keys, float* panels) {
                pack_columns<Arch, Shape>(keys.data, keys.stride, keys.rows, keys.cols, panels, 0);
              },
          .pack_rows =
              [](View2<const float> values, float* panels) {
                pack_rows<Arch, Shape>(values.data, values.stride, values.rows, values.cols, panels,
                                       values.rows, 0);
              },
          .multiply =
              [](View2<const float> a, const float* panels, Index columns, View2<float> out) {
                for (Index i = 0; i < a.rows; i += Shape.rows)
                  multiply_columns<Arch, Shape>(rows_at<Shape>(i, a.rows), a.row(i), a.stride,
                                                panels, a.cols, 0, columns, out.row(i), out.stride);
              },
          .add =
              [](View2<const float> a, const float* panels, View2<float> out) {
                add_product<Arch, Shape>(a, panels, a.cols, a.cols, true, out);
              }};
}

/// The library's own for this architecture first.
template <class Arch>
inline constexpr ShapedProducts shaped_products_of[] = {
    shaped_products<Arch, tile_of<Arch>>(),   shaped_products<Arch, TileShape{4, 2}>(),
    shaped_products<Arch, TileShape{2, 3}>(), shaped_products<Arch, TileShape{2, 4}>(),
    shaped_products<Arch, TileShape{3, 3}>(), shaped_products<Arch, TileShape{3, 4}>(),
    shaped_products<Arch, TileShape{4, 3}>(), shaped_products<Arch, TileShape{4, 4}>(),
    shaped_products<Arch, TileShape{5, 2}>(), shaped_products<Arch, TileShape{6, 2}>(),
    shaped_products<Arch, TileShape{7, 1}>(), shaped_products<Arch, TileShape{8, 2}>(),
    shaped_products<Arch, TileShape{12, 2}>()};

/// Those of a wider instruction set; empty where the build has none.
std::span<const ShapedProducts> wide_shaped_products(std::string_view instruction_set);

/// Those of what the compiler was told to build for.
std::span<const ShapedProducts> baseline_shaped_products();

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
// Compiled once for each wider instruction set, under its name: cmake/dispatch.cmake.
#include "support/tile_shapes.hpp"

namespace posenc::POSENC_WIDE {

extern const std::span<const ShapedProducts> tile_shapes;
const std::span<const ShapedProducts> tile_shapes = shaped_products_of<xsimd::default_arch>;

}  // namespace posenc::POSENC_WIDE

// SPDX-License-Identifier: Apache-2.0
#include "support/tile_shapes.hpp"

namespace posenc {

std::span<const ShapedProducts> baseline_shaped_products() {
  return shaped_products_of<xsimd::default_arch>;
}

#ifdef POSENC_DISPATCH
namespace avx2 {
extern const std::span<const ShapedProducts> tile_shapes;
}
namespace avx512 {
extern const std::span<const ShapedProducts> tile_shapes;
}

std::span<const ShapedProducts> wide_shaped_products(std::string_view instruction_set) {
  return instruction_set == "avx2" ? avx2::tile_shapes : avx512::tile_shapes;
}
#else
std::span<const ShapedProducts> wide_shaped_products(std::string_view) { return {}; }
#endif

}  // namespace posenc

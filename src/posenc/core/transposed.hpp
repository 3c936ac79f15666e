// SPDX-License-Identifier: Apache-2.0
/// Terms that were computed by keys and belong to the rows of queries.
#pragma once

#include "posenc/core/lanes.hpp"

namespace posenc {

/// to[i][j] += factor(i) * from[j][i] for up to one vector of columns j. There are as many rows `from`
/// as a vector has lanes, and each is readable up to a whole vector.
template <class Arch, class Factor>
void add_transposed(const float* from, Index stride, const View2<float>& to, Factor&& factor) {
  using V = xsimd::batch<float, Arch>;
  constexpr Index width = lanes<Arch>;
  for (Index i = 0; i < to.rows; i += width) {
    V square[static_cast<std::size_t>(width)];
    for (Index j = 0; j < width; ++j) square[j] = V::load_unaligned(from + j * stride + i);
    xsimd::transpose(square, square + width);
    for (Index r = 0; r < width && i + r < to.rows; ++r)
      for_each_vector<Arch>(to.cols, [&](Index, auto io) {
        float* const at = to.row(i + r);
        io.store(multiply_add<Arch>(V(factor(i + r)), square[r], io.load(at)), at);
      });
  }
}

}  // namespace posenc

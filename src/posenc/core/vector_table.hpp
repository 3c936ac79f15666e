// SPDX-License-Identifier: Apache-2.0
/// Learned vectors looked up by distance, for content terms: the products of a few rows of queries
/// or keys with all vectors that a tile can reach, on register tiles.
#pragma once

#include <algorithm>

#include "posenc/core/memory.hpp"
#include "posenc/core/register_tile.hpp"

namespace posenc {

/// Vectors in a block [depth][32]: the widest panel of any instruction set, and narrower ones are
/// parts of it.
inline constexpr Index vectors_in_block = 32;

/// The tile that products with such vectors run on, whatever the architecture: as many rows as a group
/// has, and a width that divides a block.
template <class Arch>
using TableTile = RegisterTile<Arch, row_group, 2>;
template <class Arch>
inline constexpr Index table_width = 2 * lanes<Arch>;

/// out[r * stride + i] = rows[r] · vector i of a block, for i < count and the 4 rows [4][depth]; up
/// to a tile's width is written.
template <class Arch>
void multiply_vectors(const float* rows, Index depth, const float* vectors, Index count, float* out,
                      Index stride) {
  for (Index i = 0; i < count; i += table_width<Arch>)
    TableTile<Arch>::template product<vectors_in_block>(rows, depth, vectors + i, depth)
        .store(out + i, stride);
}

/// The first column that `multiply_run` writes.
template <class Arch>
constexpr Index first_of_run(Index first) {
  return first & -table_width<Arch>;
}

/// The same for vectors first .. last - 1 of many blocks, of which `block_of(b)` gives the b-th;
/// out[0] belongs to vector first_of_run(first). Blocks may be numbered from below 0.
template <class Arch, class BlockOf>
void multiply_run(const float* rows, Index depth, Index first, Index last, float* out, Index stride,
                  BlockOf&& block_of) {
  static_assert(vectors_in_block % table_width<Arch> == 0);
  for (Index i = first_of_run<Arch>(first); i < last;) {
    const Index inside = i & (vectors_in_block - 1);
    const Index next = i - inside + vectors_in_block;
    multiply_vectors<Arch>(rows, depth, block_of((i - inside) / vectors_in_block) + inside,
                           std::min(next, last) - i, out, stride);
    out += next - i;
    i = next;
  }
}

/// [planes][count] vectors of `depth` floats in such blocks, packed once, in the constructor of an
/// encoding.
class VectorTable {
 public:
  /// All zeros.
  Status allocate(Index planes, Index count, Index depth) {
    depth_ = depth;
    columns_ = round_up(count, block);
    const auto plane =
        checked_product(static_cast<std::size_t>(columns_), static_cast<std::size_t>(depth));
    const auto all =
        plane ? checked_product(*plane, static_cast<std::size_t>(planes)) : std::nullopt;
    if (!all) return Error{.code = Errc::too_large};
    return data_.allocate(*all);
  }

  /// Element k of vector i.
  float& at(Index plane, Index i, Index k) { return data_.data()[place(plane, i, k)]; }

  /// Vector i, its elements a block's width apart.
  const float* vector_at(Index plane, Index i) const { return data_.data() + place(plane, i, 0); }

  /// Where element k of vector i stands among size().
  Index place(Index plane, Index i, Index k) const { return offset(plane, i) + k * block; }
  Index size() const { return static_cast<Index>(data_.size()); }

  /// Block b of a plane, [depth][32].
  const float* block_at(Index plane, Index b) const {
    return data_.data() + offset(plane, b * block);
  }
  Index depth() const { return depth_; }
  /// Floats that `products` needs, rows of the query block included.
  Index scratch() const { return row_group * (depth_ + columns_); }
  Index columns() const { return columns_; }

  /// out[r * columns() + i] = rows[r] · vector i, for i = first .. last - 1 and the 4 rows
  /// [4][depth]; what stands beside them in `out` may be overwritten.
  template <class Arch>
  void products(const float* rows, Index plane, Index first, Index last, float* out) const {
    multiply_run<Arch>(rows, depth_, first, last, out + first_of_run<Arch>(first), columns_,
                       [&](Index b) { return block_at(plane, b); });
  }

  /// The way back from products of `factor * own`: with weights[i] the gradient of the product with
  /// vector i, 0 outside first .. last - 1, adds to that of `own` and to those of the vectors, which
  /// `sums` holds in the order of this table. Then makes the weights 0 again.
  template <class Arch>
  void pull_back(const float* own, float factor, float* weights, Index plane, Index first,
                 Index last, float* own_gradient, double* sums) const {
    for (Index i = first / block * block; i < last; i += block) {
      const Index at = offset(plane, i);
      for (Index k = 0; k < depth_; ++k) {
        const float* line = data_.data() + at + k * block;
        own_gradient[k] += factor * dot<Arch>(weights + i, line, block);
        const double scaled = static_cast<double>(factor) * own[k];
        double* sum = sums + at + k * block;
        for (Index c = 0; c < block; ++c) sum[c] += scaled * weights[i + c];
      }
    }
    if (first < last) std::fill(weights + first, weights + last, 0.0f);
  }

  /// From such sums to rows of a table [count][planes][depth]; null is not wanted.
  void collect(const double* sums, Index planes, Index count, float* rows) const {
    if (rows == nullptr) return;
    for (Index i = 0; i < count; ++i)
      for (Index p = 0; p < planes; ++p)
        for (Index k = 0; k < depth_; ++k) *rows++ = static_cast<float>(sums[place(p, i, k)]);
  }

 private:
  static constexpr Index block = vectors_in_block;

  Index offset(Index plane, Index i) const {
    return (plane * columns_ + i / block * block) * depth_ + i % block;
  }

  Buffer<float> data_;
  Index depth_ = 0, columns_ = 0;
};

/// Copies up to 4 rows from `first` on, times `factor`, to `block` [4][cols]; those that do not
/// exist become 0. Returns how many do.
template <class Arch>
Index load_rows(const View2<const float>& from, Index first, float factor, float* block) {
  const Index count = std::min(row_group, from.rows - first);
  for (Index r = 0; r < count; ++r)
    scale_to<Arch>(from.row(first + r), factor, block + r * from.cols, from.cols);
  std::fill(block + count * from.cols, block + row_group * from.cols, 0.0f);
  return count;
}

POSENC_KERNEL(void multiply_vectors<xsimd::default_arch>(const float*, Index, const float*, Index,
                                                         float*, Index));

}  // namespace posenc

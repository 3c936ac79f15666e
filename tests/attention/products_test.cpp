// SPDX-License-Identifier: Apache-2.0
#include "posenc/attention/products.hpp"

#include "arches.hpp"
#include "posenc/core/memory.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::Random;

template <class A>
class Products : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(Products, Arches);

/// Panels must be aligned for any vector.
Buffer<float> panels(Index count) {
  return std::move(*Buffer<float>::make(static_cast<std::size_t>(count)));
}

TYPED_TEST(Products, MultiplyRowsWithAPanel) {
  constexpr TileShape shape = tile_of<TypeParam>;
  constexpr Index rows = shape.rows, width = panel_width<TypeParam>;
  for (Index depth : {0, 1, 2, 3, 7, 64, 65}) {
    Random random(static_cast<std::uint64_t>(depth));
    const Index stride = depth + 3;  // rows need not be packed
    const Array<float> a = random.floats(rows * stride), b = random.floats(depth * width);
    Buffer<float> panel = panels(depth * width);
    std::copy(b.begin(), b.end(), panel.data());
    const auto tile = RegisterTile<TypeParam, rows, shape.vectors>::product(a.data(), stride,
                                                                            panel.data(), depth);
    Array<float> c(rows * width, 100.0f), sum(rows * width, 100.0f);
    tile.store(c.data(), width);
    tile.add_to(sum.data(), width);
    for (Index r = 0; r < rows; ++r)
      for (Index j = 0; j < width; ++j) {
        float want = 0;  // the same order and the same roundings: equal to the bit
        for (Index k = 0; k < depth; ++k) want += a[r * stride + k] * b[k * width + j];
        EXPECT_EQ(c[r * width + j], want) << depth;
        EXPECT_EQ(sum[r * width + j], 100.0f + want);
      }
  }
}

TYPED_TEST(Products, PackKeysAsColumnsAndPadTheLastPanelWithZeros) {
  constexpr Index width = panel_width<TypeParam>;
  constexpr Index depth = 5, stride = 9;
  for (Index n : {Index{1}, width - 1, width, width + 1, 3 * width}) {
    const Array<float> rows = Random(1).floats(n * stride);
    const Index padded = round_up(n, width);
    Buffer<float> packed = panels(padded * depth);
    std::fill_n(packed.data(), packed.size(), reference::nan);
    pack_columns<TypeParam>(rows.data(), stride, n, depth, packed.data(), 0);
    for (Index j = 0; j < padded; ++j)
      for (Index k = 0; k < depth; ++k) {
        const float got = packed.data()[(j / width * depth + k) * width + j % width];
        EXPECT_EQ(got, j < n ? rows[j * stride + k] : 0.0f) << n << ' ' << j << ' ' << k;
      }
  }
}

TYPED_TEST(Products, PackKeysPieceByPieceAsAtOnce) {
  constexpr Index width = panel_width<TypeParam>;
  const Index n = 2 * width + 3, depth = 4, padded = round_up(n, width);
  const Array<float> rows = Random(2).floats(n * depth);
  Buffer<float> whole = panels(padded * depth), pieces = panels(padded * depth);
  pack_columns<TypeParam>(rows.data(), depth, n, depth, whole.data(), 0);
  for (Index j = 0; j < n; j += width)
    pack_columns<TypeParam>(rows.data() + j * depth, depth, std::min(width, n - j), depth,
                            pieces.data(), j);
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(whole[i], pieces[i]);
}

TYPED_TEST(Products, PackValuesByColumnBlocksAndPadWithZeros) {
  constexpr Index width = panel_width<TypeParam>;
  constexpr Index n = 6, capacity = 9, first = 2;
  for (Index depth : {Index{1}, width, width + 1, 2 * width + 3}) {
    const Index stride = depth + 1, padded = round_up(depth, width);
    const Array<float> rows = Random(3).floats(n * stride);
    Buffer<float> packed = panels(capacity * padded);
    EXPECT_TRUE(
        pack_rows<TypeParam>(rows.data(), stride, n, depth, packed.data(), capacity, first));
    for (Index i = 0; i < n; ++i)
      for (Index c = 0; c < padded; ++c) {
        const float got = packed.data()[(c / width * capacity + first + i) * width + c % width];
        EXPECT_EQ(got, c < depth ? rows[i * stride + c] : 0.0f) << depth << ' ' << i << ' ' << c;
      }
  }
}

TYPED_TEST(Products, NoticeEveryValueThatIsNotFinite) {
  constexpr Index width = panel_width<TypeParam>;
  constexpr Index n = 3;
  const Index depth = 2 * width + 1;
  Buffer<float> packed = panels(n * round_up(depth, width));
  const auto finite = [&](const Array<float>& rows) {
    return pack_rows<TypeParam>(rows.data(), depth, n, depth, packed.data(), n, 0);
  };
  Array<float> rows(n * depth, std::numeric_limits<float>::max());
  rows[0] = -0.0f;
  rows[1] = std::numeric_limits<float>::denorm_min();
  EXPECT_TRUE(finite(rows)) << "large and tiny are finite";
  for (Index at = 0; at < rows.size(); ++at)
    for (float stray : {reference::nan, reference::infinity, -reference::infinity}) {
      Array<float> with_stray = rows;
      with_stray[at] = stray;
      ASSERT_FALSE(finite(with_stray)) << at;
    }
}

TYPED_TEST(Products, DoNotReadBesideTheValues) {
  // What lies between the rows of a wider tensor is nobody's business.
  Array<float> rows(3 * 8, reference::nan);
  for (Index i = 0; i < 3; ++i)
    for (Index c = 0; c < 5; ++c) rows[i * 8 + c] = 1;
  Buffer<float> packed = panels(3 * round_up(5, panel_width<TypeParam>));
  EXPECT_TRUE(pack_rows<TypeParam>(rows.data(), 8, 3, 5, packed.data(), 3, 0));
}

TEST(RoundUp, GoesToTheNextMultiple) {
  EXPECT_EQ(round_up(0, 8), 0);
  EXPECT_EQ(round_up(1, 8), 8);
  EXPECT_EQ(round_up(8, 8), 8);
  EXPECT_EQ(round_up(9, 8), 16);
}

}  // namespace
}  // namespace posenc

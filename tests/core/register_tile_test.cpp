// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/register_tile.hpp"

#include <algorithm>

#include "arches.hpp"
#include "posenc/core/instruction_set.hpp"
#include "posenc/core/memory.hpp"
#include "support/tile_shapes.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::Random;

/// Panels must be aligned for any vector.
Buffer<float> panels(Index count) {
  return std::move(*Buffer<float>::make(static_cast<std::size_t>(count)));
}

View2<const float> view(const Array<float>& items, Index rows, Index cols, Index stride) {
  return {items.data(), rows, cols, stride};
}

/// A product in float64 and what float32 may be off by: each term is rounded, and each sum.
struct Expected {
  double value = 0, size = 0;
  Index terms = 0;
  void add(float x, float y) {
    value += static_cast<double>(x) * y;
    size += std::abs(static_cast<double>(x) * y);
    ++terms;
  }
  double bound() const { return static_cast<double>(terms + 1) * 0x1p-24 * size; }
};

constexpr float untouched = 77.0f;

struct Sizes {
  Index rows, columns, depth;
};

/// Rows of a and b in order, a's padded with zeros to whole groups; row strides are larger than rows.
struct Operands {
  explicit Operands(const Sizes& s)
      : padded(round_up(s.rows, row_group)), stride(s.depth + 3), a(padded * stride) {
    Random random(static_cast<std::uint64_t>(s.rows * 10000 + s.columns * 100 + s.depth));
    for (Index i = 0; i < s.rows; ++i)
      for (Index k = 0; k < s.depth; ++k) a[i * stride + k] = static_cast<float>(random.normal());
    b = random.floats(s.columns * stride);
  }
  Index padded, stride;
  Array<float> a, b;
};

/// Queries times keys on one shape: [padded rows][columns], checked against float64.
Array<float> products_of_keys(const ShapedProducts& tile, const Sizes& s) {
  const Operands x(s);
  Buffer<float> packed = panels(round_up(s.columns, tile.width) * s.depth);
  tile.pack_columns(view(x.b, s.columns, s.depth, x.stride), packed.data());
  const Index stride = round_up(s.columns, tile.width);
  Array<float> out((x.padded + 1) * stride, untouched);
  tile.multiply(view(x.a, x.padded, s.depth, x.stride), packed.data(), s.columns,
                {out.data(), x.padded, s.columns, stride});
  Array<float> got(x.padded * s.columns);
  for (Index i = 0; i < x.padded; ++i)
    for (Index j = 0; j < s.columns; ++j) {
      Expected want;
      for (Index k = 0; k < s.depth; ++k) want.add(x.a[i * x.stride + k], x.b[j * x.stride + k]);
      got[i * s.columns + j] = out[i * stride + j];
      EXPECT_NEAR(out[i * stride + j], want.value, want.bound())
          << tile.name() << ' ' << i << ' ' << j;
    }
  for (Index j = 0; j < stride; ++j)
    EXPECT_EQ(out[x.padded * stride + j], untouched) << tile.name() << " wrote behind its rows";
  return got;
}

/// Weights times values on one shape, on top of sums that were there: [padded rows][columns].
Array<float> sums_of_values(const ShapedProducts& tile, const Sizes& s) {
  const Operands x({s.rows, s.depth, s.columns});  // b: `depth` keys of `columns` values
  const Index weights_stride = s.depth + 3;
  Array<float> weights = Random(9).floats(x.padded * weights_stride);
  const Index stride = round_up(s.columns, tile.width);
  Buffer<float> packed = panels(stride * s.depth);
  tile.pack_rows(view(x.b, s.depth, s.columns, x.stride), packed.data());
  Array<float> out((x.padded + 1) * stride, untouched);
  tile.add(view(weights, x.padded, s.depth, weights_stride), packed.data(),
           {out.data(), x.padded, s.columns, stride});
  Array<float> got(x.padded * s.columns);
  for (Index i = 0; i < x.padded; ++i)
    for (Index c = 0; c < s.columns; ++c) {
      Expected want;
      for (Index k = 0; k < s.depth; ++k)
        want.add(weights[i * weights_stride + k], x.b[k * x.stride + c]);
      want.add(untouched, 1);
      got[i * s.columns + c] = out[i * stride + c];
      EXPECT_NEAR(out[i * stride + c], want.value, want.bound())
          << tile.name() << ' ' << i << ' ' << c;
    }
  for (Index c = 0; c < stride; ++c)
    EXPECT_EQ(out[x.padded * stride + c], untouched) << tile.name() << " wrote behind its rows";
  return got;
}

/// One row, what fills no tile, what leaves each number of rows over, and columns around a panel's edge.
std::vector<Sizes> odd_sizes(Index width) {
  std::vector<Sizes> made;
  for (Index rows : {1, 5, 11, 14, 24})
    for (Index columns : {Index{1}, width - 1, width, 2 * width + 1})
      for (Index depth : {0, 1, 7, 33}) made.push_back({rows, columns, depth});
  return made;
}

void expect_the_same_sums(std::span<const ShapedProducts> shapes) {
  ASSERT_FALSE(shapes.empty());
  const Index widest = std::ranges::max_element(shapes, {}, &ShapedProducts::width)->width;
  for (const Sizes& s : odd_sizes(widest)) {
    SCOPED_TRACE(testing::Message() << s.rows << " rows, " << s.columns << " columns, " << s.depth);
    const Array<float> products = products_of_keys(shapes[0], s),
                       sums = sums_of_values(shapes[0], s);
    for (const ShapedProducts& tile : shapes.subspan(1)) {
      EXPECT_TRUE(products_of_keys(tile, s).same_bits(products)) << tile.name();
      EXPECT_TRUE(sums_of_values(tile, s).same_bits(sums)) << tile.name();
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(EveryShapeOfTile, GivesTheSameSums) { expect_the_same_sums(baseline_shaped_products()); }

class EveryShapeOfTileAt : public testing::TestWithParam<InstructionSet> {};

TEST_P(EveryShapeOfTileAt, GivesTheSameSums) {
  const InstructionSet before = instruction_set();
  if (!use_instruction_set(GetParam())) GTEST_SKIP() << "not compiled, or not of this machine";
  use_instruction_set(before);
  expect_the_same_sums(
      wide_shaped_products(instruction_set_names[static_cast<std::size_t>(GetParam())]));
}

INSTANTIATE_TEST_SUITE_P(Wider, EveryShapeOfTileAt,
                         testing::Values(InstructionSet::avx2, InstructionSet::avx512),
                         [](const auto& set) {
                           return std::string(
                               instruction_set_names[static_cast<std::size_t>(set.param)]);
                         });

TEST(RowsOfATile, AreThoseThatABlockOfWholeGroupsLeaves) {
  constexpr TileShape four{4, 2}, six{6, 2}, three{3, 3};
  EXPECT_EQ(rows_at<four>(60, 61), 4) << "padding is computed";
  EXPECT_EQ(rows_at<six>(0, 64), 6);
  EXPECT_EQ(rows_at<six>(60, 61), 4);
  EXPECT_EQ(rows_at<six>(6, 8), 2);
  EXPECT_EQ(rows_at<three>(3, 4), 1);
}

TEST(RowsOfATile, AreKnownWhenItIsCompiled) {
  const auto compiled = []<TileShape Shape>(Index rows) {
    Index got = 0;
    with_rows<Shape>(rows, [&]<Index Rows>() { got = Rows; });
    return got;
  };
  for (Index rows : {2, 4, 6}) EXPECT_EQ((compiled.operator()<TileShape{6, 2}>(rows)), rows);
  for (Index rows : {1, 2, 3, 4, 5}) EXPECT_EQ((compiled.operator()<TileShape{5, 2}>(rows)), rows);
  EXPECT_EQ((compiled.operator()<TileShape{4, 2}>(4)), 4);
}

}  // namespace
}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/vector_table.hpp"

#include "arches.hpp"
#include "posenc/core/kept_blocks.hpp"
#include "reference/errors.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::Random;

/// Sums of up to 50 products of size 1, in float32.
constexpr double tolerance = 2e-5;

template <class A>
class VectorTables : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(VectorTables, Arches);

TYPED_TEST(VectorTables, MultiplyFourRowsWithAnyRunOfVectors) {
  for (Index count : {1, 7, 32, 33, 70})
    for (Index depth : {Index{1}, Index{6}, TestFixture::most}) {
      const Index planes = 2;
      Random random(static_cast<std::uint64_t>(count + depth));
      const Array<float> vectors = random.floats(planes * count * depth);
      VectorTable table;
      ASSERT_TRUE(reference::succeeds(table.allocate(planes, count, depth)));
      ASSERT_GE(table.columns(), count);
      for (Index i = 0; i < vectors.size(); ++i)
        table.at(i / depth / count, i / depth % count, i % depth) = vectors[i];
      const Array<float> rows = random.floats(row_group * depth);
      for (Index plane = 0; plane < planes; ++plane)
        for (Index first = 0; first < count; first += 5)
          for (Index last = first; last <= count; last += 3) {
            Array<float> out(row_group * table.columns());
            table.template products<TypeParam>(rows.data(), plane, first, last, out.data());
            for (Index r = 0; r < row_group; ++r)
              for (Index i = first; i < last; ++i) {
                double want = 0;
                for (Index k = 0; k < depth; ++k)
                  want += static_cast<double>(rows[r * depth + k]) *
                          vectors[(plane * count + i) * depth + k];
                ASSERT_NEAR(out[r * table.columns() + i], want, tolerance);
              }
          }
    }
}

TEST(VectorTable, PullsGradientsOfProductsBack) {
  const Index count = 40, depth = 3;
  VectorTable table;
  ASSERT_TRUE(reference::succeeds(table.allocate(2, count, depth)));
  Random random(4);
  for (Index i = 0; i < count; ++i)
    for (Index k = 0; k < depth; ++k) table.at(1, i, k) = static_cast<float>(random.normal());
  const Array<float> own = random.floats(depth), by = random.floats(count);
  Array<float> weights(table.columns()), own_gradient(depth, 1);
  for (Index i = 5; i < 37; ++i) weights[i] = by[i];
  Array<double> sums(table.size());
  table.pull_back<xsimd::default_arch>(own.data(), 2, weights.data(), 1, 5, 37, own_gradient.data(),
                                       sums.data());
  for (Index k = 0; k < depth; ++k) {
    double want = 1;
    for (Index i = 5; i < 37; ++i) want += 2.0 * by[i] * table.at(1, i, k);
    EXPECT_NEAR(own_gradient[k], want, tolerance);
  }
  Array<float> rows(count * 2 * depth);
  table.collect(sums.data(), 2, count, rows.data());
  for (Index i = 0; i < count; ++i)
    for (Index k = 0; k < depth; ++k) {
      EXPECT_EQ(rows[i * 2 * depth + k], 0) << "the other plane";
      const double want = i >= 5 && i < 37 ? 2.0 * by[i] * own[k] : 0;
      EXPECT_NEAR(rows[(i * 2 + 1) * depth + k], want, tolerance) << i << ' ' << k;
    }
  EXPECT_EQ(weights, Array<float>(table.columns())) << "ready for the next";
}

TEST(VectorTable, SaysHowMuchRoomItsProductsNeed) {
  VectorTable table;
  ASSERT_TRUE(reference::succeeds(table.allocate(1, 40, 6)));
  EXPECT_EQ(table.depth(), 6);
  EXPECT_EQ(table.scratch(), row_group * (6 + table.columns()));
}

TEST(VectorTable, RefusesSizesThatOverflow) {
  const Index huge = Index{1} << (sizeof(Index) * 4);
  EXPECT_FALSE(VectorTable{}.allocate(huge, huge, huge));
}

TEST(KeptBlocks, ComputeWhatTheyDoNotHold) {
  const BlockRoom room = BlockRoom::for_call(3 * 32, 4 * 32, 2);
  EXPECT_GE(room.count, 7);
  Array<float> data(room.count * 2 * 32);
  std::vector<BlockTag> tags(static_cast<std::size_t>(room.count));
  const KeptBlocks kept{tags.data(), data.data(), room};
  EXPECT_TRUE(kept.any());
  EXPECT_FALSE(KeptBlocks{}.any());
  Index computed = 0;
  const auto ask = [&](Index owner, Index b) {
    return kept.get(owner, b, [&](float* out) {
      ++computed;
      std::fill_n(out, 2 * 32, static_cast<float>(100 * owner + b));
    });
  };
  for (Index round = 0; round < 2; ++round)
    for (Index b = -3; b < 4; ++b)
      for (Index i : {0, 63}) EXPECT_EQ(ask(1, b)[i], static_cast<float>(100 + b)) << b;
  EXPECT_EQ(computed, 7) << "each once";
  EXPECT_EQ(ask(2, 0)[0], 200) << "another owner";
  EXPECT_EQ(ask(1, room.count)[0], static_cast<float>(100 + room.count)) << "in the same place";
  EXPECT_EQ(ask(1, 0)[0], 100);
}

TYPED_TEST(VectorTables, MultiplyBlocksThatBeginBelowZero) {
  const Index depth = 3;
  Random random(9);
  const Array<float> rows = random.floats(row_group * depth),
                     blocks = random.floats(3 * depth * vectors_in_block);  // -1, 0 and 1
  Array<float> out(row_group * 200);
  for (Index first : {-32, -17, -1, 0, 5})
    for (Index last : {1, 31, 32, 64}) {
      if (first >= last) continue;
      multiply_run<TypeParam>(rows.data(), depth, first, last, out.data(), 200, [&](Index b) {
        return blocks.data() + (b + 1) * depth * vectors_in_block;
      });
      for (Index r = 0; r < row_group; ++r)
        for (Index i = first; i < last; ++i) {
          double want = 0;
          for (Index k = 0; k < depth; ++k)
            want += static_cast<double>(rows[r * depth + k]) *
                    blocks[((i + 32) / 32 * depth + k) * 32 + (i + 32) % 32];
          ASSERT_NEAR(out[r * 200 + i - first_of_run<TypeParam>(first)], want, tolerance);
        }
    }
}

TEST(LoadRows, PadsWithZerosWhereRowsEnd) {
  const Array<float> x{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const View2<const float> rows{x.data(), 5, 2, 2};
  Array<float> block(row_group * 2, 99.0f);
  EXPECT_EQ(load_rows<xsimd::default_arch>(rows, 0, 1.0f, block.data()), 4);
  EXPECT_EQ(block, (Array<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(load_rows<xsimd::default_arch>(rows, 4, 2.0f, block.data()), 1);
  EXPECT_EQ(block, (Array<float>{18, 20, 0, 0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace posenc

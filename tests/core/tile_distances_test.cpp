// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/tile_distances.hpp"

#include "arches.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::counted;

template <class A>
class TileDistances : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(TileDistances, Arches);

TYPED_TEST(TileDistances, AddAFunctionOfTheDistanceWhereverTokensStand) {
  for (Index rows : {0, 1, 5})
    for (Index cols : {Index{0}, Index{1}, TestFixture::lanes, TestFixture::most})
      for (int order = 0; order < 3; ++order) {
        Array<double> q = counted(rows, 7), k = counted(cols, -3);
        if (order > 0)
          for (Index i = 0; i < rows; ++i) q[i] = static_cast<double>(i * i % 7);
        if (order > 1)
          for (Index j = 0; j < cols; ++j) k[j] = static_cast<double>(5 * j % 11);
        Array<float> scores(rows * cols, 1000.0f), scratch(distances_of_tile(rows, cols));
        Index evaluated = 0;
        const ScoreTile tile{.scores = {scores.data(), rows, cols, cols},
                             .q = {},
                             .k = {},
                             .q_pos = Positions::of(q.data(), rows),
                             .k_pos = Positions::of(k.data(), cols),
                             .scratch = scratch.data()};
        add_by_distance<TypeParam>(tile, 2.0f, [&](double first, Index n, float* out) {
          evaluated += n;
          for (Index c = 0; c < n; ++c) out[c] = static_cast<float>(first + static_cast<double>(c));
        });
        for (Index i = 0; i < rows; ++i)
          for (Index j = 0; j < cols; ++j)
            ASSERT_EQ(scores[i * cols + j], 1000 + 2 * (k[j] - q[i])) << order;
        if (order == 0 && rows > 0 && cols > 0) {
          EXPECT_EQ(evaluated, rows + cols - 1);
        }
      }
}

}  // namespace
}  // namespace posenc

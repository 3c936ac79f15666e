// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/tile_gradients.hpp"

#include <gtest/gtest.h>

#include <map>

#include "posenc/core/sites.hpp"
#include "reference/numbers.hpp"

namespace posenc {
namespace {

using reference::Array;

/// The sums by distance of a tile of 3 queries and 4 keys that holds 1 … 12.
std::map<double, double> sums_of(const Array<double>& queries, const Array<double>& keys,
                                 int* calls) {
  Array<float> gradient(12);
  for (Index i = 0; i < 12; ++i) gradient[i] = static_cast<float>(i + 1);
  ScoreGradient g;
  g.gradient = {gradient.data(), 3, 4, 4};
  g.tile.q_pos = Positions::of(queries.data(), 3);
  g.tile.k_pos = Positions::of(keys.data(), 4);
  std::map<double, double> sums;
  for_each_distance(g, [&](double relative, double by) {
    sums[relative] += by;
    ++*calls;
  });
  return sums;
}

TEST(TileGradients, AreSummedByDiagonal) {
  int calls = 0;
  const auto sums = sums_of({5, 6, 7}, {4, 5, 6, 7}, &calls);
  const std::map<double, double> want{{-3, 9}, {-2, 15}, {-1, 18}, {0, 21}, {1, 11}, {2, 4}};
  EXPECT_EQ(sums, want);
  EXPECT_EQ(calls, 6);
}

TEST(TileGradients, ComeOneByOneWherePositionsAreScattered) {
  int calls = 0;
  const auto sums = sums_of({5, 6, 9}, {4, 5, 6, 7}, &calls);
  double all = 0;
  for (const auto& [relative, by] : sums) all += by;
  EXPECT_EQ(all, 78);
  EXPECT_EQ(sums.at(-5), 9);
  EXPECT_EQ(sums.at(0), 2 + 7);
  EXPECT_EQ(calls, 12);
}

TEST(TileGradients, OfAnAngleAreThoseOfATurn) {
  const Array<float> rows{3, 4}, by{0.5f, 2};
  AngleGradient g;
  g.rows = {rows.data(), 1, 2, 2};
  g.gradient = {by.data(), 1, 2, 2};
  EXPECT_EQ(angle_gradient_of(g, 0, 0, 1), 2.0 * 3 - 0.5 * 4);
  const Array<float> hidden{reference::nan, reference::nan}, none{0, 0};
  g.rows.data = hidden.data();
  g.gradient.data = none.data();
  EXPECT_EQ(angle_gradient_of(g, 0, 0, 1), 0);
}

TEST(TileGradients, AreRoundedWhereTheyAreWanted) {
  const Array<double> sums{1.5, -2};
  Array<float> table(2);
  round_gradients(sums.data(), 2, table.data());
  EXPECT_EQ(table, (Array<float>{1.5f, -2}));
  round_gradients(sums.data(), 2, nullptr);
}

}  // namespace
}  // namespace posenc

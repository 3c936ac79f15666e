// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/view.hpp"

#include <gtest/gtest.h>

#include "reference/numbers.hpp"

namespace posenc {
namespace {

using reference::Array;

bool consecutive(const Array<double>& p, Index axes = 1) {
  return Positions::of(p.data(), p.size() / axes, axes).consecutive;
}

TEST(View2, FindsRowsByItsStride) {
  Array<float> data{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const View2<float> view{data.data(), 3, 2, 4};
  EXPECT_EQ(view.row(2)[1], 9);
  const View2<float> tail = view.slice(1, 2);
  EXPECT_EQ(tail.rows, 2);
  EXPECT_EQ(tail.cols, 2);
  EXPECT_EQ(tail.row(1)[0], 8);
  const View2<const float> read_only = tail;
  EXPECT_EQ(read_only.row(0)[1], 5);
}

TEST(Positions, AreConsecutiveWhenEachIsTheOneBeforePlusOne) {
  EXPECT_TRUE(consecutive({}));
  EXPECT_TRUE(consecutive({5}));
  EXPECT_TRUE(consecutive({0, 1, 2, 3}));
  EXPECT_TRUE(consecutive({-2, -1, 0, 1}));
  EXPECT_TRUE(consecutive({0.5, 1.5, 2.5}));
}

TEST(Positions, AreScatteredWhenOneStepDiffers) {
  EXPECT_FALSE(consecutive({0, 2}));
  EXPECT_FALSE(consecutive({1, 0}));
  EXPECT_FALSE(consecutive({0, 1, 2, 2}));
  EXPECT_FALSE(consecutive({0, 1, 2, 0, 1, 2}));
  EXPECT_FALSE(consecutive({0, 0.5, 1}));
  EXPECT_FALSE(consecutive({0, std::numeric_limits<double>::quiet_NaN()}));
}

TEST(Positions, AreNotConsecutiveWhereAddingOneIsLostToRounding) {
  constexpr double limit = 0x1p53;
  EXPECT_FALSE(consecutive({limit, limit}));
  EXPECT_FALSE(consecutive({-limit, -limit}));
  EXPECT_TRUE(consecutive({limit - 2, limit - 1, limit}));
}

TEST(Positions, MustBeConsecutiveOnEveryAxis) {
  EXPECT_TRUE(consecutive({0, 1, 2, 7, 8, 9}, 2));
  EXPECT_FALSE(consecutive({0, 1, 2, 7, 7, 8}, 2));
  EXPECT_FALSE(consecutive({0, 0, 1, 7, 8, 9}, 2));
}

TEST(Positions, KeepTheirAxesWhenSliced) {
  const Array<double> data{0, 1, 2, 3, 10, 11, 12, 13};
  const Positions all = Positions::of(data.data(), 4, 2);
  const Positions part = all.slice(1, 2);
  EXPECT_EQ(part.count, 2);
  EXPECT_EQ(part[0], 1);
  EXPECT_EQ(part.axis(0)[1], 2);
  EXPECT_EQ(part.axis(1)[0], 11);
  EXPECT_TRUE(part.consecutive);
}

}  // namespace
}  // namespace posenc

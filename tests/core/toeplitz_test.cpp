// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/toeplitz.hpp"

#include "arches.hpp"
#include "posenc/core/transposed.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::counted;

template <class A>
class Toeplitz : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(Toeplitz, Arches);

/// Bias 100 + r at relative position r, constant beyond the reach: exact in float32.
struct Ramp {
  Index reach;
  Array<float> values;
  explicit Ramp(Index r) : reach(r), values(2 * r + 1) {
    for (Index i = 0; i <= 2 * r; ++i) values[i] = static_cast<float>(100 + i - r);
  }
  ToeplitzRow row() const { return {values.data(), reach}; }
  double at(double relative) const {
    const double limit = static_cast<double>(reach);
    return 100 + (relative > limit ? limit : relative < -limit ? -limit : relative);
  }
};

TYPED_TEST(Toeplitz, AddsEveryOverlapOfReachAndRow) {
  for (Index reach = 0; reach <= 2 * TestFixture::lanes; ++reach) {
    const Ramp ramp(reach);
    for (Index n : {Index{0}, Index{1}, TestFixture::lanes, TestFixture::most})
      for (Index first = -2 * reach - n - 2; first <= 2 * reach + 2; ++first) {
        Array<float> row(n + 2, 1000.0f);
        add_toeplitz<TypeParam>(ramp.row(), static_cast<double>(first), row.data() + 1, n);
        EXPECT_EQ(row[0], 1000.0f);
        EXPECT_EQ(row[n + 1], 1000.0f);
        for (Index j = 0; j < n; ++j)
          ASSERT_EQ(row[j + 1], 1000.0 + ramp.at(static_cast<double>(first + j)))
              << reach << ' ' << n << ' ' << first << ' ' << j;
      }
  }
}

TYPED_TEST(Toeplitz, IsConstantAtTheEndsOfTheEarth) {
  const Ramp ramp(3);
  for (double first : {0x1p53, -0x1p54, 1e6, -1e6, 2147483648.0, -2147483649.0, 4294967296.0}) {
    Array<float> row(TestFixture::most, 0.0f);
    add_toeplitz<TypeParam>(ramp.row(), first, row.data(), row.size());
    for (float value : row) EXPECT_EQ(value, first > 0 ? 103.0f : 97.0f) << first;
  }
}

TYPED_TEST(Toeplitz, AddsTheSameForScatteredKeysAsForConsecutiveOnes) {
  const Ramp ramp(5);
  const Index n = TestFixture::most;
  for (double query : {-20.0, -3.0, 0.0, 4.0, 11.0, 60.0}) {
    const Array<double> keys = counted(n, -4);
    Positions positions = Positions::of(keys.data(), n);
    ASSERT_TRUE(positions.consecutive);
    Array<float> in_order(n, 0.25f), scattered(n, 0.25f);
    add_toeplitz<TypeParam>(ramp.row(), query, positions, in_order.data());
    positions.consecutive = false;
    add_toeplitz<TypeParam>(ramp.row(), query, positions, scattered.data());
    EXPECT_TRUE(in_order.same_bits(scattered)) << query;
  }
}

TYPED_TEST(Toeplitz, FindsScatteredKeysWhereverTheyAre) {
  const Ramp ramp(5);
  const Array<double> keys{7, -0x1p53, 3, 3, 0x1p53, -2, 100};
  Array<float> row(keys.size());
  add_toeplitz<TypeParam>(ramp.row(), 3, Positions::of(keys.data(), keys.size()), row.data());
  EXPECT_EQ(row, (Array<float>{104, 95, 100, 100, 105, 95, 105}));
}

TYPED_TEST(Toeplitz, AddsNothingToNoKeys) {
  const Ramp ramp(2);
  float untouched = 5;
  add_toeplitz<TypeParam>(ramp.row(), 3, Positions::of(nullptr, 0), &untouched);
  EXPECT_EQ(untouched, 5);
}

TYPED_TEST(Toeplitz, AddsWhatWasComputedByColumns) {
  const Index width = TestFixture::lanes;
  for (Index rows : {Index{0}, Index{1}, width, 2 * width + 1})
    for (Index cols = 1; cols <= width; ++cols) {
      const Index stride = rows + width;
      Array<float> from(width * stride, 0.0f), to(rows * (cols + 2) + 1, 1000.0f);
      for (Index i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
      const View2<float> part{to.data() + 1, rows, cols, cols + 2};
      add_transposed<TypeParam>(from.data(), stride, part,
                                [](Index i) { return i == 0 ? 2.0f : 1.0f; });
      for (Index i = 0; i < rows; ++i)
        for (Index j = -1; j <= cols; ++j)
          ASSERT_EQ(part.row(i)[j], j < 0 || j == cols
                                        ? 1000.0f
                                        : 1000.0f + (i == 0 ? 2.0f : 1.0f) * from[j * stride + i]);
    }
}

}  // namespace
}  // namespace posenc

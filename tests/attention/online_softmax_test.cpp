// SPDX-License-Identifier: Apache-2.0
#include "posenc/attention/online_softmax.hpp"

#include "arches.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::infinity;
using reference::nan;
using reference::Random;

template <class A>
class OnlineSoftmax : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(OnlineSoftmax, Arches);

/// A weight has 1.5 ulp from the exponential and 1 from the shifted score, a sum one per key.
constexpr double tolerance = 1e-6;

/// Absorbs scores cut at `cuts`, each piece in a row of its own; returns state and final weights.
struct Row {
  RowState state;
  Array<float> weights;
};
template <class Arch>
Row in_pieces(const Array<float>& scores, std::initializer_list<Index> cuts) {
  Row row{{}, Array<float>(scores.size())};
  Index from = 0;
  const auto absorb_to = [&](Index to) {
    const Index width = (to - from + lanes<Arch> - 1) / lanes<Arch> * lanes<Arch>;
    Array<float> piece(width, nan);
    for (Index j = from; j < to; ++j) piece[j - from] = scores[j];
    const float factor = absorb<Arch>(row.state, piece.data(), 0, to - from, width);
    for (Index j = 0; j < from; ++j) row.weights[j] *= factor;
    for (Index j = from; j < to; ++j) row.weights[j] = piece[j - from];
    for (Index j = to - from; j < width; ++j) EXPECT_EQ(piece[j], 0.0f) << "padding";
    from = to;
  };
  for (Index cut : cuts) absorb_to(cut);
  absorb_to(scores.size());
  return row;
}

void expect_softmax(const Row& row, const Array<float>& scores) {
  double greatest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (float s : scores) greatest = std::max<double>(greatest, s);
  for (float s : scores) sum += std::exp(s - greatest);
  EXPECT_NEAR(row.state.log_sum_exp(), greatest + std::log(sum),
              tolerance * std::max(1.0, std::abs(greatest)));
  for (Index j = 0; j < scores.size(); ++j)
    EXPECT_NEAR(row.weights[j] / row.state.sum, std::exp(scores[j] - greatest) / sum, tolerance)
        << j;
}

TYPED_TEST(OnlineSoftmax, IsTheSameWhereverTheRowIsCut) {
  Random random(1);
  for (Index n : {Index{1}, TestFixture::lanes, TestFixture::most, Index{40}}) {
    Array<float> scores = random.floats(n, 5);
    expect_softmax(in_pieces<TypeParam>(scores, {}), scores);
    for (Index cut = 0; cut <= n; ++cut)
      expect_softmax(in_pieces<TypeParam>(scores, {cut}), scores);
    expect_softmax(in_pieces<TypeParam>(scores, {n / 3, n / 3, n / 2}), scores);
  }
}

TYPED_TEST(OnlineSoftmax, TakesPiecesThatAreHiddenWhole) {
  Array<float> scores{1, 2, -infinity, -infinity, -infinity, 3, -1, -infinity};
  expect_softmax(in_pieces<TypeParam>(scores, {2, 5}), scores);
  scores[0] = scores[1] = -infinity;
  expect_softmax(in_pieces<TypeParam>(scores, {2, 5}), scores);
}

TYPED_TEST(OnlineSoftmax, GivesNothingForARowWithoutKeys) {
  for (Index n : {0, 5}) {
    const Row row = in_pieces<TypeParam>(Array<float>(n, -infinity), {n / 2});
    EXPECT_EQ(row.state.sum, 0.0f);
    EXPECT_EQ(row.state.log_sum_exp(), -infinity);
    for (float w : row.weights) EXPECT_TRUE(reference::same_bits(w, 0.0f));
  }
}

TYPED_TEST(OnlineSoftmax, ReturnsTheFactorForWhatWasSummedBefore) {
  RowState state;
  Array<float> row(TestFixture::lanes, 2.0f);
  EXPECT_EQ(absorb<TypeParam>(state, row.data(), 0, 1, row.size()), 0.0f)
      << "nothing was summed before";
  row[0] = 1;
  EXPECT_EQ(absorb<TypeParam>(state, row.data(), 0, 1, row.size()), 1.0f) << "no new maximum";
  EXPECT_NEAR(row[0], std::exp(-1.0), tolerance);
  row[0] = 5;
  EXPECT_NEAR(absorb<TypeParam>(state, row.data(), 0, 1, row.size()), std::exp(-3.0), tolerance);
  EXPECT_EQ(state.maximum, 5.0f);
  EXPECT_EQ(absorb<TypeParam>(state, row.data(), 0, 0, row.size()), 1.0f) << "no keys, no change";
  EXPECT_EQ(state.maximum, 5.0f);
}

TYPED_TEST(OnlineSoftmax, IgnoresTheStraysAroundTheVisibleColumns) {
  const Index width = 4 * TestFixture::lanes;
  for (Index first = 0; first <= TestFixture::lanes + 1; ++first)
    for (Index last : {first, first + 1, first + TestFixture::lanes, width - 1, width}) {
      Array<float> row(width, nan);
      Array<float> seen(last - first);
      for (Index j = first; j < last; ++j) row[j] = seen[j - first] = static_cast<float>(j % 5);
      RowState state;
      absorb<TypeParam>(state, row.data(), first, last, width);
      double sum = 0, greatest = -100;
      for (float s : seen) greatest = std::max<double>(greatest, s);
      for (float s : seen) sum += std::exp(s - greatest);
      EXPECT_NEAR(state.sum, sum, tolerance * static_cast<double>(width));
      for (Index j = 0; j < width; ++j) {
        const bool hidden = j < first || j >= last;
        EXPECT_TRUE(!hidden || reference::same_bits(row[j], 0.0f))
            << first << ' ' << last << ' ' << j;
      }
    }
}

TYPED_TEST(OnlineSoftmax, KeepsNaNForTheRowThatSeesIt) {
  for (Index at : {0, 3, 9}) {
    Array<float> scores(10, 1.0f);
    scores[at] = nan;
    for (Index cut : {0, 4, 10}) {
      const Row row = in_pieces<TypeParam>(scores, {cut});
      EXPECT_TRUE(std::isnan(row.state.sum)) << at << ' ' << cut;
      EXPECT_TRUE(std::isnan(row.state.log_sum_exp()));
    }
  }
  EXPECT_TRUE(std::isnan(in_pieces<TypeParam>({nan}, {}).state.sum))
      << "even when there is nothing else";
}

TYPED_TEST(OnlineSoftmax, NormalisesFinalWeightsWithTheWholeRowsState) {
  Random random(4);
  const Index n = TestFixture::most, width = 4 * TestFixture::lanes;
  const Array<float> scores = random.floats(n, 3);
  const Row whole = in_pieces<TypeParam>(scores, {});
  Array<float> row(width, nan);
  for (Index j = 0; j < n; ++j) row[j] = scores[j];
  normalise<TypeParam>(whole.state, row.data(), 2, n);
  for (Index j = 2; j < n; ++j) EXPECT_NEAR(row[j], whole.weights[j] / whole.state.sum, tolerance);
  Array<float> empty(width, nan);
  normalise<TypeParam>(RowState{}, empty.data(), 0, n);
  for (Index j = 0; j < n; ++j) EXPECT_TRUE(reference::same_bits(empty[j], 0.0f));
}

TYPED_TEST(OnlineSoftmax, HoldsLargeScores) {
  const Array<float> scores{1e4f, -1e4f, 9999, 0, 1e4f};
  expect_softmax(in_pieces<TypeParam>(scores, {1, 3}), scores);
  const Array<float> low{-3e38f, -3e38f};
  expect_softmax(in_pieces<TypeParam>(low, {1}), low);
}

}  // namespace
}  // namespace posenc

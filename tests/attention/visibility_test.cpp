// SPDX-License-Identifier: Apache-2.0
#include "posenc/attention/visibility.hpp"

#include <gtest/gtest.h>

#include "attention/question.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::ask;
using reference::Given;
using reference::Question;
constexpr float hidden = -reference::infinity;

AttentionArguments arguments(Index queries, Index keys, bool causal,
                             std::optional<Index> offset = {}) {
  AttentionArguments a{};
  a.shape.queries = queries;
  a.shape.keys = keys;
  a.causal = causal;
  a.query_offset = offset;
  return a;
}
Array<Index> last_keys(const AttentionArguments& a) {
  const Visibility visibility(a);
  Array<Index> last(a.shape.queries);
  for (Index t = 0; t < a.shape.queries; ++t) {
    EXPECT_EQ(visibility.seen(t).head, 0);
    EXPECT_EQ(visibility.seen(t).main.first, 0);
    last[t] = visibility.seen(t).main.last;
  }
  return last;
}

TEST(Visibility, ShowsEveryKeyWithoutARule) {
  EXPECT_EQ(last_keys(arguments(3, 5, false)), (Array<Index>{5, 5, 5}));
}

TEST(Visibility, PlacesTheLastQueryAtTheLastKey) {
  EXPECT_EQ(last_keys(arguments(3, 5, true)), (Array<Index>{3, 4, 5}));
  EXPECT_EQ(last_keys(arguments(4, 4, true)), (Array<Index>{1, 2, 3, 4}));
  EXPECT_EQ(last_keys(arguments(5, 2, true)), (Array<Index>{0, 0, 0, 1, 2}));
}

TEST(Visibility, FollowsAnExplicitOffset) {
  EXPECT_EQ(last_keys(arguments(3, 5, true, 0)), (Array<Index>{1, 2, 3}));
  EXPECT_EQ(last_keys(arguments(3, 5, true, -2)), (Array<Index>{0, 0, 1}));
  EXPECT_EQ(last_keys(arguments(3, 5, true, 100)), (Array<Index>{5, 5, 5}));
}

TEST(Visibility, ShowsNothingWhereThereIsNothing) {
  const AttentionArguments a = arguments(2, 0, true);
  EXPECT_TRUE(Visibility(a).seen(0).hull().empty());
  EXPECT_TRUE(Visibility(a).seen(1).hull().empty());
}

/// Every rule at once against a predicate written down key by key.
TEST(Visibility, AgreesWithTheRulesKeyByKey) {
  reference::Random random(7);
  const auto upto = [&](Index n) { return random.below(n + 1); };
  for (int trial = 0; trial < 4000; ++trial) {
    reference::Question q{.shape = {.queries = upto(6), .keys = upto(9)}};
    q.causal = upto(1) == 1;
    if (upto(2) == 0) q.query_offset = upto(16) - 4;
    if (upto(1) == 0) q.window.left = upto(4);
    if (upto(1) == 0) q.window.right = upto(4);
    if (upto(1) == 0) q.window.first = upto(4);
    if (upto(1) == 0) q.window.chunk = upto(5);
    if (upto(2) == 0) q.prefix = upto(12);
    if (upto(2) == 0) q.key_gap = {.at = upto(5), .by = upto(5)};
    AttentionArguments a = arguments(q.shape.queries, q.shape.keys, q.causal, q.query_offset);
    a.window = q.window;
    a.prefix = q.prefix;
    a.key_gap = q.key_gap;
    const Visibility visibility(a);
    for (Index t = 0; t < q.shape.queries; ++t) {
      const SeenKeys seen = visibility.seen(t);
      EXPECT_TRUE(seen.head == 0 || (seen.head < seen.main.first && visibility.has_gaps()));
      for (Index j = 0; j < q.shape.keys; ++j) {
        ASSERT_EQ(visibility.visible(0, 0, t, j), q.shows(0, t, j))
            << "trial " << trial << " t " << t << " j " << j;
        ASSERT_EQ(seen.meets(j, j + 1), q.shows(0, t, j));
      }
    }
  }
}

TEST(Visibility, SelectsByABooleanMask) {
  const Array<std::uint8_t> allowed{1, 0, 255, 0, 1, 1};  // [T 2, S 3]
  AttentionArguments a = arguments(2, 3, false);
  a.mask = {.allowed = allowed.data(), .row = 3, .column = 1};
  const Visibility visibility(a);
  EXPECT_TRUE(visibility.has_mask());
  EXPECT_TRUE(visibility.visible(0, 0, 0, 2));
  EXPECT_FALSE(visibility.visible(0, 0, 0, 1));
  EXPECT_FALSE(visibility.visible(5, 7, 1, 0)) << "strides of 0 broadcast";
  Array<float> scores{1, reference::nan, 3};
  visibility.apply_mask(0, 0, 0, 0, scores.data(), 3);
  EXPECT_EQ(scores, (Array<float>{1, hidden, 3}));
  Array<float> part{2, 4};
  visibility.apply_mask(0, 0, 1, 1, part.data(), 2);
  EXPECT_EQ(part, (Array<float>{2, 4}));
}

TEST(Visibility, AddsAFloatMaskAndSelectsWhereItIsMinusInfinity) {
  const Array<float> bias{0.5f, hidden, -0.5f};
  AttentionArguments a = arguments(1, 3, false);
  a.mask = {.bias = bias.data(), .column = 1};
  const Visibility visibility(a);
  EXPECT_TRUE(visibility.visible(0, 0, 0, 0));
  EXPECT_FALSE(visibility.visible(0, 0, 0, 1));
  Array<float> scores{1, reference::nan, 3};
  visibility.apply_mask(0, 0, 0, 0, scores.data(), 3);
  EXPECT_EQ(scores, (Array<float>{1.5f, hidden, 2.5f}));
}

TEST(Visibility, HidesWithoutAddingForRunningSums) {
  const Array<float> bias{0.5f, hidden, 2};
  AttentionArguments a = arguments(1, 3, false);
  a.mask = {.bias = bias.data(), .column = 1};
  Array<float> scores{1, 2, 3};
  Visibility(a).hide_masked(0, 0, 0, 0, scores.data(), 3);
  EXPECT_EQ(scores, (Array<float>{1, hidden, 3}));
}

TEST(Visibility, FindsMasksByAllFourStrides) {
  Array<std::uint8_t> allowed(2 * 3 * 4 * 5);
  for (Index i = 0; i < allowed.size(); ++i)
    allowed[i] = static_cast<std::uint8_t>(i % 7 == 0 ? 0 : 1);
  AttentionArguments a = arguments(4, 5, false);
  a.mask = {.allowed = allowed.data(), .batch = 60, .head = 20, .row = 5, .column = 1};
  const Visibility visibility(a);
  for (Index b = 0; b < 2; ++b)
    for (Index h = 0; h < 3; ++h)
      for (Index t = 0; t < 4; ++t)
        for (Index j = 0; j < 5; ++j)
          EXPECT_EQ(visibility.visible(b, h, t, j), (((b * 3 + h) * 4 + t) * 5 + j) % 7 != 0);
}

TEST(Visibility, CombinesTheMaskWithTheCausalRule) {
  const Array<std::uint8_t> allowed{0, 1, 1};
  AttentionArguments a = arguments(3, 3, true);
  a.mask = {.allowed = allowed.data(), .column = 1};
  const Visibility visibility(a);
  EXPECT_FALSE(visibility.visible(0, 0, 0, 0));
  EXPECT_FALSE(visibility.visible(0, 0, 0, 1));
  EXPECT_TRUE(visibility.visible(0, 0, 1, 1));
  EXPECT_FALSE(visibility.visible(0, 0, 1, 2));
}

/// One row of a windowed prefill is a call on its window alone, at any window and length.
TEST(AttentionWindow, GivesEachRowItsOwnSmallerCall) {
  for (Index keys : {1, 2, 7, 20, 70})
    for (Index total : {1, 2, 3, 6, 19, 20, 21, 100}) {
      Question all = Question::of({.queries = keys, .keys = keys, .head_dim = 3, .value_dim = 2});
      all.causal = true;
      all.window = Window::from_total(total);
      all.tiles = {.queries = 5, .keys = 16};
      const Given got = ask(all);
      for (Index t = 0; t < keys; ++t) {
        const Index first = std::max<Index>(0, t - total + 1), n = t - first + 1;
        Question row{.shape = {.queries = 1, .keys = n, .head_dim = 3, .value_dim = 2}};
        const auto part = [](const Array<float>& x, Index from, Index rows, Index width) {
          Array<float> y(rows * width);
          std::copy_n(x.data() + from * width, y.size(), y.data());
          return y;
        };
        row.q = part(all.q, t, 1, 3), row.k = part(all.k, first, n, 3);
        row.v = part(all.v, first, n, 2);
        const Given want = ask(row);
        for (Index c = 0; c < 2; ++c)
          ASSERT_NEAR(got.output[t * 2 + c], want.output[c], 1e-6)
              << "S " << keys << " W " << total << " t " << t;
        ASSERT_NEAR(got.log_sum_exp[t], want.log_sum_exp[0], 2e-6);
      }
    }
}

// I7, I8, I10: of six keys a window of three.
TEST(AttentionWindow, CountsTheQuerysOwnKeyInItsTotal) {
  Question q = Question::counting(6, 6);
  q.causal = true;
  q.window = Window::from_total(3);
  EXPECT_TRUE(reference::close(ask(q).output, {1, 1.5, 2, 3, 4, 5}, 1e-6));
}

}  // namespace
}  // namespace posenc

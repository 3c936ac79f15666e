// SPDX-License-Identifier: Apache-2.0
/// Masks of every form, rows that see nothing, and what hidden tokens may hold.
#include "arches.hpp"
#include "attention/question.hpp"

namespace posenc {
namespace {

using reference::answer;
using reference::Array;
using reference::ask;
using reference::expect_close;
using reference::Given;
using reference::infinity;
using reference::Mask;
using reference::nan;
using reference::Question;
using reference::Random;
using reference::same_bits;
using reference::succeeds;

template <class A>
class Masks : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(Masks, Arches);

constexpr AttentionShape shape{.batch = 2,
                               .heads = 4,
                               .kv_heads = 2,
                               .queries = 11,
                               .keys = 37,
                               .head_dim = 5,
                               .value_dim = 6};
constexpr TileSizes small_tiles{.queries = 8, .keys = 16};

enum class Form { boolean, additive };

/// Hides about a third of the keys, and everything from the row `empty`.
Mask random_mask(Form form, std::array<Index, 4> extents, std::uint64_t seed, Index empty = -1) {
  Mask mask{.extents = extents};
  Random random(seed);
  if (form == Form::boolean) mask.allowed = Array<std::uint8_t>(mask.size());
  if (form == Form::additive) mask.bias = random.floats(mask.size());
  for (Index i = 0; i < mask.size(); ++i) {
    const Index row = i / extents[3] % extents[2];
    const bool hidden = random.uniform() < 0.3 || (extents[2] > 1 && row == empty);
    if (form == Form::boolean)
      mask.allowed[i] = hidden ? 0 : static_cast<std::uint8_t>(1 + random.below(255));
    if (form == Form::additive && hidden) mask.bias[i] = -infinity;
  }
  return mask;
}

TYPED_TEST(Masks, BroadcastOverAnyExtents) {
  for (Form form : {Form::boolean, Form::additive})
    for (unsigned bits = 0; bits < 16; ++bits) {
      const auto extent = [&](unsigned axis, Index full) {
        return (bits >> axis & 1) != 0 ? full : 1;
      };
      Question question = Question::of(shape, bits);
      question.mask =
          random_mask(form, {extent(0, 2), extent(1, 4), extent(2, 11), extent(3, 37)}, bits + 50);
      question.causal = bits % 3 == 0;
      question.tiles = small_tiles;
      SCOPED_TRACE(bits);
      expect_close(question, ask<TypeParam>(question), answer(question));
    }
}

TYPED_TEST(Masks, LeaveZerosWhereARowSeesNothing) {
  for (Form form : {Form::boolean, Form::additive})
    for (Index empty : {0, 4, 10}) {
      Question question = Question::of(shape);
      question.mask = random_mask(form, {1, 1, 11, 37}, 3, empty);
      question.tiles = small_tiles;
      const Given got = ask<TypeParam>(question);
      expect_close(question, got, answer(question));
      for (Index plane = 0; plane < 8; ++plane) {
        const Index row = plane * 11 + empty;
        EXPECT_EQ(got.log_sum_exp[row], -infinity);
        for (Index c = 0; c < 6; ++c) EXPECT_TRUE(same_bits(got.output[row * 6 + c], 0.0f));
        for (Index j = 0; j < 37; ++j) EXPECT_TRUE(same_bits(got.weights[row * 37 + j], 0.0f));
      }
    }
}

TYPED_TEST(Masks, ReachOnlyWhatTheCausalRuleLeaves) {
  // More queries than keys: the first rows see nothing at all.
  Question question = Question::of({.queries = 40, .keys = 21, .head_dim = 4, .value_dim = 3});
  question.causal = true;
  question.mask = random_mask(Form::boolean, {1, 1, 40, 21}, 5);
  question.tiles = small_tiles;
  const Given got = ask<TypeParam>(question);
  expect_close(question, got, answer(question));
  for (Index t = 0; t < 19; ++t) EXPECT_EQ(got.log_sum_exp[t], -infinity);
}

/// Puts `stray` into the hidden keys and values; nothing of it may show.
template <class Arch>
void expect_hidden(Question question, const std::function<bool(Index, Index)>& hidden,
                   float stray) {
  question.tiles = small_tiles;
  const Given clean = ask<Arch>(question);
  ASSERT_TRUE(succeeds(clean.status));
  const AttentionShape& s = question.shape;
  for (Index plane = 0; plane < s.batch * s.kv_heads; ++plane)
    for (Index j = 0; j < s.keys; ++j) {
      if (!hidden(plane / s.kv_heads, j)) continue;
      for (Index c = 0; c < s.head_dim; ++c)
        question.k[(plane * s.keys + j) * s.head_dim + c] = stray;
      for (Index c = 0; c < s.value_dim; ++c)
        question.v[(plane * s.keys + j) * s.value_dim + c] = stray;
    }
  const Given dirty = ask<Arch>(question);
  for (float value : dirty.output) ASSERT_TRUE(std::isfinite(value));
  EXPECT_TRUE(
      reference::close(dirty.output, answer(question).output, reference::attention_tolerance));
  EXPECT_TRUE(dirty.weights.same_bits(clean.weights));
  EXPECT_TRUE(dirty.log_sum_exp.same_bits(clean.log_sum_exp));
  question.wants_weights = false;
  EXPECT_TRUE(ask<Arch>(question).output.same_bits(dirty.output));
}

TYPED_TEST(Masks, NeverLetWhatTheyHideShow) {
  for (float stray : {nan, infinity, -infinity}) {
    Question question = Question::of(shape);
    question.mask = {.extents = {2, 1, 1, 37}, .allowed = Array<std::uint8_t>(74, 1)};
    const auto hidden = [](Index b, Index j) { return b == 0 ? j >= 30 : j % 5 == 2; };
    for (Index i = 0; i < 74; ++i) question.mask.allowed[i] = hidden(i / 37, i % 37) ? 0 : 1;
    expect_hidden<TypeParam>(question, hidden, stray);

    question.mask = {.extents = {2, 1, 1, 37}, .bias = Array<float>(74, 0.5f)};
    for (Index i = 0; i < 74; ++i)
      if (hidden(i / 37, i % 37)) question.mask.bias[i] = -infinity;
    expect_hidden<TypeParam>(question, hidden, stray);

    question.mask = {};
    question.causal = true;
    question.query_offset = 10;  // the last query stands at key 20
    expect_hidden<TypeParam>(question, [](Index, Index j) { return j > 20; }, stray);
  }
}

TYPED_TEST(Masks, LetAVisibleNaNReachExactlyTheRowsThatSeeIt) {
  for (bool in_value : {false, true}) {
    Question question = Question::of({.queries = 30, .keys = 30, .head_dim = 4, .value_dim = 3});
    question.causal = true;
    question.tiles = small_tiles;
    (in_value ? question.v[17 * 3 + 1] : question.k[17 * 4 + 2]) = nan;
    const Given got = ask<TypeParam>(question);
    ASSERT_TRUE(succeeds(got.status));
    for (Index t = 0; t < 30; ++t) {
      const bool sees = t >= 17;
      for (Index c = 0; c < 3; ++c)
        EXPECT_EQ(std::isnan(got.output[t * 3 + c]), sees && (!in_value || c == 1))
            << t << ' ' << c;
      EXPECT_EQ(std::isnan(got.log_sum_exp[t]), sees && !in_value) << t;
      EXPECT_EQ(std::isnan(got.weights[t * 30]), sees && !in_value) << t;
    }
  }
}

TYPED_TEST(Masks, LetANaNQueryReachItsOwnRowAlone) {
  Question question = Question::of({.queries = 13, .keys = 30, .head_dim = 4, .value_dim = 3});
  question.q[6 * 4] = nan;
  question.tiles = small_tiles;
  const Given got = ask<TypeParam>(question);
  for (Index t = 0; t < 13; ++t)
    for (Index c = 0; c < 3; ++c) EXPECT_EQ(std::isnan(got.output[t * 3 + c]), t == 6);
}

TYPED_TEST(Masks, PassAnInfiniteValueOnAsItIs) {
  Question question = Question::of({.queries = 5, .keys = 20, .head_dim = 4, .value_dim = 2});
  question.v[7 * 2] = infinity;
  expect_close(question, ask<TypeParam>(question), answer(question));
}

}  // namespace
}  // namespace posenc

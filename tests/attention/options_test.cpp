// SPDX-License-Identifier: Apache-2.0
/// The options of attention, all of them at once and in every combination that chance comes up with,
/// against the reference; and what must not change a bit.
#include <gtest/gtest.h>

#include "arches.hpp"
#include "attention/question.hpp"
#include "posenc/attention/merge.hpp"

namespace posenc {
namespace {

using reference::answer;
using reference::Array;
using reference::ask;
using reference::expect_close;
using reference::fails_with;
using reference::Given;
using reference::infinity;
using reference::Question;
using reference::Random;
using reference::succeeds;

template <class A>
class AttentionOptions : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(AttentionOptions, Arches);

struct Dice {
  Random random;
  bool one_in(Index n) { return random.below(n) == 0; }
  Index upto(Index n) { return random.below(n + 1); }
};

void add_mask(Question& q, Dice& dice) {
  const AttentionShape& s = q.shape;
  const auto extent = [&](Index n) { return dice.one_in(2) ? 1 : n; };
  q.mask.extents = {extent(s.batch), extent(s.heads), extent(s.queries), extent(s.keys)};
  const bool floats = dice.one_in(2);
  if (floats)
    q.mask.bias = dice.random.floats(q.mask.size());
  else
    q.mask.allowed = Array<std::uint8_t>(q.mask.size(), 1);
  for (Index i = 0; i < q.mask.size(); ++i)
    if (dice.one_in(4)) floats ? q.mask.bias[i] = -infinity : q.mask.allowed[i] = 0;
}

/// Lengths per batch entry, or several sequences one after the other with room between them.
void add_sequences(Question& q, Dice& dice) {
  const AttentionShape& s = q.shape;
  for (Index b = 0; b < s.batch; ++b)
    for (Index t = 0, j = 0, n = dice.upto(3); n-- > 0;) {
      Sequence one{.batch = b,
                   .first_query = t,
                   .queries = dice.upto(s.queries - t),
                   .first_key = j,
                   .keys = dice.upto(s.keys - j)};
      if (dice.one_in(3)) one.query_offset = dice.upto(s.keys);
      if (dice.one_in(3)) one.prefix = dice.upto(5);
      q.sequences.push_back(one);
      t += one.queries;
      j += one.keys;
    }
}

HeadNorm random_norm(Dice& dice, Index heads, const Array<float>& weights) {
  if (!dice.one_in(4)) return {};
  HeadNorm norm{.kind = dice.one_in(2) ? HeadNorm::Kind::rms : HeadNorm::Kind::l2};
  if (!dice.one_in(3)) norm.weight = weights.data();
  if (dice.one_in(2)) norm.weight_heads = heads;
  norm.epsilon = dice.one_in(2) ? 1e-6 : 0.5;
  norm.after_rotation = dice.one_in(2);
  return norm;
}

Question random_question(std::uint64_t seed) {
  Dice dice{Random(seed)};
  const Index kv_heads = 1 + dice.upto(1);
  Question q = Question::of({.batch = 1 + dice.upto(1),
                             .heads = kv_heads * (1 + dice.upto(2)),
                             .kv_heads = kv_heads,
                             .queries = dice.upto(37),
                             .keys = dice.upto(75),
                             .head_dim = dice.upto(9),
                             .value_dim = dice.upto(9)},
                            seed);
  q.causal = dice.one_in(2);
  if (dice.one_in(3)) q.query_offset = dice.upto(90) - 20;
  if (dice.one_in(2)) q.window.left = dice.upto(30);
  if (dice.one_in(3)) q.window.right = dice.upto(30);
  if (dice.one_in(3)) q.window.first = dice.upto(20);
  if (dice.one_in(4)) q.window.chunk = 1 + dice.upto(40);
  if (dice.one_in(3)) q.prefix = dice.upto(20);
  if (dice.one_in(3)) add_mask(q, dice);
  if (dice.one_in(3))
    add_sequences(q, dice);
  else if (dice.one_in(3))
    q.key_gap = {.at = dice.upto(q.shape.keys), .by = dice.upto(40)};
  if (dice.one_in(3)) q.softcap = 0.25 + 3 * dice.random.uniform();
  if (dice.one_in(3)) q.sinks = dice.random.floats(q.shape.heads, 3);
  if (dice.one_in(3))
    q.query_scale = {.kind = static_cast<QueryScale::Kind>(1 + dice.upto(2)),
                     .length = static_cast<double>(2 + dice.upto(9)),
                     .factor = 0.1};
  if (dice.one_in(3)) q.scale = 0.1 + dice.random.uniform();
  static const Array<float> weights = Random(99).floats(9 * 6);
  q.q_norm = random_norm(dice, q.shape.heads, weights);
  q.k_norm = random_norm(dice, q.shape.kv_heads, weights);
  q.tiles = {.queries = 1 + dice.upto(20), .keys = 1 + dice.upto(40)};
  q.rows_first = dice.one_in(2);
  q.wants_weights = !dice.one_in(4);
  q.wants_log_sum_exp = !dice.one_in(4);
  return q;
}

TYPED_TEST(AttentionOptions, AgreeWithTheReferenceInEveryCombination) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const Question q = random_question(seed);
    expect_close(q, ask<TypeParam>(q), answer(q));
    if (this->HasFatalFailure()) return;
  }
}

/// Windows, gaps and lengths leave tiles out; a mask that hides the same keys leaves none out.
TYPED_TEST(AttentionOptions, SkipTilesWithoutChangingABit) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Question q = random_question(seed);
    if (!q.sequences.empty() || q.mask.bias.size() > 0) continue;
    Question masked = q;
    masked.causal = false;
    masked.window = {};
    masked.prefix = 0;
    masked.mask = {.extents = {q.shape.batch, q.shape.heads, q.shape.queries, q.shape.keys}};
    masked.mask.allowed = Array<std::uint8_t>(masked.mask.size());
    Index at = 0;
    for (Index b = 0; b < q.shape.batch; ++b)
      for (Index h = 0; h < q.shape.heads; ++h)
        for (Index t = 0; t < q.shape.queries; ++t)
          for (Index j = 0; j < q.shape.keys; ++j)
            masked.mask.allowed[at++] =
                q.shows(b, t, j) &&
                (q.mask.allowed.size() == 0 || q.mask.allowed[q.mask.at(b, h, t, j)] != 0);
    const Given got = ask<TypeParam>(q), want = ask<TypeParam>(masked);
    ASSERT_TRUE(succeeds(got.status));
    ASSERT_TRUE(got.output.same_bits(want.output));
    ASSERT_TRUE(got.weights.same_bits(want.weights));
    ASSERT_TRUE(got.log_sum_exp.same_bits(want.log_sum_exp));
  }
}

TYPED_TEST(AttentionOptions, LetNothingOutThatIsHidden) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Question q = random_question(seed);
    const Given want = ask<TypeParam>(q);
    // Keys that no query of their head sees.
    const AttentionShape& s = q.shape;
    for (Index b = 0; b < s.batch; ++b)
      for (Index g = 0; g < s.kv_heads; ++g)
        for (Index j = 0; j < s.keys; ++j) {
          bool seen = false;
          for (Index h = g * s.group(); h < (g + 1) * s.group(); ++h)
            for (Index t = 0; t < s.queries; ++t) {
              const Index at = q.mask.at(b, h, t, j);
              seen = seen ||
                     (q.shows(b, t, j) && (q.mask.allowed.size() == 0 || q.mask.allowed[at] != 0) &&
                      (q.mask.bias.size() == 0 || q.mask.bias[at] != -infinity));
            }
          if (seen) continue;
          const Index row = (b * s.kv_heads + g) * s.keys + j;
          for (Index c = 0; c < s.head_dim; ++c) q.k[row * s.head_dim + c] = reference::nan;
          for (Index c = 0; c < s.value_dim; ++c) q.v[row * s.value_dim + c] = infinity;
        }
    const Given got = ask<TypeParam>(q);
    ASSERT_TRUE(got.output.same_bits(want.output));
    ASSERT_TRUE(got.weights.same_bits(want.weights));
    ASSERT_TRUE(got.log_sum_exp.same_bits(want.log_sum_exp));
  }
}

TYPED_TEST(AttentionOptions, ChangeNoBitOfTheOutputWhenMoreIsAskedFor) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Question q = random_question(seed);
    const Given some = ask<TypeParam>(q);
    q.wants_weights = q.wants_log_sum_exp = true;
    ASSERT_TRUE(ask<TypeParam>(q).output.same_bits(some.output)) << "seed " << seed;
  }
}

// J3.
TEST(AttentionSoftcap, CapsAScore) {
  Question q = Question::counting(1, 1);
  q.q = {100}, q.k = {1}, q.scale = 1, q.softcap = 50;
  EXPECT_NEAR(ask(q).log_sum_exp[0], 48.201379, 1e-5);
}

// J1: what is hidden before the cap stays hidden after it.
TEST(AttentionSoftcap, ComesBeforeTheMask) {
  Question q = Question::counting(1, 2);
  q.softcap = 1;
  q.mask = {.extents = {1, 1, 1, 2}, .bias = {0, -infinity}};
  EXPECT_EQ(ask(q).weights, (Array<float>{1, 0}));
}

// J5, J6: a sink of 0 adds 1 to the denominator, whatever the largest score is, and does so once
// although the first tiles are hidden.
TEST(AttentionSinks, CountOnceInTheDenominator) {
  Question q = Question::counting(1, 2);
  q.q = {1}, q.k = {1, 2}, q.scale = 1, q.sinks = {0};
  EXPECT_TRUE(reference::close(ask(q).weights, {0.244728, 0.665241}, 1e-6));
  q.k = {1000, 1000};
  EXPECT_TRUE(reference::close(ask(q).weights, {0.5, 0.5}, 1e-6));

  Question late = Question::counting(1, 70);
  late.sinks = {2};
  late.tiles.keys = 8;
  late.mask = {.extents = {1, 1, 1, 70}, .allowed = Array<std::uint8_t>(70)};
  late.mask.allowed[69] = 1;
  late.v[69] = 5;
  EXPECT_NEAR(ask(late).output[0], 0.596015, 1e-6);
  late.sinks = {-infinity};
  EXPECT_EQ(ask(late).output[0], 5);
}

TEST(AttentionSinks, MakeNothingOfARowThatSeesNoKey) {
  Question q = Question::counting(2, 1);
  q.causal = true;
  q.sinks = {0.5f};
  const Given got = ask(q);
  EXPECT_EQ(got.output[0], 0);
  EXPECT_EQ(got.log_sum_exp[0], -infinity);
}

// I24, and rows and columns of no sequence.
TEST(AttentionSequences, SeeNothingOfEachOther) {
  Question q = Question::counting(4, 4);
  q.causal = true;
  q.sequences = {{.queries = 2, .keys = 2},
                 {.first_query = 2, .queries = 2, .first_key = 2, .keys = 2}};
  EXPECT_TRUE(reference::close(ask(q).output, {1, 1.5, 3, 3.5}, 1e-6));
  q.sequences = {{.first_query = 1, .queries = 2, .keys = 3, .query_offset = 1}};
  const Given got = ask(q);
  EXPECT_TRUE(reference::close(got.output, {0, 1.5, 2, 0}, 1e-6));
  EXPECT_EQ(got.log_sum_exp[0], -infinity);
  EXPECT_EQ(got.log_sum_exp[3], -infinity);
  EXPECT_EQ(got.weights[1 * 4 + 3], 0);
}

TEST(Merge, PutsSplitKeysTogetherExactly) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Dice dice{Random(seed)};
    const AttentionShape s{
        .batch = 2, .heads = 2, .queries = 5, .keys = 30, .head_dim = 4, .value_dim = 70};
    AttentionShape all = s;
    all.kv_heads = 2;
    Question whole = Question::of(all, seed);
    whole.mask = {.extents = {1, 1, 5, 30}, .allowed = Array<std::uint8_t>(150)};
    for (Index i = 0; i < 150; ++i) whole.mask.allowed[i] = dice.one_in(6);
    whole.sinks = dice.random.floats(2);
    const Index cut = dice.upto(30);
    Question left = whole, right = whole;
    left.sinks = right.sinks = {};  // the whole counts them, once
    for (Index i = 0; i < 150; ++i) (i % 30 < cut ? right : left).mask.allowed[i] = 0;
    Given a = ask(left), b = ask(right);
    for (Index row = 0; row < 20; ++row)
      if (b.log_sum_exp[row] == -infinity) b.output[row * 70] = reference::nan;
    const PartialResult parts[] = {
        {Tensor4<const float>::bhnd(a.output.data(), 2, 5, 70), a.log_sum_exp.data()},
        {Tensor4<const float>::bhnd(b.output.data(), 2, 5, 70), b.log_sum_exp.data()}};
    merge(parts, s, whole.sinks.data(), Tensor4<float>::bhnd(a.output.data(), 2, 5, 70),
          a.log_sum_exp.data());
    const reference::Answer want = answer(whole);
    ASSERT_TRUE(reference::close(a.output, want.output, reference::attention_tolerance)) << seed;
    ASSERT_TRUE(reference::close(a.log_sum_exp, want.log_sum_exp, reference::attention_tolerance));
  }
}

}  // namespace
}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
/// Attention against the reference over shapes, head groupings, offsets and tile sizes.
#include "posenc/attention/attend.hpp"

#include "arches.hpp"
#include "attention/question.hpp"
#include "reference/options.hpp"

namespace posenc {
namespace {

using reference::answer;
using reference::Array;
using reference::ask;
using reference::expect_close;
using reference::Given;
using reference::Question;
using reference::succeeds;

template <class A>
class Attention : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(Attention, Arches);

TYPED_TEST(Attention, MatchesTheReferenceForEveryPairOfLengths) {
  const Array<Index> extents{0, 1, 2, 3, 5, 7, 8, 17, 33, 64, 65, 130};
  for (Index a = 0; a < extents.size(); ++a)
    for (Index b = 0; b < extents.size(); ++b) {
      const auto other = [&](Index step) {
        return extents[(a * 5 + b * 7 + step) % extents.size()];
      };
      const AttentionShape s{.heads = 2,
                             .kv_heads = 1,
                             .queries = extents[a],
                             .keys = extents[b],
                             .head_dim = other(1),
                             .value_dim = other(4)};
      SCOPED_TRACE(::testing::Message() << "T " << s.queries << " S " << s.keys << " D "
                                        << s.head_dim << " Dv " << s.value_dim);
      Question question = Question::of(s, static_cast<std::uint64_t>(a * 100 + b));
      question.causal = (a + b) % 2 == 0;
      expect_close(question, ask<TypeParam>(question), answer(question));
    }
}

TYPED_TEST(Attention, GroupsHeadsInEveryWay) {
  for (Index kv_heads : {1, 2, 3})
    for (Index group : {1, 2, 4, 7})
      for (Index queries : {1, 3, 20}) {
        Question question = Question::of({.batch = 2,
                                          .heads = kv_heads * group,
                                          .kv_heads = kv_heads,
                                          .queries = queries,
                                          .keys = 21,
                                          .head_dim = 6,
                                          .value_dim = 5});
        question.causal = true;
        question.tiles = {.queries = 8, .keys = 16};
        SCOPED_TRACE(::testing::Message() << kv_heads << " x " << group << " T " << queries);
        expect_close(question, ask<TypeParam>(question), answer(question));
      }
}

TYPED_TEST(Attention, GivesTheSameWhateverTheTileSizes) {
  for (bool causal : {false, true}) {
    Question question = Question::of({.batch = 2,
                                      .heads = 4,
                                      .kv_heads = 2,
                                      .queries = 70,
                                      .keys = 133,
                                      .head_dim = 17,
                                      .value_dim = 9});
    question.causal = causal;
    const reference::Answer want = answer(question);
    for (Index queries : {1, 3, 7, 64, 200})
      for (Index keys : {1, 9, 128, 500}) {
        SCOPED_TRACE(::testing::Message() << queries << " x " << keys);
        question.tiles = {.queries = queries, .keys = keys};
        expect_close(question, ask<TypeParam>(question), want);
      }
  }
}

TYPED_TEST(Attention, PlacesTheQueriesWhereTheOffsetSays) {
  for (Index offset : {-40, -20, -5, -1, 0, 3, 12, 13, 30, 1000}) {
    Question question = Question::of({.queries = 20, .keys = 33, .head_dim = 8, .value_dim = 4});
    question.causal = true;
    question.query_offset = offset;
    question.tiles = {.queries = 8, .keys = 8};
    SCOPED_TRACE(offset);
    expect_close(question, ask<TypeParam>(question), answer(question));
  }
}

TYPED_TEST(Attention, TakesEitherLayoutToTheSameBits) {
  Question question = Question::of({.batch = 2,
                                    .heads = 6,
                                    .kv_heads = 3,
                                    .queries = 13,
                                    .keys = 29,
                                    .head_dim = 10,
                                    .value_dim = 7});
  question.causal = true;
  question.tiles = {.queries = 8, .keys = 16};
  const Given heads_first = ask<TypeParam>(question);
  question.rows_first = true;
  const Given rows_first = ask<TypeParam>(question);
  ASSERT_TRUE(succeeds(rows_first.status));
  EXPECT_TRUE(heads_first.output.same_bits(rows_first.output));
  EXPECT_TRUE(heads_first.weights.same_bits(rows_first.weights));
  EXPECT_TRUE(heads_first.log_sum_exp.same_bits(rows_first.log_sum_exp));
}

TYPED_TEST(Attention, RepeatsItselfToTheBit) {
  Question question = Question::of(
      {.heads = 4, .kv_heads = 2, .queries = 40, .keys = 77, .head_dim = 16, .value_dim = 12});
  const Given first = ask<TypeParam>(question), second = ask<TypeParam>(question);
  EXPECT_TRUE(first.output.same_bits(second.output));
  EXPECT_TRUE(first.weights.same_bits(second.weights));
  EXPECT_TRUE(first.log_sum_exp.same_bits(second.log_sum_exp));
}

TYPED_TEST(Attention, ChangesNoBitOfTheOutputWhenMoreIsAskedFor) {
  Question question = Question::of(
      {.heads = 2, .kv_heads = 1, .queries = 30, .keys = 70, .head_dim = 9, .value_dim = 11});
  question.causal = true;
  question.tiles = {.queries = 16, .keys = 24};
  const Given all = ask<TypeParam>(question);
  for (bool weights : {false, true})
    for (bool log_sum_exp : {false, true}) {
      question.wants_weights = weights;
      question.wants_log_sum_exp = log_sum_exp;
      const Given some = ask<TypeParam>(question);
      EXPECT_TRUE(some.output.same_bits(all.output));
      if (weights) {
        EXPECT_TRUE(some.weights.same_bits(all.weights));
      }
      if (log_sum_exp) {
        EXPECT_TRUE(some.log_sum_exp.same_bits(all.log_sum_exp));
      }
    }
}

TYPED_TEST(Attention, GivesWeightsThatSumToOne) {
  constexpr double tolerance = 200 * 0x1p-24;  // a rounding per key
  Question question = Question::of(
      {.heads = 2, .kv_heads = 2, .queries = 50, .keys = 130, .head_dim = 8, .value_dim = 1});
  question.causal = true;
  const Given got = ask<TypeParam>(question);
  for (Index row = 0; row < 100; ++row) {
    double sum = 0;
    for (Index j = 0; j < 130; ++j) {
      const float weight = got.weights[row * 130 + j];
      EXPECT_GE(weight, 0.0f);
      sum += weight;
    }
    EXPECT_NEAR(sum, 1, tolerance);
  }
}

TYPED_TEST(Attention, KeepsItsGroundAmongLargeLogits) {
  // Integers below 2^24, so that scores of +-1e4 are exact and only the softmax is on trial.
  for (double sign : {1.0, -1.0}) {
    Question question = Question::of({.queries = 9, .keys = 40, .head_dim = 1, .value_dim = 3});
    for (Index t = 0; t < 9; ++t)
      question.q[t] = static_cast<float>(sign * static_cast<double>(t - 4));
    for (Index j = 0; j < 40; ++j) question.k[j] = static_cast<float>(2500 - 37 * ((j * 7) % 40));
    question.scale = 1;
    question.tiles = {.queries = 4, .keys = 8};
    expect_close(question, ask<TypeParam>(question), answer(question),
                 1e-3);  // log-sum-exps near 1e4
    question.wants_log_sum_exp = false;
    expect_close(question, ask<TypeParam>(question), answer(question),
                 reference::attention_tolerance);
  }
}

TYPED_TEST(Attention, KeepsItsGroundAmongTinyLogits) {
  Question question = Question::of({.queries = 5, .keys = 20, .head_dim = 4, .value_dim = 3});
  for (Index i = 0; i < question.q.size(); ++i) question.q[i] *= 1e-30f;
  expect_close(question, ask<TypeParam>(question), answer(question));
}

TYPED_TEST(Attention, TakesAnyScale) {
  for (double scale : {0.0, 1.0, -0.5, 3.0}) {
    Question question = Question::of({.queries = 5, .keys = 20, .head_dim = 4, .value_dim = 3});
    question.scale = scale;
    expect_close(question, ask<TypeParam>(question), answer(question));
  }
}

TEST(Attention, IsWhatTheLibraryRunsByDefault) {
  const Question question = Question::of({.queries = 4, .keys = 6, .head_dim = 3, .value_dim = 2});
  Array<float> out(8);
  ASSERT_TRUE(succeeds(attention({.shape = question.shape,
                                  .q = Tensor4<const float>::bhnd(question.q.data(), 1, 4, 3),
                                  .k = Tensor4<const float>::bhnd(question.k.data(), 1, 6, 3),
                                  .v = Tensor4<const float>::bhnd(question.v.data(), 1, 6, 2),
                                  .output = Tensor4<float>::bhnd(out.data(), 1, 4, 2)})));
  EXPECT_TRUE(out.same_bits(ask(question).output));
}

/// Content terms see what the product sees: keys and queries normalised, temperatures applied.
struct Relation : EncodingDefaults {
  struct Options {};
  static constexpr Spec spec = [] {
    Spec s{};
    s.id = "relation";
    s.sites = {.score = true};
    return s;
  }();
  static constexpr std::array<Field, 0> fields{};
  static Result<Relation> make(Options) { return Relation{}; }
  template <class Arch>
  void score(Arch, const ScoreTile& t) const {  // q·k once more, and the first channel of k
    for (Index i = 0; i < t.scores.rows; ++i)
      for (Index j = 0; j < t.scores.cols; ++j)
        t.scores.row(i)[j] += dot<Arch>(t.q.row(i), t.k.row(j), t.q.cols) +
                              t.scale * t.temperature(i) * t.k.row(j)[0];
  }
};

TEST(HeadNorm, IsSeenByContentTermsAndScaledLikeThem) {
  const Encoding e = reference::made_here<Relation>();
  const Array<float> weight{0.5f, 2, 1};
  for (bool after : {false, true})
    for (const auto& [cap, queries] :
         {std::pair{0.0, Index{9}}, {1.5, Index{9}}, {1.5, Index{2}}}) {
      // Two queries are few enough to read keys as they lie.
      Question q = Question::of({.heads = 2,
                                 .kv_heads = 1,
                                 .queries = queries,
                                 .keys = 21,
                                 .head_dim = 3,
                                 .value_dim = 2});
      q.causal = true;
      q.tiles = {.queries = 4, .keys = 8};
      q.q_norm = {.kind = HeadNorm::Kind::rms, .weight = weight.data(), .after_rotation = after};
      q.k_norm = {.kind = HeadNorm::Kind::l2, .weight = weight.data(), .after_rotation = after};
      q.query_scale = {QueryScale::Kind::llama4, 4, 0.7};
      q.softcap = cap;
      Question plain = q;
      q.encodings = {&e};
      reference::Terms terms;
      const Array<float> qs = reference::normalised(q.q, q.q_norm, 2, queries, 3),
                         ks = reference::normalised(q.k, q.k_norm, 1, 21, 3);
      terms.content = [&, n = queries](Index, Index h, Index t, Index j) {
        double sum = ks[j * 3];
        for (Index c = 0; c < 3; ++c)
          sum += static_cast<double>(qs[(h * n + t) * 3 + c]) * ks[j * 3 + c];
        return sum / std::sqrt(3.0) *
               reference::query_scale(q.query_scale, static_cast<double>(21 - n + t));
      };
      expect_close(q, ask(q), answer(plain, terms));
    }
}

}  // namespace
}  // namespace posenc

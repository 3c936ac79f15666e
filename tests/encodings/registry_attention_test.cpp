// SPDX-License-Identifier: Apache-2.0
/// Every registered encoding through attention, against the reference fed by another path: rows
/// rotated one by one, and score and value terms taken from tiles of a single query and key.
#include "arches.hpp"
#include "attention/question.hpp"
#include "encodings/examples.hpp"
#include "encodings/rotated.hpp"

namespace posenc {
namespace {

using reference::Answer;
using reference::Array;
using reference::ask;
using reference::Given;
using reference::made_example;
using reference::Question;
using reference::Registered;
using reference::registered;

template <class A>
class EveryEncoding : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(EveryEncoding, Arches);

/// Odd lengths, a head width that is no multiple of any vector, and more than one key head.
const reference::Wishes wishes{{"heads", 6}, {"headDim", 10}, {"valueDim", 7}};

/// What attention takes: all but what is added to embeddings before.
std::vector<Registered> acting() {
  std::vector<Registered> acting;
  for (const Registered& r : registered())
    if (r.spec.sites != Sites{.embed = true}) acting.push_back(r);
  return acting;
}

/// Sections and quarters of several axes are made for the width of their own example.
const reference::Wishes& wishes_for(const Registered& r) {
  static const reference::Wishes nothing;
  return r.spec.axes == 1 ? wishes : nothing;
}

/// Encodings that look at more than one pair of positions at a time have tests of their own.
bool is_pairwise(const Encoding& e) {
  return e.traits().axes == 1 && !e.traits().cumulative && e.copies() == 1;
}

AttentionShape shape_for(const Encoding& e) {
  const Index heads = e.heads() != 0 ? e.heads() : 6;
  return {.batch = 2,
          .heads = heads,
          .kv_heads = heads % 2 == 0 && e.table_heads() == 1 ? heads / 2 : heads,
          .queries = 9,
          .keys = 37,
          .head_dim = e.head_dim() != 0 ? e.head_dim() : 10,
          .value_dim = e.value_dim() != 0 ? e.value_dim() : 7};
}

Array<float> row_of(const Array<float>& x, Index row, Index width) {
  Array<float> y(width);
  for (Index c = 0; c < width; ++c) y[c] = x[row * width + c];
  return y;
}

/// x [B, heads, rows, width], each row rotated on its own at its position, and wider where it grows.
Array<float> rotated_rows(const Encoding& e, const Array<float>& x, Index rows, Index width,
                          const Array<double>& p, reference::Rotated who) {
  const Index count = x.size() / width, grown = width + e.rotation().growth();
  Array<float> all(count * grown);
  for (Index row = 0; row < count; ++row) {
    who.head = row / rows % e.table_heads();
    const Array<float> y =
        reference::rotated(e, row_of(x, row, width), {p[row % rows]}, false, who);
    for (Index c = 0; c < grown; ++c) all[row * grown + c] = y[c];
  }
  return all;
}

/// Tokens seen in all: one more than the greatest position.
double length_of(const Question& question) {
  double length = 0;
  for (const Array<double>* p : {&question.query_positions, &question.key_positions})
    for (double each : *p) length = std::max(length, each + 1);
  return length;
}

/// The answer with the terms of `e`, by the other path. Positions are one shared set each.
Answer expected(Question question, const Encoding& e, double scale) {
  const AttentionShape s = question.shape;
  const Array<float> keys_as_given = question.k;
  if (e.traits().sites.rotate) {
    const double length = length_of(question);
    question.q = rotated_rows(e, question.q, s.queries, s.head_dim, question.query_positions,
                              {.role = Role::query, .length = length});
    question.k = rotated_rows(e, question.k, s.keys, s.head_dim, question.key_positions,
                              {.role = Role::key, .length = length});
    question.shape.head_dim += e.rotation().growth();
  }
  question.scale = scale;
  reference::Terms terms;
  if (e.traits().sites.score)
    terms.bias = [&](Index b, Index h, Index t, Index j) -> double {
      Array<float> q = row_of(question.q, (b * s.heads + h) * s.queries + t, s.head_dim);
      for (Index c = 0; c < s.head_dim; ++c) q[c] *= static_cast<float>(scale);
      const Index kv = b * s.kv_heads + h / s.group();
      const Array<float> k = row_of(keys_as_given, kv * s.keys + j, s.head_dim);
      const Array<double> at{question.query_positions[t], question.key_positions[j]};
      Array<float> scratch(e.score_scratch(1, 1));
      float score = 0;
      e.score({.scores = {&score, 1, 1, 1},
               .q = {q.data(), 1, s.head_dim, s.head_dim},
               .k = {k.data(), 1, s.head_dim, s.head_dim},
               .q_pos = Positions::of(at.data(), 1),
               .k_pos = Positions::of(at.data() + 1, 1),
               .head = h,
               .scale = static_cast<float>(scale),
               .scratch = scratch.data()});
      return score;
    };
  if (e.traits().sites.value)
    terms.value = [&](Index, Index h, Index t, Index j, Index c) -> double {
      const Array<double> at{question.query_positions[t], question.key_positions[j]};
      const float weight = 1;
      Array<float> out(s.value_dim);
      e.value({.weights = {&weight, 1, 1, 1},
               .out = {out.data(), 1, s.value_dim, s.value_dim},
               .q_pos = Positions::of(at.data(), 1),
               .k_pos = Positions::of(at.data() + 1, 1),
               .head = h});
      return out[c];
    };
  return reference::answer(question, terms);
}

/// The encoding's wish for the scale, else 1 / sqrt(D); whatever multiplies it included.
double scale_of(const Encoding& e, Index head_dim) {
  return e.score_scale(head_dim).value_or(1 / std::sqrt(static_cast<double>(head_dim))) *
         e.logit_scale();
}

TYPED_TEST(EveryEncoding, MatchesTheReferenceThroughAttention) {
  using Arch = TypeParam;
  for (const Registered& r : acting()) {
    SCOPED_TRACE(std::string(r.spec.id));
    const Encoding e = made_example<Arch>(r, wishes_for(r));
    if (!is_pairwise(e)) continue;
    const AttentionShape s = shape_for(e);
    Question question = Question::of(s);
    question.encodings = {&e};
    question.query_positions =
        reference::counted(s.queries, static_cast<double>(s.keys - s.queries));
    question.key_positions = reference::counted(s.keys);
    for (bool causal : {false, true}) {
      question.causal = causal;
      const Answer want = expected(question, e, scale_of(e, s.head_dim));
      for (const TileSizes& tiles : {TileSizes{}, TileSizes{.queries = 4, .keys = 8},
                                     TileSizes{.queries = 16, .keys = 16}}) {
        question.tiles = tiles;
        reference::expect_close(question, ask<Arch>(question), want);
      }
    }
  }
}

TYPED_TEST(EveryEncoding, MatchesTheReferenceAtScatteredPositions) {
  using Arch = TypeParam;
  for (const Registered& r : acting()) {
    SCOPED_TRACE(std::string(r.spec.id));
    const Encoding e = made_example<Arch>(r, wishes_for(r));
    if (!is_pairwise(e)) continue;
    const AttentionShape s = shape_for(e);
    Question question = Question::of(s, 7);
    question.encodings = {&e};
    question.query_positions = Array<double>(s.queries);
    question.key_positions = Array<double>(s.keys);
    reference::Random random(8);
    for (Array<double>* p : {&question.query_positions, &question.key_positions})
      for (Index i = 0; i < p->size(); ++i) (*p)[i] = static_cast<double>(random.below(60));
    question.tiles = {.queries = 8, .keys = 16};
    reference::expect_close(question, ask<Arch>(question),
                            expected(question, e, scale_of(e, s.head_dim)));
  }
}

TYPED_TEST(EveryEncoding, GivesDefaultPositionsTheSameBitsAsExplicitOnes) {
  using Arch = TypeParam;
  for (const Registered& r : acting()) {
    SCOPED_TRACE(std::string(r.spec.id));
    const Encoding e = made_example<Arch>(r, wishes_for(r));
    if (r.spec.axes > 1) continue;
    const AttentionShape s = shape_for(e);
    Question question = Question::of(s, 3);
    question.encodings = {&e};
    question.causal = true;
    const Given by_default = ask<Arch>(question);
    question.query_positions =
        reference::counted(s.queries, static_cast<double>(s.keys - s.queries));
    question.key_positions = reference::counted(s.keys);
    ASSERT_TRUE(reference::succeeds(by_default.status));
    EXPECT_TRUE(by_default.output.same_bits(ask<Arch>(question).output));
  }
}

TEST(EveryEncoding, DependsOnDifferencesOfPositionsWhereItSaysSo) {
  for (const Registered& r : acting()) {
    SCOPED_TRACE(std::string(r.spec.id));
    const Encoding e = made_example(r, wishes_for(r));
    if (r.spec.axes > 1 || !r.spec.relative) continue;
    const AttentionShape s = shape_for(e);
    Question question = Question::of(s, 4);
    question.encodings = {&e};
    const auto shifted = [&](double by) {
      question.query_positions =
          reference::counted(s.queries, by + static_cast<double>(s.keys - s.queries));
      question.key_positions = reference::counted(s.keys, by);
      return ask(question);
    };
    const Given here = shifted(0);
    for (double by : {1.0, 1000.0, -300.0}) {
      const Given there = shifted(by);
      ASSERT_TRUE(reference::succeeds(there.status));
      for (Index i = 0; i < here.output.size(); ++i)
        ASSERT_NEAR(here.output[i], there.output[i], reference::attention_tolerance) << by;
    }
  }
}

TEST(EveryEncoding, TakesASetOfPositionsForEachSequence) {
  for (const Registered& r : acting()) {
    SCOPED_TRACE(std::string(r.spec.id));
    const Encoding e = made_example(r, wishes_for(r));
    if (r.spec.axes > 1) continue;
    AttentionShape s = shape_for(e);
    Question both = Question::of(s, 5);
    both.encodings = {&e};
    both.query_positions = Array<double>(2 * s.queries);
    both.key_positions = Array<double>(2 * s.keys);
    reference::Random random(6);
    for (Array<double>* p : {&both.query_positions, &both.key_positions})
      for (Index i = 0; i < p->size(); ++i) (*p)[i] = static_cast<double>(random.below(50));
    const Given together = ask(both);
    ASSERT_TRUE(reference::succeeds(together.status));
    s.batch = 1;
    for (Index b = 0; b < 2; ++b) {
      Question one{.shape = s, .encodings = {&e}};
      const auto half = [&](const auto& x) {
        auto part = x;
        part = std::remove_cvref_t<decltype(x)>(x.size() / 2);
        for (Index i = 0; i < part.size(); ++i) part[i] = x[b * part.size() + i];
        return part;
      };
      one.q = half(both.q), one.k = half(both.k), one.v = half(both.v);
      one.query_positions = half(both.query_positions),
      one.key_positions = half(both.key_positions);
      EXPECT_TRUE(ask(one).output.same_bits(half(together.output))) << b;
    }
  }
}

TEST(EveryEncoding, SurvivesAFailureOfEveryAllocationInAttention) {
  for (const Registered& r : acting()) {
    SCOPED_TRACE(std::string(r.spec.id));
    const Encoding e = made_example(r, wishes_for(r));
    if (r.spec.axes > 1) continue;
    Question question = Question::of(shape_for(e));
    question.encodings = {&e};
    const MemoryUse before = memory_use();
    for (long n = 0;; ++n) {
      Given got;
      {
        const reference::AllocationsFailAfter limit(n);
        got = ask(question);
      }
      ASSERT_EQ(memory_use(), before);
      if (got.status) break;
      EXPECT_EQ(got.status.error().code, Errc::out_of_memory);
      for (const Array<float>* out : {&got.output, &got.weights, &got.log_sum_exp})
        for (float value : *out) ASSERT_TRUE(std::isnan(value)) << "written before the failure";
      ASSERT_LT(n, 100);
    }
  }
}

}  // namespace
}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
/// Faults that practitioners reported elsewhere, as small numbers with their right answers. Scores
/// are 0 and values count up, unless a case says otherwise: a row's output is the mean of what it
/// sees. The letters are those under which the cases were collected.
#include <gtest/gtest.h>

#include "attention/question.hpp"
#include "posenc/encodings/alibi.hpp"
#include "posenc/encodings/rotary/rope.hpp"
#include "reference/options.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::ask;
using reference::Given;
using reference::infinity;
using reference::Question;

/// Means of small integers: a rounding or two.
constexpr double mean_tolerance = 1e-6;

void expect_output(const Question& question, const Array<double>& want) {
  const Given got = ask(question);
  ASSERT_TRUE(reference::succeeds(got.status));
  EXPECT_TRUE(reference::close(got.output, want, mean_tolerance));
}
Question causal(Index queries, Index keys, std::optional<Index> offset = {}) {
  Question question = Question::counting(queries, keys);
  question.causal = true;
  question.query_offset = offset;
  return question;
}

TEST(FieldCases, B6RotatesNoValues) {
  const Encoding e = reference::made<Rope>(reference::Options().number("headDim", 2));
  Question question{.shape = {.queries = 1, .keys = 1, .head_dim = 2, .value_dim = 2}};
  question.q = {1, 0}, question.k = {1, 0}, question.v = {1, 0};
  question.encodings = {&e};
  question.query_positions = {1}, question.key_positions = {1};
  expect_output(question, {1, 0});
}

TEST(FieldCases, H6ShiftsOfARowMatterToTheLogSumExpAlone) {
  Question question = Question::counting(1, 4);
  question.mask = {.extents = {1, 1, 1, 4}, .bias = {-3, -2, -1, 0}};
  const Given one = ask(question);
  question.mask.bias = {-4, -3, -2, -1};
  const Given other = ask(question);
  for (const Given* got : {&one, &other})
    EXPECT_TRUE(
        reference::close(got->weights, {0.032059, 0.087144, 0.236883, 0.643914}, mean_tolerance));
  EXPECT_NEAR(one.log_sum_exp[0], 0.440190, mean_tolerance);
  EXPECT_NEAR(other.log_sum_exp[0], -0.559810, mean_tolerance);
}

TEST(FieldCases, H7PlacesTheCachedBiasAtTheLastKey) {
  const Encoding e =
      reference::made<Alibi>(reference::Options().number("heads", 1).list("slopes", {1}));
  Question question = Question::counting(1, 3);
  question.encodings = {&e};
  const double sum = std::exp(-2.0) + std::exp(-1.0) + 1;
  EXPECT_TRUE(reference::close(ask(question).weights,
                               {std::exp(-2.0) / sum, std::exp(-1.0) / sum, 1 / sum},
                               mean_tolerance));
}

TEST(FieldCases, I1AlignsTheCausalMaskAtTheBottomRight) {
  expect_output(causal(2, 5), {2.5, 3});
  expect_output(causal(2, 5, 0), {1, 1.5});
}
TEST(FieldCases, I2TakesEitherAlignmentForOneQuery) {
  expect_output(causal(1, 4), {2.5});
  expect_output(causal(1, 4, 0), {1});
}
TEST(FieldCases, I3LetsADecodedQuerySeeItsWholeCache) { expect_output(causal(1, 5), {3}); }
TEST(FieldCases, I4LeavesQueriesBeforeTheFirstKeyEmpty) {
  expect_output(causal(5, 2), {0, 0, 0, 1, 1.5});
}
TEST(FieldCases, I5MasksThePromptThoughACacheExists) { expect_output(causal(3, 3), {1, 1.5, 2}); }
TEST(FieldCases, I6CoversPastKeysWithTheMask) {
  expect_output(causal(2, 5), {2.5, 3});
  Question question = Question::counting(2, 5);
  question.mask = {.extents = {1, 1, 2, 5}, .allowed = {1, 1, 1, 1, 0, 1, 1, 1, 1, 1}};
  expect_output(question, {2.5, 3});
}

TEST(FieldCases, I14GivesZerosForARowThatIsAllMasked) {
  Question question = Question::counting(1, 3);
  question.mask = {.extents = {1, 1, 1, 3}, .allowed = {0, 0, 0}};
  expect_output(question, {0});
}

TEST(FieldCases, I16GivesTheSameWithAndWithoutWeights) {
  Question question = Question::counting(1, 3);
  question.mask = {.extents = {1, 1, 1, 3}, .allowed = {0, 0, 0}};
  for (bool wants : {false, true}) {
    question.wants_weights = wants;
    const Given got = ask(question);
    EXPECT_EQ(got.output, Array<float>{0});
    for (float w : got.weights) EXPECT_EQ(w, 0.0f);
  }
}

TEST(FieldCases, I17NeedsNoFiniteSentinel) {
  Question question = Question::counting(1, 3);
  question.mask = {.extents = {1, 1, 1, 3}, .bias = {-infinity, -infinity, -infinity}};
  expect_output(question, {0});
  // A caller's own finite "minimum" is a number like any other: three equal scores.
  question.mask.bias = {-1e10f, -1e10f, -1e10f};
  expect_output(question, {2});
}

TEST(FieldCases, I18CombinesRulesWithoutAddingThemUp) {
  Question question = causal(3, 3);
  const float least = std::numeric_limits<float>::lowest();
  question.mask = {.extents = {1, 1, 1, 3}, .bias = {least, 0, 0}};
  // The first row sees the padded key alone: a finite score, however low, is its maximum.
  expect_output(question, {1, 2, 2.5});
}

TEST(FieldCases, I21AddsNothingWhereTheMaskAllows) {
  Question question = Question::counting(1, 2);
  question.mask = {.extents = {1, 1, 1, 2}, .bias = {0, -infinity}};
  expect_output(question, {1});
}

TEST(FieldCases, I22LetsTrueMeanMayAttend) {
  Question question = Question::counting(3, 3);
  question.mask = {.extents = {1, 1, 3, 3}, .allowed = {1, 0, 0, 1, 1, 0, 1, 1, 1}};
  expect_output(question, {1, 1.5, 2});
}

TEST(FieldCases, I23KeepsAFloatMaskAFloat) {
  Question question = Question::counting(1, 2);
  question.v = {1, 0};
  question.mask = {.extents = {1, 1, 1, 2}, .bias = {0.5f, -0.5f}};
  expect_output(question, {0.731059});
}

TEST(FieldCases, J4ScalesBeforeItCouldOverflow) {
  Question question = Question::of({.queries = 1, .keys = 2, .head_dim = 128, .value_dim = 1});
  question.q = Array<float>(128, 32.0f);
  question.k = Array<float>(256, 32.0f);
  const Given got = ask(question);
  EXPECT_NEAR(got.log_sum_exp[0], 11585.24 + std::log(2.0), 0.01);
  EXPECT_EQ(got.weights, (Array<float>{0.5f, 0.5f}));
}

TEST(FieldCases, J8RepeatsKeyHeadsForConsecutiveQueryHeads) {
  Question question{
      .shape = {.heads = 4, .kv_heads = 2, .queries = 1, .keys = 1, .head_dim = 1, .value_dim = 1}};
  question.q = Array<float>(4), question.k = Array<float>(2), question.v = {10, 20};
  expect_output(question, {10, 10, 20, 20});
}

TEST(FieldCases, J9MapsQueryHead31Of32ToKeyHead7Of8) {
  Question question{
      .shape = {
          .heads = 32, .kv_heads = 8, .queries = 1, .keys = 1, .head_dim = 1, .value_dim = 1}};
  question.q = Array<float>(32), question.k = Array<float>(8),
  question.v = {0, 1, 2, 3, 4, 5, 6, 7};
  const Given got = ask(question);
  for (Index h = 0; h < 32; ++h) EXPECT_EQ(got.output[h], static_cast<float>(h / 4));
}

}  // namespace
}  // namespace posenc

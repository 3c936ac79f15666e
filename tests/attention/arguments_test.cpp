// SPDX-License-Identifier: Apache-2.0
#include "posenc/attention/arguments.hpp"

#include <gtest/gtest.h>

#include "attention/question.hpp"
#include "posenc/encodings/alibi.hpp"
#include "posenc/encodings/learned.hpp"
#include "posenc/encodings/none.hpp"
#include "posenc/encodings/rotary/rope.hpp"
#include "posenc/encodings/shaw.hpp"
#include "posenc/encodings/t5.hpp"
#include "reference/options.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::ask;
using reference::fails_with;
using reference::Given;
using reference::infinity;
using reference::made;
using reference::Options;
using reference::Question;
using reference::succeeds;

Encoding alibi(double heads) { return made<Alibi>(Options().number("heads", heads)); }
Encoding rope(double dim) { return made<Rope>(Options().number("headDim", dim)); }
Encoding t5(Index heads) {
  return made<T5>(Options()
                      .number("heads", static_cast<double>(heads))
                      .table("table", Array<float>(32 * heads), 32, heads));
}
Encoding shaw(Index dim, Index value_dim) {
  return made<Shaw>(Options()
                        .number("headDim", static_cast<double>(dim))
                        .number("maxDistance", 1)
                        .table("keyTable", Array<float>(3 * dim), 3, dim)
                        .table("valueTable", Array<float>(3 * value_dim), 3, value_dim));
}

/// Heads 4, key heads 2, D 6, value width 5.
AttentionArguments plain() {
  AttentionArguments a{};
  a.shape = {.heads = 4, .kv_heads = 2, .queries = 3, .keys = 7, .head_dim = 6, .value_dim = 5};
  return a;
}
Status check_with(std::initializer_list<const Encoding*> encodings,
                  std::optional<double> scale = {}) {
  AttentionArguments a = plain();
  a.encodings = {encodings.begin(), encodings.size()};
  a.scale = scale;
  return check(a);
}

TEST(Arguments, AcceptEmptyExtents) {
  AttentionArguments a = plain();
  a.shape.batch = a.shape.queries = a.shape.keys = a.shape.head_dim = a.shape.value_dim = 0;
  EXPECT_TRUE(succeeds(check(a)));
}

TEST(Arguments, RefuseNegativeAndHugeExtentsOfTheTensorThatHasThem) {
  constexpr Index most = std::numeric_limits<Index>::max();
  for (const auto& [extent, tensor] : {std::pair{&AttentionShape::batch, "q"},
                                       {&AttentionShape::queries, "q"},
                                       {&AttentionShape::keys, "k"},
                                       {&AttentionShape::head_dim, "q"},
                                       {&AttentionShape::value_dim, "v"}})
    for (const auto& [number, code] :
         {std::pair{Index{-1}, Errc::bad_shape}, {most, Errc::too_large}}) {
      if (number == most && extent == &AttentionShape::batch) continue;
      AttentionArguments a = plain();
      a.shape.*extent = number;
      const Status s = check(a);
      EXPECT_TRUE(fails_with(s, code, tensor));
      EXPECT_EQ(s.error().received, static_cast<double>(number));
    }
}

TEST(Arguments, NeedAHead) {
  AttentionArguments a = plain();
  a.shape.heads = 0;
  EXPECT_TRUE(fails_with(check(a), Errc::bad_shape, "q"));
  a = plain();
  a.shape.kv_heads = 0;
  EXPECT_TRUE(fails_with(check(a), Errc::bad_shape, "k"));
}

TEST(Arguments, NeedQueryHeadsInMultiplesOfKeyHeads) {
  AttentionArguments a = plain();
  a.shape.kv_heads = 3;
  const Status s = check(a);
  EXPECT_TRUE(fails_with(s, Errc::heads_not_divisible, "q"));
  EXPECT_EQ(s.error().received, 4);
  a.shape.kv_heads = 8;
  EXPECT_TRUE(fails_with(check(a), Errc::heads_not_divisible, "q"));
}

TEST(Arguments, NeedTheGeometryOfTheEncodings) {
  const Encoding heads = alibi(5), dim = rope(8), value = shaw(6, 4), fine = shaw(6, 5);
  EXPECT_TRUE(fails_with(check_with({&heads}), Errc::shape_mismatch, "heads"));
  EXPECT_TRUE(fails_with(check_with({&dim}), Errc::shape_mismatch, "headDim"));
  EXPECT_TRUE(fails_with(check_with({&value}), Errc::shape_mismatch, "valueTable"));
  EXPECT_TRUE(succeeds(check_with({&fine})));
  EXPECT_TRUE(fails_with(check_with({&fine, &heads}), Errc::shape_mismatch, "heads"))
      << "of every one";
}

TEST(Arguments, TakeEightEncodingsAndNoMore) {
  const Encoding e = alibi(4);
  EXPECT_TRUE(succeeds(check_with({&e, &e, &e, &e, &e, &e, &e, &e})));
  EXPECT_TRUE(
      fails_with(check_with({&e, &e, &e, &e, &e, &e, &e, &e, &e}), Errc::unsupported, "encoding"));
}

TEST(Arguments, NeedAFiniteScale) {
  for (double bad : {std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_TRUE(fails_with(check_with({}, bad), Errc::not_finite, "scale"));
  EXPECT_TRUE(succeeds(check_with({}, 0)));
}

/// Wishes for a scale of 1 / 2.
struct Halving : EncodingDefaults {
  struct Options {};
  static constexpr Spec spec = [] {
    Spec s{};
    s.id = "halving";
    return s;
  }();
  static constexpr std::array<Field, 0> fields{};
  static Result<Halving> make(Options) { return Halving{}; }
  std::optional<double> score_scale(Index) const { return 0.5; }
};

TEST(Arguments, NeedAScaleWhereEncodingsWishForDifferentOnes) {
  const Encoding one = t5(4), half = reference::made_here<Halving>(), none = alibi(4);
  EXPECT_TRUE(fails_with(check_with({&one, &half}), Errc::missing_option, "scale"));
  EXPECT_TRUE(succeeds(check_with({&one, &half}, 0.25)));
  EXPECT_TRUE(succeeds(check_with({&one, &one, &none})));
}

TEST(Arguments, ScaleByTheRootOfTheHeadWidthUnlessSomeoneKnowsBetter) {
  AttentionArguments a = plain();
  EXPECT_EQ(effective_scale(a), 1 / std::sqrt(6.0));
  const Encoding one = t5(4), none = alibi(4);
  const Encoding* encodings[] = {&none, &one};
  a.encodings = encodings;
  EXPECT_EQ(effective_scale(a), 1) << "T5 folds it into its weights";
  a.scale = 0.3;
  EXPECT_EQ(effective_scale(a), 0.3) << "the caller has the last word";
  AttentionArguments empty = plain();
  empty.shape.head_dim = 0;
  EXPECT_EQ(effective_scale(empty), 1);
}

TEST(Arguments, LeaveTheOutputsUntouchedWhenTheyFail) {
  const Encoding e = alibi(4);
  Question question = Question::of({.batch = 2,
                                    .heads = 4,
                                    .kv_heads = 2,
                                    .queries = 3,
                                    .keys = 7,
                                    .head_dim = 6,
                                    .value_dim = 5});
  question.encodings = {&e};
  question.key_positions = reference::counted(14);
  question.key_positions[12] = std::nan("");
  const Given got = reference::ask(question);
  EXPECT_TRUE(fails_with(got.status, Errc::not_finite, "keyPositions"));
  EXPECT_EQ(got.status.error().index, 12) << "counted over the whole of [B, S]";
  for (const Array<float>* out : {&got.output, &got.weights, &got.log_sum_exp})
    for (float value : *out) ASSERT_TRUE(std::isnan(value));
}

TEST(Arguments, NamePositionsByTheirSide) {
  const Encoding e = t5(4);
  Question question = Question::of(
      {.heads = 4, .kv_heads = 4, .queries = 3, .keys = 4, .head_dim = 2, .value_dim = 2});
  question.encodings = {&e};
  question.query_positions = {0, 0.5, 1};
  EXPECT_TRUE(fails_with(reference::ask(question).status, Errc::not_integer, "queryPositions"));
  question.query_positions = {};
  question.key_positions = {0, 1, 2, 1e17};
  EXPECT_TRUE(fails_with(reference::ask(question).status, Errc::out_of_range, "keyPositions"));
}

TEST(Arguments, RefuseAnEncodingThatDoesNothingInAttention) {
  const Encoding e = made<Learned>(Options().table("table", Array<float>(4), 2, 2));
  Question question = Question::of({.queries = 3, .keys = 9, .head_dim = 2, .value_dim = 2});
  question.encodings = {&e};
  const Encoding one = alibi(1);
  question.encodings = {&one, &e};
  EXPECT_TRUE(fails_with(reference::ask(question).status, Errc::unsupported, "learned"));
  // None does nothing either, but that is what it is for.
  const Encoding none = made<None>({});
  question.encodings = {&none};
  EXPECT_TRUE(succeeds(reference::ask(question).status));
}

TEST(AttentionOptionErrors, NameWhatDoesNotFit) {
  const auto refuses = [](auto&& change, Errc code, std::string_view field) {
    Question q = Question::of({.batch = 2, .queries = 3, .keys = 4, .head_dim = 2, .value_dim = 2});
    change(q);
    const Given got = ask(q);
    EXPECT_TRUE(fails_with(got.status, code, field));
    EXPECT_TRUE(std::isnan(got.output[0])) << "nothing was written";
  };
  refuses([](Question& q) { q.window.left = -1; }, Errc::out_of_range, "window.left");
  refuses([](Question& q) { q.window.right = -1; }, Errc::out_of_range, "window.right");
  refuses([](Question& q) { q.window.first = -1; }, Errc::out_of_range, "window.first");
  refuses([](Question& q) { q.window.chunk = -1; }, Errc::out_of_range, "chunk");
  refuses([](Question& q) { q.prefix = -1; }, Errc::out_of_range, "prefix");
  refuses([](Question& q) { q.softcap = -1; }, Errc::out_of_range, "softcap");
  refuses([](Question& q) { q.softcap = reference::nan; }, Errc::out_of_range, "softcap");
  refuses([](Question& q) { q.softcap = 1e300; }, Errc::out_of_range, "softcap");
  refuses([](Question& q) { q.sinks = {reference::nan}; }, Errc::not_finite, "sinks");
  refuses([](Question& q) { q.sinks = {infinity}; }, Errc::not_finite, "sinks");
  refuses([](Question& q) { q.sequences = {{.batch = 2}}; }, Errc::out_of_range, "sequences");
  refuses([](Question& q) { q.sequences = {{.first_query = 2, .queries = 2}}; }, Errc::out_of_range,
          "sequences");
  refuses([](Question& q) { q.sequences = {{.first_key = 5}}; }, Errc::out_of_range, "sequences");
  refuses([](Question& q) { q.query_scale = {QueryScale::Kind::log_n, 1, 0}; }, Errc::out_of_range,
          "queryScale.length");
  refuses([](Question& q) { q.query_scale = {QueryScale::Kind::llama4, 8, infinity}; },
          Errc::not_finite, "queryScale.factor");
}

// B19, B20.
TEST(QueryScale, HasThePublishedValues) {
  const QueryScale llama{QueryScale::Kind::llama4, 8192, 0.1},
      ministral{QueryScale::Kind::ministral, 8192, 0.1},
      log_n{.kind = QueryScale::Kind::log_n, .length = 4096};
  EXPECT_EQ(llama.at(8190), 1);
  EXPECT_NEAR(llama.at(8191), 1.0693147, 1e-7);
  EXPECT_EQ(ministral.at(8191), 1);
  EXPECT_NEAR(ministral.at(8192), 1.0693147, 1e-7);
  EXPECT_EQ(log_n.at(4095), 1);
  EXPECT_NEAR(log_n.at(8191), 1.0833333, 1e-7);
  EXPECT_NEAR(log_n.at(32767), 1.25, 1e-12);
  for (const QueryScale& one : {llama, ministral, log_n}) EXPECT_EQ(one.at(-1e6), 1);
}

}  // namespace
}  // namespace posenc

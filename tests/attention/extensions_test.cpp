// SPDX-License-Identifier: Apache-2.0
/// What attention offers to encodings that need more than one term per pair of positions: several
/// rotated copies and a choice, sums that run from the newest key back, tables per head, scales
/// that depend on the position. Each is tried with the smallest encoding that uses it.
#include <gtest/gtest.h>

#include "arches.hpp"
#include "attention/question.hpp"
#include "reference/options.hpp"

namespace posenc {
namespace {

using reference::Answer;
using reference::answer;
using reference::Array;
using reference::ask;
using reference::expect_close;
using reference::made_here;
using reference::Question;

template <class A>
class Extensions : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(Extensions, Arches);

constexpr Spec spec_of(std::string_view id, Sites sites) {
  Spec s{};
  s.id = id;
  s.sites = sites;
  return s;
}
struct Plain : EncodingDefaults {
  struct Options {};
  static constexpr std::array<Field, 0> fields{};
};
struct OnePair : Plain {
  Rotation rotation() const { return {.layout = Layout::half, .pairs = 1, .partner = 1}; }
  Plan plan(double, double* w) const {
    *w = 1;
    return {.inverse_frequencies = {w, 1}, .rotation = rotation()};
  }

 protected:
  static void turn(const AngleBlock& b, Index row, double angle) {
    b.out.row(row)[0] = static_cast<float>(std::cos(angle));
    b.out.row(row)[1] = static_cast<float>(std::sin(angle));
  }
};

constexpr AttentionShape shape{.batch = 2,
                               .heads = 4,
                               .kv_heads = 2,
                               .queries = 23,
                               .keys = 45,
                               .head_dim = 2,
                               .value_dim = 3};

Question question_of(const Encoding& e, const AttentionShape& s, TileSizes tiles, bool causal) {
  Question question = Question::of(s);
  question.encodings = {&e};
  question.causal = causal;
  question.tiles = tiles;
  return question;
}
const std::initializer_list<TileSizes> tilings{
    {}, {.queries = 4, .keys = 8}, {.queries = 16, .keys = 16}};

double dot2(const float* a, double angle, const float* b) {
  const double x = a[0] * std::cos(angle) - a[1] * std::sin(angle),
               y = a[1] * std::cos(angle) + a[0] * std::sin(angle);
  return x * b[0] + y * b[1];
}

/// Turns by the distance up to `window`, and by `window` beyond: two copies of the queries, and
/// keys that the second copy leaves alone.
struct Clipped : OnePair {
  static constexpr Spec spec = spec_of("clipped", {.rotate = true});
  static constexpr double window = 9;
  static Result<Clipped> make(Options) { return Clipped{}; }
  void angles(const AngleBlock& b) const {
    const double far = b.role == Role::query ? window : 0.0;
    for (Index t = 0; t < b.positions.count; ++t) turn(b, t, b.copy == 0 ? b.positions[t] : far);
  }
  Index copies() const { return 2; }
  Index key_copies() const { return 2; }
  void choose(double query, const Positions& keys, std::uint8_t* copy) const {
    for (Index j = 0; j < keys.count; ++j) copy[j] = query - keys[j] < window ? 0 : 1;
  }
};

TYPED_TEST(Extensions, ChooseOneOfSeveralRotationsForEachPair) {
  const Encoding e = made_here<Clipped, TypeParam>();
  for (bool causal : {false, true})
    for (const TileSizes& tiles : tilings) {
      const Question question = question_of(e, shape, tiles, causal);
      Question unrotated = question;
      unrotated.q = Array<float>(question.q.size());  // the whole score comes as a bias
      reference::Terms terms;
      terms.bias = [&](Index b, Index h, Index t, Index j) {
        const double distance =
            std::min(static_cast<double>(question.first_query() + t - j), Clipped::window);
        const float* q = question.q.data() + ((b * 4 + h) * 23 + t) * 2;
        const float* k = question.k.data() + ((b * 2 + h / 2) * 45 + j) * 2;
        return dot2(q, distance, k) / std::sqrt(2.0);
      };
      expect_close(question, ask<TypeParam>(question), answer(unrotated, terms));
    }
}

/// Adds how many visible keys stand at key j or after it, over 10: a running sum.
struct Counting : Plain {
  static constexpr Spec spec = [] {
    Spec s = spec_of("counting", {.score = true});
    s.cumulative = true;
    return s;
  }();
  static Result<Counting> make(Options) { return Counting{}; }
  Index carry_width() const { return 1; }
  template <class Arch>
  void score(Arch, const ScoreTile& t) const {
    for (Index i = 0; i < t.scores.rows; ++i) {
      float count = t.first ? 0.0f : t.carry.row(i)[0];
      for (Index j = t.scores.cols; j-- > 0;) {
        float& score = t.scores.row(i)[j];
        if (score == -reference::infinity) continue;
        score += ++count / 10;
      }
      t.carry.row(i)[0] = count;
    }
  }
};

TYPED_TEST(Extensions, SumOverKeysFromTheNewestBack) {
  const Encoding e = made_here<Counting, TypeParam>();
  for (bool causal : {false, true})
    for (bool masked : {false, true})
      for (const TileSizes& tiles : tilings) {
        Question question = question_of(e, shape, tiles, causal);
        if (masked) {
          question.mask = {.extents = {1, 1, 23, 45}, .allowed = Array<std::uint8_t>(23 * 45, 1)};
          for (Index i = 0; i < 23 * 45; ++i)
            if (i % 4 == 1 || i / 45 == 6) question.mask.allowed[i] = 0;
        }
        reference::Terms terms;
        terms.bias = [&](Index, Index, Index t, Index j) {
          int count = 0;
          for (Index i = j; i < 45; ++i) {
            if (causal && i > question.first_query() + t) continue;
            if (!masked || question.mask.allowed[t * 45 + i] != 0) ++count;
          }
          return count / 10.0;
        };
        expect_close(question, ask<TypeParam>(question), answer(question, terms));
      }
}

/// Head h turns by h times the position.
struct HeadByHead : OnePair {
  static constexpr Spec spec = spec_of("head-by-head", {.rotate = true});
  static Result<HeadByHead> make(Options) { return HeadByHead{}; }
  void angles(const AngleBlock& b) const {
    for (Index t = 0; t < b.positions.count; ++t)
      turn(b, t, b.positions[t] * static_cast<double>(b.head));
  }
  Index table_heads() const { return 3; }
};

TYPED_TEST(Extensions, TurnEachHeadItsOwnWay) {
  const Encoding e = made_here<HeadByHead, TypeParam>();
  AttentionShape s = shape;
  s.heads = s.kv_heads = 3;
  for (const TileSizes& tiles : tilings) {
    const Question question = question_of(e, s, tiles, true);
    Question unrotated = question;
    unrotated.q = Array<float>(question.q.size());
    reference::Terms terms;
    terms.bias = [&](Index b, Index h, Index t, Index j) {
      const double distance =
          static_cast<double>(question.first_query() + t - j) * static_cast<double>(h);
      return dot2(question.q.data() + ((b * 3 + h) * 23 + t) * 2, distance,
                  question.k.data() + ((b * 3 + h) * 45 + j) * 2) /
             std::sqrt(2.0);
    };
    expect_close(question, ask<TypeParam>(question), answer(unrotated, terms));
  }
}

/// Makes a vector of each of 3 channels, at angles that differ from queries to keys.
struct Widening : Plain {
  static constexpr Spec spec = spec_of("widening", {.rotate = true});
  static Result<Widening> make(Options) { return Widening{}; }
  static double angle(double position, Index channel, Role role) {
    return position / (1.0 + static_cast<double>(channel)) + (role == Role::key ? 0.5 : 0);
  }
  Rotation rotation() const { return {.pairs = 3, .partner = 3, .polar = true}; }
  Plan plan(double, double*) const { return {.inverse_frequencies = {}, .rotation = rotation()}; }
  void angles(const AngleBlock& b) const {
    for (Index t = 0; t < b.positions.count; ++t)
      for (Index i = 0; i < 3; ++i) {
        const double a = angle(b.positions[t], i, b.role);
        b.out.row(t)[i] = static_cast<float>(std::cos(a));
        b.out.row(t)[3 + i] = static_cast<float>(std::sin(a));
      }
  }
};

TYPED_TEST(Extensions, MakeRowsWiderByARotation) {
  const Encoding e = made_here<Widening, TypeParam>();
  AttentionShape s = shape;
  s.head_dim = 3;
  for (bool causal : {false, true})
    for (const TileSizes& tiles : tilings) {
      const Question question = question_of(e, s, tiles, causal);
      Question unrotated = question;
      unrotated.q = Array<float>(question.q.size());
      reference::Terms terms;
      terms.bias = [&](Index b, Index h, Index t, Index j) {
        const float* q = question.q.data() + ((b * 4 + h) * 23 + t) * 3;
        const float* k = question.k.data() + ((b * 2 + h / 2) * 45 + j) * 3;
        double sum = 0;
        for (Index i = 0; i < 3; ++i)
          sum += std::log1p(std::exp(double{q[i]})) * std::log1p(std::exp(double{k[i]})) *
                 std::cos(Widening::angle(static_cast<double>(question.first_query() + t), i,
                                          Role::query) -
                          Widening::angle(static_cast<double>(j), i, Role::key));
        return sum / std::sqrt(3.0);
      };
      expect_close(question, ask<TypeParam>(question), answer(unrotated, terms));
    }
}

/// Adds q · k once more, so it must know what q is.
struct Content : Plain {
  static constexpr Spec spec = spec_of("content", {.score = true});
  static Result<Content> make(Options) { return Content{}; }
  template <class Arch>
  void score(Arch, const ScoreTile&) const {}
};

TEST(Extensions, RefuseARotationThatMakesRowsWiderBesideWhatWorksOnThem) {
  const Encoding widening = made_here<Widening>(), other = made_here<HeadByHead>(),
                 content = made_here<Content>();
  AttentionShape s = shape;
  s.head_dim = 3;
  s.heads = s.kv_heads = 3;
  Question question = Question::of(s);
  for (const Encoding* beside : {&other, &content}) {
    question.encodings = {&widening, beside};
    const Status status = ask(question).status;
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Errc::unsupported);
    EXPECT_EQ(status.error().field, beside->traits().id);
  }
}

/// Doubles every logit where no scale is given, and multiplies the query at position p by 1 + p / 10.
struct Louder : Plain {
  static constexpr Spec spec = spec_of("louder", {});
  static Result<Louder> make(Options) { return Louder{}; }
  double logit_scale() const { return 2; }
  double query_scale(double position) const { return 1 + position / 10; }
};

TYPED_TEST(Extensions, ScaleLogitsByEncodingAndByPosition) {
  const Encoding e = made_here<Louder, TypeParam>();
  for (bool with_scale : {false, true}) {
    Question question = question_of(e, shape, {.queries = 8, .keys = 16}, false);
    if (with_scale) question.scale = 0.25;
    Question scaled = question;
    scaled.scale = question.scale.value_or(2 / std::sqrt(2.0));
    for (Index i = 0; i < scaled.q.size(); ++i) {
      const Index t = i / 2 % 23;
      scaled.q[i] = static_cast<float>(scaled.q[i] *
                                       (1 + static_cast<double>(question.first_query() + t) / 10));
    }
    // Scores reach 40 here, four times what the usual tolerance is for.
    expect_close(question, ask<TypeParam>(question), answer(scaled),
                 4 * reference::attention_tolerance);
  }
}

TEST(Extensions, RefuseWhatCannotBeCombined) {
  const Encoding remap = made_here<Clipped>(), per_head = made_here<HeadByHead>();
  Question question = Question::of(shape);
  question.encodings = {&remap, &remap};
  EXPECT_TRUE(reference::fails_with(ask(question).status, Errc::unsupported, "encoding"));
  question.encodings = {&per_head};
  EXPECT_TRUE(reference::fails_with(ask(question).status, Errc::unsupported, "k"));
}

}  // namespace
}  // namespace posenc

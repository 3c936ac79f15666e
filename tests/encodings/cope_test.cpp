// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/cope.hpp"

#include "arches.hpp"
#include "reference/score_terms.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::decoded;
using reference::fails_with;
using reference::made;
using reference::Options;
using reference::Problem;
using reference::Random;

/// Sums of gates of 37 keys, each rounded, times differences of logits of size 5.
constexpr double tolerance = 5e-5;

Options of(const Array<float>& table, Index dim, bool scale_logits = true) {
  Options o;
  o.number("headDim", static_cast<double>(dim)).flag("scaleLogits", scale_logits);
  return std::move(o.table("table", table, dim, table.size() / dim));
}

/// All positions of one query, from its scores, by the definition.
Array<double> contextual_positions(const Array<double>& scores,
                                   const std::function<bool(Index)>& sees, double last) {
  Array<double> p(scores.size());
  for (Index j = 0; j < scores.size(); ++j) {
    double sum = 0;
    for (Index t = j; t < scores.size(); ++t)
      if (sees(t)) sum += 1 / (1 + std::exp(-scores[t]));
    p[j] = std::min(sum, last);
  }
  return p;
}

/// The terms of all pairs, [B, H, T, S].
Array<double> terms(const Problem& p, const Array<float>& table, bool scale_logits) {
  const Index count = table.size() / p.s.head_dim, keys = p.s.keys;
  const double scale = 1 / std::sqrt(static_cast<double>(p.s.head_dim));
  Array<double> all(p.s.batch * p.s.heads * p.s.queries * keys);
  double* row = all.data();
  for (Index b = 0; b < p.s.batch; ++b)
    for (Index h = 0; h < p.s.heads; ++h)
      for (Index t = 0; t < p.s.queries; ++t, row += keys) {
        Array<double> scores(keys);
        for (Index j = 0; j < keys; ++j)
          scores[j] = scale * p.dot(p.q_row(b, h, t), p.k_row(b, h, j));
        const auto at = contextual_positions(
            scores, [&](Index j) { return p.sees(t, j); }, static_cast<double>(count - 1));
        const auto logit = [&](double n) {
          double sum = 0;
          for (Index c = 0; c < p.s.head_dim; ++c)
            sum +=
                static_cast<double>(p.q_row(b, h, t)[c]) * table[c * count + static_cast<Index>(n)];
          return sum * (scale_logits ? scale : 1);
        };
        for (Index j = 0; j < keys; ++j) {
          const double w = at[j] - std::floor(at[j]);
          row[j] = (1 - w) * logit(std::floor(at[j])) + w * logit(std::ceil(at[j]));
        }
      }
  return all;
}

template <class A>
class CopeAt : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(CopeAt, Arches);

TYPED_TEST(CopeAt, EqualsTheFormulaInsideAttention) {
  Random random(1);
  for (Index count : {1, 2, 7, 40})
    for (bool scale_logits : {true, false}) {
      const Array<float> table = random.floats(6 * count);
      const Encoding e = made<Cope, TypeParam>(of(table, 6, scale_logits));
      reference::expect_attention_everywhere<TypeParam>(
          e, 4, 6,
          [&](const Problem& p) {
            return [&p, all = terms(p, table, scale_logits)](Index b, Index h, Index t, Index j) {
              return all[((b * p.s.heads + h) * p.s.queries + t) * p.s.keys + j];
            };
          },
          tolerance);
    }
}

/// The positions themselves: a table whose vector n is n, and a query of ones.
template <class Arch>
Array<float> positions_of(const Array<float>& scores, Index count) {
  Array<float> table(count);
  for (Index n = 0; n < count; ++n) table[n] = static_cast<float>(n);
  const Encoding e = made<Cope, Arch>(of(table, 1));
  const float one = 1;
  Array<float> changed = scores, scratch(e.score_scratch(1, scores.size())), carry(1);
  e.score({.scores = {changed.data(), 1, scores.size(), scores.size()},
           .q = {&one, 1, 1, 1},
           .k = {},
           .q_pos = {},
           .k_pos = {},
           .scratch = scratch.data(),
           .carry = {carry.data(), 1, 1, 1}});
  for (Index j = 0; j < scores.size(); ++j)
    changed[j] -= std::isinf(scores[j]) ? changed[j] : scores[j];
  return changed;
}

TYPED_TEST(CopeAt, HasTheWorkedPositions) {
  const auto expect = [](const Array<float>& scores, const Array<double>& want) {
    const Array<float> got = positions_of<TypeParam>(scores, 8);
    for (Index j = 0; j < want.size(); ++j) EXPECT_NEAR(got[j], want[j], 1e-6);
  };
  expect({0}, {0.5});
  expect({1, -1}, {1.0, 0.268941421});
  expect({2, 0, 0.5f}, {2.003256409, 1.122459331, 0.622459331});
  // Hidden keys have no gate.
  expect({0, -reference::infinity, -reference::infinity}, {0.5});
}

TYPED_TEST(CopeAt, CountsKeysWhereEveryGateIsOpen) {
  const Index n = 12;
  const Array<float> open(n, 200.0f);
  const Array<float> got = positions_of<TypeParam>(open, 8);
  for (Index j = 0; j < n; ++j) EXPECT_EQ(got[j], std::min<float>(static_cast<float>(n - j), 7));
}

TYPED_TEST(CopeAt, ShiftsRowsAlikeWhereEveryGateIsShut) {
  const AttentionShape s{.queries = 5, .keys = 20, .head_dim = 3, .value_dim = 4};
  Problem p(s, 2);
  for (Index t = 0; t < 5; ++t) p.q[t * 3] = 40;
  for (Index j = 0; j < 20; ++j) p.k[j * 3] = -20;  // scores near -460
  const Array<float> table = Random(3).floats(3 * 9);
  const Encoding e = made<Cope, TypeParam>(of(table, 3));
  const Encoding zero = made<Cope, TypeParam>(of(Array<float>(27), 3));
  const auto with = reference::attend<TypeParam>(e, p, {.queries = 4, .keys = 8});
  const auto without = reference::attend<TypeParam>(zero, p, {.queries = 4, .keys = 8});
  for (Index i = 0; i < with.output.size(); ++i)
    EXPECT_NEAR(with.output[i], without.output[i], 2e-5);
}

TEST(Cope, InterpolatesLinearly) {
  // One key whose gate sweeps from 0 to 1: the logit goes from vector 0 to vector 1 in a line.
  for (float score : {-5.0f, -1.0f, 0.0f, 0.3f, 4.0f}) {
    const double gate = 1 / (1 + std::exp(-static_cast<double>(score)));
    EXPECT_NEAR(positions_of<xsimd::default_arch>({score}, 3)[0], gate, 1e-6);
  }
}

TEST(Cope, HidesWhatAMaskHidesBeforeTheGatesOpen) {
  const AttentionShape s{.queries = 1, .keys = 24, .head_dim = 2, .value_dim = 1};
  const Array<float> table = Random(4).floats(2 * 30);
  const Encoding e = made<Cope>(of(table, 2));
  const Encoding* one = &e;
  Problem p(s, 5);
  Array<std::uint8_t> allowed(24, 1);
  for (Index j = 16; j < 24; ++j) allowed[j] = 0;
  const auto run = [&](Index keys, bool masked) {
    float out = 0, lse = 0;
    EXPECT_TRUE(reference::succeeds(
        attention({.shape = {.queries = 1, .keys = keys, .head_dim = 2, .value_dim = 1},
                   .q = Tensor4<const float>::bhnd(p.q.data(), 1, 1, 2),
                   .k = Tensor4<const float>::bhnd(p.k.data(), 1, keys, 2),
                   .v = Tensor4<const float>::bhnd(p.v.data(), 1, keys, 1),
                   .output = Tensor4<float>::bhnd(&out, 1, 1, 1),
                   .log_sum_exp = &lse,
                   .encodings = {&one, 1},
                   .mask = {.allowed = masked ? allowed.data() : nullptr, .column = 1},
                   .tiles = {.queries = 4, .keys = 8}})));
    return std::pair(out, lse);
  };
  const auto shorter = run(16, false);
  EXPECT_EQ(run(24, true), shorter);
  for (Index j = 32; j < 48; ++j) p.k[j] = reference::nan;  // what is hidden may hold anything
  EXPECT_EQ(run(24, true), shorter);
}

TEST(Cope, NamesWhatIsWrong) {
  EXPECT_TRUE(
      fails_with(decoded<Cope>(Options().number("headDim", 3)), Errc::missing_option, "table"));
  EXPECT_TRUE(fails_with(decoded<Cope>(of(Array<float>(8), 4).number("headDim", 3)),
                         Errc::shape_mismatch, "table"));
}

}  // namespace
}  // namespace posenc

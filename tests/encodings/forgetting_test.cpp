// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/forgetting.hpp"

#include "arches.hpp"
#include "reference/score_terms.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::bias_of;
using reference::counted;
using reference::decoded;
using reference::fails_with;
using reference::made;
using reference::Options;
using reference::positions;
using reference::Problem;
using reference::Random;

/// Differences of sums of size 50 in a tile of float32, through the softmax.
constexpr double tolerance = 5e-5;

struct Gates {
  Index heads, count;
  Array<float> logs, sums;

  Gates(Index h, Index n, std::uint64_t seed) : heads(h), count(n), logs(h * n), sums(h * n) {
    Random random(seed);
    for (Index head = 0; head < h; ++head) {
      double sum = 0;
      for (Index t = 0; t < n; ++t) {
        const double gate = -std::log1p(std::exp(-random.normal() - 1));
        logs[head * n + t] = static_cast<float>(gate);
        sum += logs[head * n + t];
        sums[head * n + t] = static_cast<float>(sum);
      }
    }
  }
  Options options(std::string_view form) const {
    Options o;
    o.number("heads", static_cast<double>(heads)).text("form", form);
    return std::move(o.table("table", form == "gates" ? logs : sums, heads, count));
  }
  /// The sum over the tokens after j up to m; negated when j is the later one.
  double between(Index h, double m, double j) const {
    double sum = 0;
    for (auto t = static_cast<Index>(std::min(m, j)) + 1; t <= static_cast<Index>(std::max(m, j));
         ++t)
      sum += logs[h * count + t];
    return m >= j ? sum : -sum;
  }
};

template <class A>
class ForgettingAt : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(ForgettingAt, Arches);

TYPED_TEST(ForgettingAt, EqualsTheFormulaInsideAttention) {
  const Gates gates(4, 64, 1);
  for (std::string_view form : {"cumulative", "gates"}) {
    const Encoding e = made<Forgetting, TypeParam>(gates.options(form));
    for (const auto& [queries, keys] : {std::pair<Index, Index>{1, 1}, {1, 37}, {9, 37}, {33, 33}})
      for (const bool in_order : {true, false}) {
        Problem p({.batch = 2,
                   .heads = 4,
                   .kv_heads = 2,
                   .queries = queries,
                   .keys = keys,
                   .head_dim = 6,
                   .value_dim = 5},
                  2);
        p.causal = in_order;
        Random random(3);
        if (!in_order)
          for (double& x : std::span(p.k_pos.data(), static_cast<std::size_t>(keys)))
            x = static_cast<double>(random.below(64));
        reference::expect_attention<TypeParam>(
            e, p,
            [&](Index, Index h, Index t, Index j) {
              return gates.between(h, p.q_at(t), p.k_at(j));
            },
            tolerance);
      }
  }
}

TEST(Forgetting, SumsGatesInFloat64) {
  // A float32 sum near 100,000 has steps of 2^-7, and the gates differ from -1 by 2^-20.
  const Index n = 100000;
  const Array<float> gates(n, -1.0f - 0x1p-20f);
  const Encoding e = made<Forgetting>(
      Options().number("heads", 1).text("form", "gates").table("table", gates, 1, n));
  const Array<double> q{n - 1}, k{n - 2, n - 1};
  EXPECT_EQ(bias_of(e, 0, positions(q), positions(k)), (Array<float>{gates[0], 0}));
}

TYPED_TEST(ForgettingAt, HidesAllThatStandsBeforeAShutGate) {
  Gates gates(4, 40, 6);
  for (Index h : {0, 2}) gates.logs[h * 40 + 11] = gates.logs[h * 40 + 23] = -reference::infinity;
  const Encoding e = made<Forgetting, TypeParam>(gates.options("gates"));
  for (const auto& [queries, keys] : {std::pair<Index, Index>{1, 24}, {40, 40}}) {
    Problem p({.batch = 1,
               .heads = 4,
               .kv_heads = 2,
               .queries = queries,
               .keys = keys,
               .head_dim = 6,
               .value_dim = 5},
              7);
    p.causal = true;
    reference::expect_attention<TypeParam>(
        e, p,
        [&](Index, Index h, Index t, Index j) {
          return gates.between(h, p.q_at(t), p.k_at(j));  // a sum with -infinity in it
        },
        tolerance);
  }
}

TEST(Forgetting, RefusesSumsThatAreNotFinite) {
  Gates gates(2, 5, 8);
  gates.sums[7] = -reference::infinity;
  const auto refused = decoded<Forgetting>(gates.options("cumulative"));
  EXPECT_TRUE(fails_with(refused, Errc::not_finite, "table"));
  EXPECT_EQ(refused.error().index, 7);
  gates.logs[7] = reference::nan;
  EXPECT_TRUE(fails_with(decoded<Forgetting>(gates.options("gates")), Errc::not_finite, "table"));
}

TEST(Forgetting, RefusesPositionsOutsideTheTable) {
  const Encoding e = made<Forgetting>(Gates(1, 5, 4).options("gates"));
  const auto accepts = [&](double p) {
    const Array<double> one{p};
    return e.accepts(positions(one));
  };
  EXPECT_TRUE(reference::succeeds(accepts(4)));
  EXPECT_TRUE(fails_with(accepts(5), Errc::position_out_of_table, "positions"));
  EXPECT_TRUE(fails_with(accepts(-1), Errc::position_out_of_table, "positions"));
  EXPECT_TRUE(fails_with(accepts(1.5), Errc::not_integer, "positions"));
}

TEST(Forgetting, NamesWhatIsWrong) {
  EXPECT_TRUE(fails_with(decoded<Forgetting>(Gates(2, 5, 5).options("gates").number("heads", 3)),
                         Errc::shape_mismatch, "table"));
  EXPECT_TRUE(
      fails_with(decoded<Forgetting>(Gates(2, 5, 5).options("sums")), Errc::out_of_range, "form"));
}

}  // namespace
}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/kerple.hpp"

#include "arches.hpp"
#include "posenc/encodings/alibi.hpp"
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

/// One rounding of the bias, one of the sum with the score.
constexpr double tolerance = 2e-6;
/// Through the softmax: scores of size 10 in float32.
constexpr double attention_tolerance = 1e-5;

Options of(std::string_view kind, Array<double> r1, Array<double> r2) {
  Options o;
  o.number("heads", static_cast<double>(r1.size())).text("kind", kind);
  return std::move(o.list("r1", std::move(r1)).list("r2", std::move(r2)));
}
double formula(std::string_view kind, double r1, double r2, double d) {
  return kind == "log" ? -r1 * std::log(1 + r2 * d) : -r1 * std::pow(d, r2);
}

template <class A>
class KerpleAt : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(KerpleAt, Arches);

TYPED_TEST(KerpleAt, FollowsTheFormula) {
  const Array<double> r1{1, 0.3}, r2{0.5, 1.7};
  for (std::string_view kind : {"log", "power"})
    for (bool symmetric : {false, true}) {
      const Encoding e = made<Kerple, TypeParam>(of(kind, r1, r2).flag("symmetric", symmetric));
      for (Index n = 0; n <= TestFixture::most; ++n)
        for (bool consecutive : {true, false}) {
          Array<double> q = counted(4, 3), k = counted(n, -2);
          if (!consecutive) q = {7, -3, 2.5, 0};
          Positions keys = positions(k);
          keys.consecutive = consecutive && n > 0;
          for (Index h = 0; h < 2; ++h) {
            const Array<float> got = bias_of(e, h, positions(q), keys);
            for (Index t = 0; t < 4; ++t)
              for (Index j = 0; j < n; ++j) {
                const double d = symmetric ? std::abs(q[t] - k[j]) : std::max(q[t] - k[j], 0.0);
                const double want = d == 0 ? 0 : formula(kind, r1[h], r2[h], d);
                ASSERT_NEAR(got[t * n + j], want, tolerance * (1 + std::abs(want)));
              }
          }
        }
    }
}

TYPED_TEST(KerpleAt, EqualsTheFormulaInsideAttention) {
  const Array<double> r1{1, 0.3, 2, 0.02}, r2{0.5, 1.7, 0.1, 1};
  for (std::string_view kind : {"log", "power"}) {
    const Encoding e = made<Kerple, TypeParam>(of(kind, r1, r2));
    reference::expect_attention_everywhere<TypeParam>(
        e, 4, 6,
        [&](const Problem& p) {
          return [&](Index, Index h, Index t, Index j) {
            const double d = p.q_at(t) - p.k_at(j);
            return d <= 0 ? 0.0 : formula(kind, r1[h], r2[h], d);
          };
        },
        attention_tolerance);
  }
}

TYPED_TEST(KerpleAt, WeakensScoresBeforeThePenalty) {
  const Array<double> r1{0.2, 0.5}, r2{0.9, 0.8}, w1{0.1, 0.4}, w2{1.2, 0.9};
  const Encoding e = made<Kerple, TypeParam>(of("power", r1, r2).list("w1", w1).list("w2", w2));
  reference::expect_attention_everywhere<TypeParam>(
      e, 2, 3,
      [&](const Problem& p) {
        return [&](Index b, Index h, Index t, Index j) {
          const double d = std::max(p.q_at(t) - p.k_at(j), 0.0);
          if (d == 0) return 0.0;
          const double score = p.dot(p.q_row(b, h, t), p.k_row(b, h, j)) / std::sqrt(3.0);
          return score * (std::exp(-w1[h] * std::pow(d, w2[h])) - 1) - r1[h] * std::pow(d, r2[h]);
        };
      },
      attention_tolerance);
}

TEST(Kerple, HasTheWorkedNumbers) {
  const Array<double> q{1000}, k{1000, 999, 990, 0};
  const Array<float> got =
      bias_of(made<Kerple>(of("log", {1}, {0.5})), 0, positions(q), positions(k));
  const Array<double> want{0, -0.405465108, -1.79175947, -6.2166061};
  for (Index i = 0; i < 4; ++i) EXPECT_NEAR(got[i], want[i], 1e-6);
}

TEST(Kerple, IsAlibiAsAPowerOfOne) {
  Array<double> slopes(8), ones(8, 1.0);
  for (Index h = 0; h < 8; ++h) slopes[h] = std::exp2(-static_cast<double>(h + 1));
  const Encoding kerple = made<Kerple>(of("power", slopes, ones));
  const Encoding alibi = made<Alibi>(Options().number("heads", 8));
  const Array<double> q{300}, k = counted(301);
  for (Index h = 0; h < 8; ++h)
    EXPECT_EQ(bias_of(kerple, h, positions(q), positions(k)),
              bias_of(alibi, h, positions(q), positions(k)));
}

TEST(Kerple, NeverRisesWithDistanceAndStaysPreciseNearZero) {
  const Array<double> q{4096}, k = counted(4097);
  const Array<float> got =
      bias_of(made<Kerple>(of("log", {1}, {0.01})), 0, positions(q), positions(k));
  for (Index j = 1; j < got.size(); ++j) EXPECT_LE(got[j - 1], got[j]);
  // 1 + r2 would round to 1.
  const Array<double> here{1}, there{0};
  EXPECT_NEAR(
      bias_of(made<Kerple>(of("log", {1e6}, {1e-18})), 0, positions(here), positions(there))[0],
      -1e-12, 1e-18);
}

TEST(Kerple, IsNothingWithoutAFactor) {
  const Array<double> q = counted(5), k = counted(5);
  for (const Options& o : {of("log", {1}, {0}), of("log", {0}, {1}), of("power", {0}, {1})})
    for (float x : bias_of(made<Kerple>(o), 0, positions(q), positions(k))) EXPECT_EQ(x, 0);
}

TEST(Kerple, LiftsParametersToTheMinimum) {
  const Array<double> q{10}, k{0};
  const Encoding lifted = made<Kerple>(of("log", {0.5}, {0.001}).number("minimum", 0.01));
  EXPECT_NEAR(bias_of(lifted, 0, positions(q), positions(k))[0], -0.5 * std::log(1.1), tolerance);
}

TEST(Kerple, NamesWhatIsWrong) {
  EXPECT_TRUE(fails_with(decoded<Kerple>(of("power", {1}, {0})), Errc::out_of_range, "r2"));
  EXPECT_TRUE(fails_with(decoded<Kerple>(of("power", {1}, {2.5})), Errc::out_of_range, "r2"));
  EXPECT_TRUE(fails_with(decoded<Kerple>(of("log", {-1}, {1})), Errc::out_of_range, "r1"));
  EXPECT_TRUE(
      fails_with(decoded<Kerple>(of("log", {1}, {1}).list("w1", {1})), Errc::missing_option, "w2"));
  EXPECT_TRUE(
      fails_with(decoded<Kerple>(of("log", {1}, {1}).list("w2", {1})), Errc::missing_option, "w1"));
  EXPECT_TRUE(fails_with(decoded<Kerple>(of("log", {1, 2}, {1})), Errc::shape_mismatch, "r2"));
  const Array<double> bad{std::numeric_limits<double>::infinity()};
  EXPECT_TRUE(fails_with(made<Kerple>(of("log", {1}, {1})).accepts(positions(bad)),
                         Errc::not_finite, "positions"));
}

}  // namespace
}  // namespace posenc

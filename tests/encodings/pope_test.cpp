// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/rotary/pope.hpp"

#include "arches.hpp"
#include "encodings/rotated.hpp"
#include "reference/score_terms.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::Options;
using reference::Problem;

template <class A>
class PopeTest : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(PopeTest, Arches);

/// Random phases of which some lie outside [-2 pi, 0].
Array<float> phases(Index heads, Index head_dim) {
  return reference::Random(3).floats(heads * head_dim, 4);
}
Options options(Index heads, Index head_dim, bool with_phases) {
  Options o;
  o.number("heads", static_cast<double>(heads)).number("headDim", static_cast<double>(head_dim));
  if (with_phases) o.table("phases", phases(heads, head_dim), heads, head_dim);
  return o;
}

double softplus_of(float x) { return std::log(1 + std::exp(static_cast<double>(x))); }
double phase_of(const Array<float>& all, Index head, Index head_dim, Index c) {
  if (all.size() == 0) return 0;
  return std::min(0.0, std::max<double>(-2 * std::acos(-1.0), all[head * head_dim + c]));
}

/// The logit as the paper's sum over channels, no vector of width 2d anywhere.
reference::Bias logit(const Problem& p, const Array<float>& all_phases) {
  return [&p, &all_phases](Index b, Index h, Index t, Index j) {
    const Index d = p.s.head_dim;
    const float *q = p.q_row(b, h, t), *k = p.k_row(b, h, j);
    double sum = 0, plain = 0;
    for (Index c = 0; c < d; ++c) {
      const double w = std::pow(10000.0, -static_cast<double>(c) / static_cast<double>(d));
      const double angle = (p.q_at(t) - p.k_at(j)) * w - phase_of(all_phases, h, d, c);
      sum += softplus_of(q[c]) * softplus_of(k[c]) * std::cos(angle);
      plain += static_cast<double>(q[c]) * k[c];
    }
    return (sum - plain) / std::sqrt(static_cast<double>(d));  // the reference adds q·k itself
  };
}

/// Scores reach 20; their parts are off by 8 units of 2^-24 each.
constexpr double tolerance = 2e-5;

TYPED_TEST(PopeTest, AttendsAsThePaperSaysWithPhasesAndWithout) {
  for (const Index head_dim : {1, 6, 10, 33})
    for (const bool with_phases : {false, true}) {
      const Array<float> all = with_phases ? phases(2, head_dim) : Array<float>();
      const Encoding e = reference::made<Pope, TypeParam>(options(2, head_dim, with_phases));
      // Phases differ from head to head, and so must the keys.
      for (const Index kv_heads : {Index{2}, Index{1}})
        for (const auto& [queries, keys] : {std::pair<Index, Index>{1, 37}, {9, 37}, {33, 33}}) {
          if (with_phases && kv_heads == 1) continue;
          Problem p({2, 2, kv_heads, queries, keys, head_dim, 5}, 7);
          p.causal = queries > 1;
          reference::expect_attention<TypeParam>(e, p, logit(p, all), tolerance);
        }
    }
}

TEST(Pope, TurnsQueriesAndKeysByTheirPositions) {
  constexpr Index heads = 2, d = 5;
  const Encoding e = reference::made<Pope>(options(heads, d, true));
  const Array<float> all = phases(heads, d);
  EXPECT_EQ(e.rotation().growth(), d);
  const Array<double> p{0, 1, -7, 0.5, 131072};
  const Array<float> x = reference::Random(9).floats(p.size() * d, 3);
  for (Index head = 0; head < heads; ++head)
    for (const Role role : {Role::query, Role::key}) {
      const Array<float> y =
          reference::rotated(e, x, p, false, {.role = role, .length = 1, .head = head});
      for (Index t = 0; t < p.size(); ++t)
        for (Index c = 0; c < d; ++c) {
          const double angle = p[t] * std::pow(10000.0, -static_cast<double>(c) / d) +
                               (role == Role::key ? phase_of(all, head, d, c) : 0);
          const double length = softplus_of(x[t * d + c]);
          EXPECT_NEAR(y[t * 2 * d + c], length * std::cos(angle), 1e-6 * (1 + length));
          EXPECT_NEAR(y[t * 2 * d + d + c], length * std::sin(angle), 1e-6 * (1 + length));
        }
    }
}

TEST(Pope, LetsNoContentTurnAPair) {
  // Whatever the two contents are, the sign of what a channel adds to a score is that of the cosine.
  const Encoding e = reference::made<Pope>(options(1, 1, false));
  for (float q : {-30.0f, -1.0f, 0.0f, 2.0f})
    for (float k : {-2.0f, 0.5f, 30.0f}) {
      const Array<float> a = reference::rotated(e, Array<float>{q}, {9}),
                         b = reference::rotated(e, Array<float>{k}, {7});
      EXPECT_LT(reference::inner(a, b), 0);  // cos 2 < 0
      const Array<float> c = reference::rotated(e, Array<float>{k}, {8});
      EXPECT_GT(reference::inner(a, c), 0);  // cos 1 > 0
    }
}

TEST(Pope, RefusesPhasesOfOtherShapesAndKeysSharedByHeads) {
  Options o;
  o.number("heads", 2).number("headDim", 6).table("phases", Array<float>(2 * 5), 2, 5);
  EXPECT_TRUE(reference::fails_with(reference::decoded<Pope>(o), Errc::shape_mismatch, "phases"));
  const Encoding e = reference::made<Pope>(options(2, 6, true));
  const Encoding* encodings[] = {&e};
  AttentionArguments a;
  a.shape = {1, 2, 1, 2, 2, 6, 6};
  a.encodings = encodings;
  EXPECT_TRUE(reference::fails_with(check(a), Errc::unsupported, "k"));
  a.shape.kv_heads = 2;
  EXPECT_TRUE(reference::succeeds(check(a)));
}

}  // namespace
}  // namespace posenc

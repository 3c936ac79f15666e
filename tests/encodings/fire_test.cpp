// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/fire.hpp"

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

/// The quotient is rounded to float32 before slopes of size 10 meet it.
constexpr double tolerance = 5e-6;
/// Through the softmax as well.
constexpr double attention_tolerance = 2e-5;

/// The network unit by unit, as its paper has it.
struct Network {
  Index heads, width;
  Array<float> weight, bias, out, out_bias;
  double c = 0.1, l = 512, multiplier = 1, epsilon = 1e-6;

  Network(Index h, Index w, std::uint64_t seed) : heads(h), width(w) {
    Random random(seed);
    weight = random.floats(w);
    bias = random.floats(w, 0.5);
    out = random.floats(h * w);
    out_bias = random.floats(h);
  }
  Options options() const {
    Options o;
    o.number("heads", static_cast<double>(heads))
        .number("c", c)
        .number("l", l)
        .number("multiplier", multiplier);
    o.number("epsilon", epsilon).table("hiddenWeight", weight, {width, 0, 0}, 1);
    o.table("hiddenBias", bias, {width, 0, 0}, 1).table("outWeight", out, heads, width);
    return std::move(o.table("outBias", out_bias, {heads, 0, 0}, 1));
  }
  double operator()(Index h, double m, double j) const {
    const auto psi = [&](double x) { return std::log(std::abs(c * x) + 1); };
    const double x = psi(m - j) / (psi(std::max(m, std::abs(l * multiplier))) + epsilon);
    double sum = out_bias[h];
    for (Index u = 0; u < width; ++u)
      sum += out[h * width + u] * std::max(weight[u] * x + bias[u], 0.0);
    return sum;
  }
};

template <class A>
class FireAt : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(FireAt, Arches);

TYPED_TEST(FireAt, FollowsTheNetworkUnitByUnit) {
  for (Index width : {1, 2, 8, 32}) {
    Network net(3, width, static_cast<std::uint64_t>(width));
    net.l = 20;
    net.c = width == 8 ? -0.7 : 0.1;  // only |c| matters
    net.multiplier = -0.75;
    const Encoding e = made<Fire, TypeParam>(net.options());
    for (Index n : {Index{0}, Index{1}, TestFixture::most, Index{100}})
      for (bool consecutive : {true, false}) {
        const Array<double> q = consecutive ? counted(5, 13) : Array<double>{90, 0, 15.5, 15, -4};
        const Array<double> k = counted(n, 0);
        for (Index h = 0; h < 3; ++h) {
          const Array<float> got = bias_of(e, h, positions(q), positions(k));
          for (Index t = 0; t < 5; ++t)
            for (Index j = 0; j < n; ++j)
              ASSERT_NEAR(got[t * n + j], net(h, q[t], k[j]), tolerance)
                  << width << ' ' << q[t] << ' ' << k[j];
        }
      }
  }
}

TYPED_TEST(FireAt, EqualsTheFormulaInsideAttention) {
  Network net(4, 8, 3);
  net.l = 12;
  const Encoding e = made<Fire, TypeParam>(net.options());
  reference::expect_attention_everywhere<TypeParam>(
      e, 4, 6,
      [&](const Problem& p) {
        return [&](Index, Index h, Index t, Index j) { return net(h, p.q_at(t), p.k_at(j)); };
      },
      attention_tolerance);
}

TEST(Fire, IsAFunctionOfDistanceUpToTheThreshold) {
  const Network net(1, 16, 4);
  const Encoding e = made<Fire>(net.options());
  const Array<double> k = counted(400), q = counted(512, 1);
  const Array<float> got = bias_of(e, 0, positions(q), positions(k));
  for (Index t = 1; t < 512; ++t)
    for (Index j = 1; j < 400; ++j)
      ASSERT_NEAR(got[t * 400 + j], got[(t - 1) * 400 + j - 1], tolerance);
  // Beyond it the query's own position counts: the same distance is a smaller quotient.
  const Array<double> far{100000}, key{99000}, near_far{1000}, near_key{0};
  EXPECT_NE(bias_of(e, 0, positions(far), positions(key))[0],
            bias_of(e, 0, positions(near_far), positions(near_key))[0]);
}

TEST(Fire, TakesUnitsThatNeverSwitchOrSwitchTogether) {
  Network net(2, 5, 5);
  net.weight = {0, 1, 1, -2, 0.5f};
  net.bias = {1, -0.5f, -0.5f, 1, 0};
  const Encoding e = made<Fire>(net.options());
  const Array<double> q{600}, k = counted(601);
  for (Index h = 0; h < 2; ++h) {
    const Array<float> got = bias_of(e, h, positions(q), positions(k));
    for (Index j = 0; j < 601; ++j) EXPECT_NEAR(got[j], net(h, 600, k[j]), tolerance);
  }
}

TEST(Fire, NamesWhatIsWrong) {
  Network net(2, 4, 6);
  EXPECT_TRUE(fails_with(decoded<Fire>(Network(2, 4, 6).options().number("c", std::nan(""))),
                         Errc::not_finite, "c"));
  net.epsilon = 0;
  net.l = 0;
  EXPECT_TRUE(fails_with(decoded<Fire>(net.options()), Errc::out_of_range, "l"));
  net.c = 0;
  EXPECT_TRUE(fails_with(decoded<Fire>(net.options()), Errc::out_of_range, "c"));
  Options narrow = Network(2, 4, 6).options();
  narrow.table("hiddenBias", Array<float>(3), {3, 0, 0}, 1);
  EXPECT_TRUE(fails_with(decoded<Fire>(narrow), Errc::shape_mismatch, "hiddenBias"));
  Options wide = Network(2, 4, 6).options();
  wide.table("outWeight", Array<float>(10), 2, 5);
  EXPECT_TRUE(fails_with(decoded<Fire>(wide), Errc::shape_mismatch, "outWeight"));
}

}  // namespace
}  // namespace posenc

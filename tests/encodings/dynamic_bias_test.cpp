// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/dynamic_bias.hpp"

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

/// Layers are rounded to float32 between sums in float64; distances of 50 make biases of 50.
constexpr double tolerance = 3e-6;
/// Through the softmax.
constexpr double attention_tolerance = 2e-5;

struct Network {
  Index heads, width, layers;
  bool logarithm, relu;
  Array<float> weight, bias, inner, inner_bias, out, out_bias;
  int reach = 512;

  Network(Index h, Index w, Index inner_layers, bool log, bool ramp, std::uint64_t seed)
      : heads(h), width(w), layers(inner_layers), logarithm(log), relu(ramp) {
    Random random(seed);
    weight = random.floats(w, 0.2);
    bias = random.floats(w, 0.5);
    inner = random.floats(layers * w * w, 0.3);
    inner_bias = random.floats(layers * w, 0.5);
    out = random.floats(h * w, 0.5);
    out_bias = random.floats(h);
  }
  Options options() const {
    Options o;
    o.number("heads", static_cast<double>(heads))
        .flag("logDistance", logarithm)
        .text("activation", relu ? "relu" : "silu");
    o.number("reach", reach)
        .table("hiddenWeight", weight, {width, 0, 0}, 1)
        .table("hiddenBias", bias, {width, 0, 0}, 1);
    if (layers > 0)
      o.table("innerWeight", inner, {layers, width, width}, 3)
          .table("innerBias", inner_bias, layers, width);
    return std::move(
        o.table("outWeight", out, heads, width).table("outBias", out_bias, {heads, 0, 0}, 1));
  }
  double operator()(Index h, double distance) const {
    const auto act = [&](double x) { return relu ? std::max(x, 0.0) : x / (1 + std::exp(-x)); };
    const double x =
        !logarithm ? distance : (distance < 0 ? -1 : 1) * std::log(std::abs(distance) + 1);
    Array<double> units(width);
    for (Index u = 0; u < width; ++u) units[u] = act(weight[u] * x + bias[u]);
    for (Index layer = 0; layer < layers; ++layer) {
      Array<double> next(width);
      for (Index u = 0; u < width; ++u) {
        double sum = inner_bias[layer * width + u];
        for (Index i = 0; i < width; ++i) sum += inner[(layer * width + u) * width + i] * units[i];
        next[u] = act(sum);
      }
      units = next;
    }
    double sum = out_bias[h];
    for (Index u = 0; u < width; ++u) sum += out[h * width + u] * units[u];
    return sum;
  }
};

template <class A>
class DynamicBiasAt : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(DynamicBiasAt, Arches);

TYPED_TEST(DynamicBiasAt, EqualsTheNetworkByItselfAndInsideAttention) {
  for (const auto& [layers, logarithm, relu] :
       {std::tuple<Index, bool, bool>{0, false, false}, {1, true, false}, {3, false, true}})
    for (int reach : {512, 6, 0}) {
      Network net(4, 7, layers, logarithm, relu, 1);
      net.reach = reach;
      const Encoding e = made<DynamicBias, TypeParam>(net.options());
      const Array<double> q{12, 2.5, -7}, k = counted(TestFixture::most, -3);
      for (Index h = 0; h < 4; ++h) {
        const Array<float> got = bias_of(e, h, positions(q), positions(k));
        for (Index t = 0; t < 3; ++t)
          for (Index j = 0; j < k.size(); ++j) {
            const double want = net(h, q[t] - k[j]);
            ASSERT_NEAR(got[t * k.size() + j], want, tolerance * (1 + std::abs(want)));
          }
      }
      reference::expect_attention_everywhere<TypeParam>(
          e, 4, 6,
          [&](const Problem& p) {
            return [&](Index, Index h, Index t, Index j) { return net(h, p.q_at(t) - p.k_at(j)); };
          },
          attention_tolerance);
    }
}

TEST(DynamicBias, NamesWhatIsWrong) {
  const Network net(2, 4, 1, false, false, 2);
  const auto refuses = [&](const Options& o, const char* field) {
    return fails_with(decoded<DynamicBias>(o), Errc::shape_mismatch, field);
  };
  EXPECT_TRUE(
      refuses(net.options().table("hiddenBias", Array<float>(3), {3, 0, 0}, 1), "hiddenBias"));
  EXPECT_TRUE(
      refuses(net.options().table("innerWeight", Array<float>(9), {1, 3, 3}, 3), "innerWeight"));
  EXPECT_TRUE(refuses(net.options().table("innerBias", Array<float>(8), 2, 4), "innerBias"));
  EXPECT_TRUE(refuses(net.options().table("outWeight", Array<float>(6), 2, 3), "outWeight"));
  Options half = Network(2, 4, 0, false, false, 3).options();
  EXPECT_TRUE(fails_with(decoded<DynamicBias>(half.table("innerBias", Array<float>(4), 1, 4)),
                         Errc::missing_option, "innerWeight"));
}

}  // namespace
}  // namespace posenc

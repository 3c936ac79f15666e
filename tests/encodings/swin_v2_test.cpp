// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/window/swin_v2.hpp"

#include "arches.hpp"
#include "encodings/grid_positions.hpp"
#include "reference/score_terms.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::bias_of;
using reference::decoded;
using reference::fails_with;
using reference::made;
using reference::Problem;
using reference::Random;

/// One rounding of a bias below 16.
constexpr double tolerance = 2e-6;
/// Through the softmax.
constexpr double attention_tolerance = 2e-5;

struct Network {
  Index heads, width;
  Array<double> window, trained;
  Array<float> weight, bias, out;

  Network(Array<double> w, Array<double> pretrained, Index h, Index units, std::uint64_t seed)
      : heads(h), width(units), window(std::move(w)), trained(std::move(pretrained)) {
    Random random(seed);
    weight = random.floats(2 * units);
    bias = random.floats(units, 0.5);
    out = random.floats(h * units);
  }
  reference::Options options() const {
    reference::Options o;
    o.number("heads", static_cast<double>(heads)).list("window", window);
    if (trained.size() > 0) o.list("pretrainedWindow", trained);
    o.table("hiddenWeight", weight, width, 2).table("hiddenBias", bias, {width, 0, 0}, 1);
    return std::move(o.table("outWeight", out, heads, width));
  }
  double coordinate(Index axis, double offset) const {
    const double size = trained.size() > 0 && trained[axis] > 0 ? trained[axis] : window[axis];
    if (size == 1) return 0;
    const double c = offset / (size - 1) * 8;
    return (c < 0 ? -1 : 1) * std::log(std::abs(c) + 1) / std::log(8.0);
  }
  double operator()(Index h, double row, double col) const {
    double sum = 0;
    for (Index u = 0; u < width; ++u)
      sum += out[h * width + u] * std::max(weight[2 * u] * coordinate(0, row) +
                                               weight[2 * u + 1] * coordinate(1, col) + bias[u],
                                           0.0);
    return 16 / (1 + std::exp(-sum));
  }
};

template <class A>
class SwinV2At : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(SwinV2At, Arches);

TYPED_TEST(SwinV2At, EqualsTheNetworkByItselfAndInsideAttention) {
  const Array<double> none, zeros{0, 0}, smaller{3, 3};
  for (const Array<double>& trained : {none, zeros, smaller}) {
    const Index h = 4, w = 2, n = h * w;
    const Network net({4, 2}, trained, 3, 9, 1);
    const Encoding e = made<SwinV2, TypeParam>(net.options());
    const Grid grid(h, w);
    Problem p({.heads = 3, .kv_heads = 3, .queries = n, .keys = n, .head_dim = 5, .value_dim = 3},
              2, 0.5);
    p.axes = 2;
    p.q_pos = p.k_pos = grid.coordinates;
    const auto bias = [&](Index, Index head, Index t, Index j) {
      return net(head, p.q_at(t, 0) - p.k_at(j, 0), p.q_at(t, 1) - p.k_at(j, 1));
    };
    for (Index head = 0; head < 3; ++head) {
      const Array<float> got = bias_of(e, head, grid.positions(), grid.positions());
      for (Index i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], bias(0, head, i / n, i % n), tolerance);
        ASSERT_TRUE(got[i] > 0 && got[i] < 16);
      }
    }
    reference::expect_attention<TypeParam>(e, p, bias, attention_tolerance);
  }
}

TEST(SwinV2, HasTheWorkedCoordinates) {
  SwinV2::Options o;
  auto window = Buffer<double>::make(2);
  (*window)[0] = (*window)[1] = 8;
  o.window = std::move(*window);
  for (const auto& [offset, want] :
       {std::pair{0.0, 0.0}, {1.0, 0.366511891}, {3.0, 0.715613796}, {7.0, 1.05664167}}) {
    EXPECT_NEAR(SwinV2::coordinate(o, 0, offset), want, 1e-8);
    EXPECT_NEAR(SwinV2::coordinate(o, 1, -offset), -want, 1e-8);
  }
}

TEST(SwinV2, IsFiniteInAWindowOfOne) {
  const Network net({1, 4}, {}, 2, 5, 3);
  const Grid grid(1, 4);
  const Array<float> got =
      bias_of(made<SwinV2>(net.options()), 1, grid.positions(), grid.positions());
  for (Index i = 0; i < 16; ++i)
    EXPECT_NEAR(got[i], net(1, 0, static_cast<double>(i / 4 - i % 4)), tolerance);
}

TEST(SwinV2, LeavesTheScaleToTheCosineOutside) {
  EXPECT_EQ(made<SwinV2>(Network({2, 2}, {}, 1, 3, 4).options()).score_scale(32), 1.0);
}

TEST(SwinV2, NamesWhatIsWrong) {
  const Network net({2, 2}, {}, 1, 3, 5);
  EXPECT_TRUE(fails_with(decoded<SwinV2>(net.options().list("pretrainedWindow", {2.5, 2})),
                         Errc::not_integer, "pretrainedWindow"));
  EXPECT_TRUE(fails_with(decoded<SwinV2>(net.options().list("window", {2, 4096})),
                         Errc::out_of_range, "window"));
  EXPECT_TRUE(
      fails_with(decoded<SwinV2>(net.options().table("hiddenBias", Array<float>(4), {4, 0, 0}, 1)),
                 Errc::shape_mismatch, "hiddenBias"));
  EXPECT_TRUE(fails_with(decoded<SwinV2>(net.options().table("outWeight", Array<float>(4), 1, 4)),
                         Errc::shape_mismatch, "outWeight"));
  EXPECT_TRUE(
      fails_with(decoded<SwinV2>(net.options().table("hiddenWeight", Array<float>(9), 3, 3)),
                 Errc::shape_mismatch, "hiddenWeight"));
}

}  // namespace
}  // namespace posenc

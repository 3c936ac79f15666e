// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/none.hpp"

#include "posenc/attention/arguments.hpp"
#include "reference/options.hpp"

namespace posenc {
namespace {

using reference::Array;

Array<float> attend(const Encoding& e, const Array<float>& q, const Array<float>& k,
                    const Array<float>& v, Index n, Index dim, bool causal = false) {
  Array<float> out(n * dim);
  const Encoding* encodings[] = {&e};
  const Status s = attention({.shape = {.queries = n, .keys = n, .head_dim = dim, .value_dim = dim},
                              .q = Tensor4<const float>::bhnd(q.data(), 1, n, dim),
                              .k = Tensor4<const float>::bhnd(k.data(), 1, n, dim),
                              .v = Tensor4<const float>::bhnd(v.data(), 1, n, dim),
                              .output = Tensor4<float>::bhnd(out.data(), 1, n, dim),
                              .encodings = encodings,
                              .causal = causal});
  EXPECT_TRUE(reference::succeeds(s));
  return out;
}

TEST(None, ActsNowhereAndAcceptsAnyPosition) {
  const Encoding e = reference::made<None>({});
  EXPECT_EQ(e.traits().sites, Sites{});
  const Array<double> anywhere{0.5, -3, 1e300};
  EXPECT_TRUE(reference::succeeds(e.accepts(reference::positions(anywhere))));
}

TEST(None, TakesNoOptions) {
  EXPECT_TRUE(
      reference::fails_with(reference::decoded<None>(reference::Options().number("heads", 8)),
                            Errc::unknown_option, "heads"));
}

TEST(None, LeavesAttentionWithoutAMaskIndifferentToOrder) {
  constexpr Index n = 7, dim = 5;
  constexpr double tolerance = 1e-6;  // the sums run in another order
  const Encoding e = reference::made<None>({});
  reference::Random random(1);
  const Array<float> q = random.floats(n * dim), k = random.floats(n * dim),
                     v = random.floats(n * dim);
  const Array<Index> order{3, 0, 6, 2, 5, 1, 4};
  const auto shuffled = [&](const Array<float>& x) {
    Array<float> y(x.size());
    for (Index t = 0; t < n; ++t)
      for (Index c = 0; c < dim; ++c) y[t * dim + c] = x[order[t] * dim + c];
    return y;
  };
  const Array<float> out = shuffled(attend(e, q, k, v, n, dim));
  const Array<float> of_shuffled = attend(e, shuffled(q), shuffled(k), shuffled(v), n, dim);
  for (Index i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], of_shuffled[i], tolerance);
}

TEST(None, LeavesItToTheCausalMaskToTellOrder) {
  constexpr Index n = 4, dim = 3;
  const Encoding e = reference::made<None>({});
  reference::Random random(2);
  const Array<float> x = random.floats(n * dim);
  EXPECT_NE(attend(e, x, x, x, n, dim, true), attend(e, x, x, x, n, dim, false));
}

}  // namespace
}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/rotary/rerope.hpp"

#include "arches.hpp"
#include "posenc/encodings/rotary/rope.hpp"
#include "reference/remapped.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::counted;
using reference::fails_with;
using reference::Trial;

ReropeOptions options(int head_dim, int window, std::optional<int> trained_length = {}) {
  ReropeOptions o;
  o.head_dim = head_dim;
  o.window = window;
  o.logn = trained_length.has_value();
  o.trained_length = trained_length;
  return o;
}
template <class Arch>
Encoding rerope(const ReropeOptions& o) {
  return reference::encoding_of<Arch, Rerope>(o);
}

reference::Logit logit(Index dim, double window, double trained_length = 0) {
  return [=](Index, const float* q, const float* k, const double* m, const double* j) {
    const double delta = *m - *j, distance = delta < window ? delta : window;
    const double sharpness =
        trained_length > 0 ? std::max(1.0, std::log(*m + 1) / std::log(trained_length)) : 1;
    return sharpness * reference::turned_product(q, k, dim, dim, 10000, distance);
  };
}

template <class A>
class ReropeTest : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(ReropeTest, Arches);

TYPED_TEST(ReropeTest, AttendsByItsFormula) {
  for (const int window : {1, 4, 20})
    for (const Trial& trial : reference::trials(6))
      reference::expect_attention<TypeParam>(rerope<TypeParam>(options(6, window)), trial,
                                             logit(6, window));
}

TYPED_TEST(ReropeTest, SharpensQueriesBeyondTheTrainedLength) {
  for (const Trial& trial : reference::trials(8))
    reference::expect_attention<TypeParam>(rerope<TypeParam>(options(8, 3, 10)), trial,
                                           logit(8, 3, 10));
}

TYPED_TEST(ReropeTest, KeepsTheFutureNear) {
  Trial trial{.shape = {1, 2, 2, 17, 17, 8, 4}, .tiles = {4, 8}, .causal = false};
  reference::expect_attention<TypeParam>(rerope<TypeParam>(options(8, 5)), trial, logit(8, 5));
}

/// A key's distance is from the query of its own sequence, whatever else is in the batch.
TYPED_TEST(ReropeTest, MeasuresWithinEachSequence) {
  Trial trial{.shape = {3, 2, 1, 3, 3, 8, 4}, .causal = true};
  trial.query_positions = trial.key_positions = Array<double>{0, 1, 2, 5, 6, 7, 9, 10, 11};
  trial.position_rows = 3;
  reference::expect_attention<TypeParam>(rerope<TypeParam>(options(8, 2)), trial, logit(8, 2));
}

TYPED_TEST(ReropeTest, ComputesOneProductWhereATileIsOfOneCopy) {
  reference::expect_products_saved<TypeParam>(rerope<TypeParam>(options(8, 16)), 240);
}

using Native = xsimd::default_arch;

TEST(Rerope, StopsAtTheWindow) {
  reference::expect_distances(rerope<Native>(options(4, 4)), 9, {4, 4, 4, 4, 4, 4, 3, 2, 1, 0});
  for (const double query : {2.0, 3.0, 4.0})  // distance w - 1, w, w + 1 to key 0
    reference::expect_distances(rerope<Native>(options(4, 3)), query, {std::min(query, 3.0)});
}

TEST(Rerope, IsRopeWhereNoDistanceReachesTheWindow) {
  RotaryOptions plain;
  plain.head_dim = 16;
  const Encoding remapped = rerope<Native>(options(16, 40)),
                 rope = reference::encoding_of<Native, Rope>(plain);
  reference::Random random(3);
  const Array<float> x = random.floats(40 * 16);
  Array<float> outputs[2] = {Array<float>(40 * 16), Array<float>(40 * 16)};
  for (int i = 0; i < 2; ++i) {
    const Encoding* encodings[] = {i == 0 ? &remapped : &rope};
    AttentionArguments a;
    a.shape = {1, 1, 1, 40, 40, 16, 16};
    a.q = a.k = a.v = Tensor4<const float>::bhnd(x.data(), 1, 40, 16);
    a.output = Tensor4<float>::bhnd(outputs[i].data(), 1, 40, 16);
    a.encodings = encodings;
    a.causal = true;
    ASSERT_TRUE(reference::succeeds(attention(a)));
  }
  EXPECT_TRUE(outputs[0].same_bits(outputs[1]));
}

TEST(Rerope, ScalesByTheLogarithmOfThePosition) {
  const Encoding e = rerope<Native>(options(8, 4, 4096));
  EXPECT_EQ(e.query_scale(4095), 1);
  EXPECT_NEAR(e.query_scale(8191), 1.0833333, 1e-6);
  EXPECT_NEAR(e.query_scale(16383), 1.1666667, 1e-6);
  EXPECT_EQ(e.query_scale(-5), 1);
}

TEST(Rerope, NeedsTheTrainedLengthForLogn) {
  ReropeOptions o = options(8, 4);
  o.logn = true;
  EXPECT_TRUE(fails_with(Rerope::make(std::move(o)), Errc::missing_option, "trainedLength"));
}

TEST(Rerope, IsTheOnlyRemapOfACall) {
  const Encoding e = rerope<Native>(options(8, 4));
  const Encoding* encodings[] = {&e, &e};
  AttentionArguments a;
  a.shape = {1, 1, 1, 1, 1, 8, 8};
  a.encodings = encodings;
  EXPECT_TRUE(fails_with(check(a), Errc::unsupported, "encoding"));
}

}  // namespace
}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/rotary/leaky_rerope.hpp"

#include "arches.hpp"
#include "reference/remapped.hpp"

namespace posenc {
namespace {

using reference::fails_with;
using reference::Trial;

LeakyReropeOptions options(int head_dim, int window, double step,
                           std::optional<int> trained_length = {}) {
  LeakyReropeOptions o;
  o.head_dim = head_dim;
  o.window = window;
  o.step = step;
  o.logn = trained_length.has_value();
  o.trained_length = trained_length;
  return o;
}
template <class Arch>
Encoding leaky(const LeakyReropeOptions& o) {
  return reference::encoding_of<Arch, LeakyRerope>(o);
}

/// The logit at one distance, where the library multiplies two rotations.
reference::Logit logit(Index dim, double window, double step, double trained_length = 0) {
  return [=](Index, const float* q, const float* k, const double* m, const double* j) {
    const double delta = *m - *j,
                 distance = delta < window ? delta : window + (delta - window) / step;
    const double sharpness =
        trained_length > 0 ? std::max(1.0, std::log(*m + 1) / std::log(trained_length)) : 1;
    return sharpness * reference::turned_product(q, k, dim, dim, 10000, distance);
  };
}

template <class A>
class LeakyReropeTest : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(LeakyReropeTest, Arches);

TYPED_TEST(LeakyReropeTest, AttendsByItsFormula) {
  for (const double step : {1.0, 2.0, 7.5})
    for (const Trial& trial : reference::trials(10))
      reference::expect_attention<TypeParam>(leaky<TypeParam>(options(10, 4, step)), trial,
                                             logit(10, 4, step));
}

TYPED_TEST(LeakyReropeTest, SharpensQueriesBeyondTheTrainedLength) {
  for (const Trial& trial : reference::trials(8))
    reference::expect_attention<TypeParam>(leaky<TypeParam>(options(8, 6, 4, 12)), trial,
                                           logit(8, 6, 4, 12));
}

TYPED_TEST(LeakyReropeTest, IsRopeAtStepOne) {
  for (const Trial& trial : reference::trials(6))
    reference::expect_attention<TypeParam>(leaky<TypeParam>(options(6, 4, 1)), trial,
                                           logit(6, 1e9, 1));
}

TYPED_TEST(LeakyReropeTest, IsReropeAtAnEndlessStep) {
  for (const Trial& trial : reference::trials(6))
    reference::expect_attention<TypeParam>(
        leaky<TypeParam>(options(6, 4, 1e9)), trial,
        [](Index, const float* q, const float* k, const double* m, const double* j) {
          return reference::turned_product(q, k, 6, 6, 10000, std::min(*m - *j, 4.0));
        });
}

TYPED_TEST(LeakyReropeTest, ComputesOneProductWhereATileIsOfOneCopy) {
  reference::expect_products_saved<TypeParam>(leaky<TypeParam>(options(8, 16, 4)), 240);
}

using Native = xsimd::default_arch;

TEST(LeakyRerope, GrowsSlowlyBeyondTheWindow) {
  reference::expect_distances(leaky<Native>(options(4, 4, 2)), 9,
                              {6.5, 6, 5.5, 5, 4.5, 4, 3, 2, 1, 0});
}

TEST(LeakyRerope, IsContinuousAtTheWindow) {
  const Encoding e = leaky<Native>(options(4, 4, 16));
  const auto near = reference::effective_distances(e, 10, {6.001}),
             far = reference::effective_distances(e, 10, {5.999});
  EXPECT_NEAR(near[0], 3.999, 1e-4);
  EXPECT_NEAR(far[0], 4.0, 1e-3);
}

TEST(LeakyRerope, NeedsTheTrainedLengthForLogn) {
  LeakyReropeOptions o = options(8, 4, 2);
  o.logn = true;
  EXPECT_TRUE(fails_with(LeakyRerope::make(std::move(o)), Errc::missing_option, "trainedLength"));
}

}  // namespace
}  // namespace posenc

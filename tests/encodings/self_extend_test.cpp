// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/rotary/self_extend.hpp"

#include "arches.hpp"
#include "reference/remapped.hpp"

namespace posenc {
namespace {

using reference::fails_with;
using reference::succeeds;
using reference::Trial;

SelfExtendOptions options(int head_dim, int group, int window, Uneven uneven = Uneven::refuse) {
  SelfExtendOptions o;
  o.head_dim = head_dim;
  o.group = group;
  o.window = window;
  o.uneven = uneven;
  return o;
}
template <class Arch>
Encoding self_extend(const SelfExtendOptions& o) {
  return reference::encoding_of<Arch, SelfExtend>(o);
}

reference::Logit logit(Index dim, double group, double window, double groups_of_window,
                       double trained_length = 0) {
  return [=](Index, const float* q, const float* k, const double* m, const double* j) {
    const double far = std::floor(*m / group) + window - groups_of_window - std::floor(*j / group);
    const double sharpness =
        trained_length > 0 ? std::max(1.0, std::log(*m + 1) / std::log(trained_length)) : 1;
    return sharpness *
           reference::turned_product(q, k, dim, dim, 10000, *m - *j < window ? *m - *j : far);
  };
}

template <class A>
class SelfExtendTest : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(SelfExtendTest, Arches);

TYPED_TEST(SelfExtendTest, AttendsByItsFormula) {
  for (const Trial& trial : reference::trials(6)) {
    reference::expect_attention<TypeParam>(self_extend<TypeParam>(options(6, 2, 4)), trial,
                                           logit(6, 2, 4, 2));
    reference::expect_attention<TypeParam>(self_extend<TypeParam>(options(6, 5, 15)), trial,
                                           logit(6, 5, 15, 3));
  }
}

TYPED_TEST(SelfExtendTest, RoundsOrDividesAnUnevenWindow) {
  for (const Trial& trial : reference::trials(6)) {
    reference::expect_attention<TypeParam>(self_extend<TypeParam>(options(6, 4, 6, Uneven::floor)),
                                           trial, logit(6, 4, 6, 1));
    reference::expect_attention<TypeParam>(self_extend<TypeParam>(options(6, 4, 6, Uneven::divide)),
                                           trial, logit(6, 4, 6, 1.5));
  }
}

TYPED_TEST(SelfExtendTest, IsRopeInGroupsOfOne) {
  for (const Trial& trial : reference::trials(8))
    reference::expect_attention<TypeParam>(self_extend<TypeParam>(options(8, 1, 3)), trial,
                                           logit(8, 1, 1e9, 0));
}

TYPED_TEST(SelfExtendTest, SharpensQueriesBeyondTheTrainedLength) {
  SelfExtendOptions o = options(8, 2, 4);
  o.logn = true;
  o.trained_length = 9;
  for (const Trial& trial : reference::trials(8))
    reference::expect_attention<TypeParam>(self_extend<TypeParam>(o), trial, logit(8, 2, 4, 2, 9));
}

TYPED_TEST(SelfExtendTest, ComputesOneProductWhereATileIsOfOneCopy) {
  reference::expect_products_saved<TypeParam>(self_extend<TypeParam>(options(8, 4, 16)), 240);
}

using Native = xsimd::default_arch;

TEST(SelfExtend, CountsFarTokensInGroups) {
  const Encoding e = self_extend<Native>(options(4, 2, 4));
  reference::expect_distances(e, 9, {6, 6, 5, 5, 4, 4, 3, 2, 1, 0});
  reference::expect_distances(e, 8, {6, 6, 5, 5, 4, 3, 2, 1, 0});
}

TEST(SelfExtend, NeverComesNearerWithDistanceNorBeyondItsBound) {
  for (const auto& [group, window] : {std::pair{2, 4}, {3, 6}, {4, 16}, {8, 8}}) {
    const Encoding e = self_extend<Native>(options(4, group, window));
    const double length = 64;
    for (double query = 0; query < length; ++query) {
      const auto row = reference::effective_distances(
          e, query, reference::counted(static_cast<Index>(query) + 1));
      for (Index j = 1; j < row.size(); ++j) EXPECT_LE(row[j], row[j - 1] + 1e-4);
      EXPECT_LE(row[0], std::max(0.0, window + std::ceil((length - window) / group)) + 1e-4);
    }
  }
}

TEST(SelfExtend, RefusesAnUnevenWindowUnlessToldWhatItMeans) {
  EXPECT_TRUE(fails_with(SelfExtend::make(options(8, 4, 6)), Errc::out_of_range, "window"));
  EXPECT_TRUE(succeeds(SelfExtend::make(options(8, 4, 6, Uneven::floor))));
  SelfExtendOptions o = options(8, 2, 4);
  o.logn = true;
  EXPECT_TRUE(fails_with(SelfExtend::make(std::move(o)), Errc::missing_option, "trainedLength"));
}

}  // namespace
}  // namespace posenc

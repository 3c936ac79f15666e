// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/tanh.hpp"

#include <gtest/gtest.h>

#include "arches.hpp"
#include "reference/numbers.hpp"

namespace posenc {
namespace {

template <class A>
class Tanh : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(Tanh, Arches);

template <class Arch>
float tanh_of(float x) {
  return tanh<Arch>(xsimd::batch<float, Arch>(x)).get(0);
}

/// Every 4999th float from the smallest to where tanh is 1. With a step of 1 the worst is 1.4567 ulp,
/// at 0.630777836.
TYPED_TEST(Tanh, IsWithinTwoUlp) {
  double worst = 0;
  for (std::uint32_t bits = 1; bits < std::bit_cast<std::uint32_t>(12.0f); bits += 4999) {
    const auto x = std::bit_cast<float>(bits);
    const double want = std::tanh(static_cast<double>(x));
    const auto rounded = static_cast<float>(want);
    const double ulp = std::nextafter(rounded, 2.0f) - static_cast<double>(rounded);
    const float got = tanh_of<TypeParam>(x);
    ASSERT_EQ(tanh_of<TypeParam>(-x), -got);
    worst = std::max(worst, std::abs(got - want) / ulp);
  }
  EXPECT_LT(worst, 1.5);
}

TYPED_TEST(Tanh, KnowsItsEnds) {
  EXPECT_EQ(tanh_of<TypeParam>(0), 0);
  EXPECT_EQ(tanh_of<TypeParam>(reference::infinity), 1);
  EXPECT_EQ(tanh_of<TypeParam>(-reference::infinity), -1);
  EXPECT_EQ(tanh_of<TypeParam>(3e38f), 1);
  EXPECT_TRUE(std::isnan(tanh_of<TypeParam>(reference::nan)));
}

TYPED_TEST(Tanh, CapsWholeRowsAndTheirTails) {
  for (Index n : {0, 1, 3, 4, 5, 17}) {
    reference::Array<float> row(n, 100);
    soft_cap<TypeParam>(50, row.data(), n);
    for (float x : row) EXPECT_NEAR(x, 48.201379, 1e-5);
  }
}

}  // namespace
}  // namespace posenc

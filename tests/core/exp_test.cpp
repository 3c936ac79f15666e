// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/exp.hpp"

#include "arches.hpp"
#include "posenc/core/powers.hpp"

namespace posenc {
namespace {

using reference::Array;

template <class A>
class Exp : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(Exp, Arches);

template <class Arch>
float exp_of(float x) {
  return exp_nonpositive<Arch>(xsimd::batch<float, Arch>(x)).get(0);
}

/// What the header promises.
constexpr double promised_ulps = 1.5;
constexpr float cutoff = -87.33f;

TYPED_TEST(Exp, StaysWithinItsErrorOverTheWholeRange) {
  using V = xsimd::batch<float, TypeParam>;
  const std::uint32_t last = std::bit_cast<std::uint32_t>(cutoff);
  // Every 1801st float from -0 to the cutoff, tiny ones included: half a million points.
  double worst = 0;
  float at = 0;
  for (std::uint32_t bits = 0x80000000u; bits <= last;) {
    alignas(V) float x[static_cast<std::size_t>(TestFixture::lanes)] = {};
    alignas(V) float y[static_cast<std::size_t>(TestFixture::lanes)];
    for (float& each : x) {
      each = std::bit_cast<float>(std::min(bits, last));
      bits += 1801;
    }
    exp_nonpositive<TypeParam>(V::load_aligned(x)).store_aligned(y);
    for (std::size_t i = 0; i < std::size(x); ++i) {
      const double error = reference::ulps(y[i], std::exp(static_cast<double>(x[i])));
      if (error > worst) worst = error, at = x[i];
    }
  }
  EXPECT_LT(worst, promised_ulps) << "at " << at;
}

TYPED_TEST(Exp, IsExactlyOneAtZero) {
  EXPECT_EQ(exp_of<TypeParam>(0.0f), 1.0f);
  EXPECT_EQ(exp_of<TypeParam>(-0.0f), 1.0f);
}

TYPED_TEST(Exp, NeverExceedsOne) {
  for (float x : {-1e-45f, -1e-30f, -1e-10f, -3e-8f, -6e-8f, -1e-7f, -1e-6f})
    EXPECT_LE(exp_of<TypeParam>(x), 1.0f) << x;
}

TYPED_TEST(Exp, IsZeroBelowTheCutoff) {
  EXPECT_GT(exp_of<TypeParam>(cutoff), 0.0f);
  const float below = std::nextafter(cutoff, -reference::infinity);
  for (float x : {below, -88.0f, -104.0f, -1e4f, -1e30f, std::numeric_limits<float>::lowest()})
    EXPECT_TRUE(reference::same_bits(exp_of<TypeParam>(x), 0.0f)) << x;
}

TYPED_TEST(Exp, IsZeroAtMinusInfinity) {
  EXPECT_TRUE(reference::same_bits(exp_of<TypeParam>(-reference::infinity), 0.0f));
}

TYPED_TEST(Exp, KeepsNaN) { EXPECT_TRUE(std::isnan(exp_of<TypeParam>(reference::nan))); }

template <class Arch>
float softplus_of(float x) {
  return softplus<Arch>(xsimd::batch<float, Arch>(x)).get(0);
}

TYPED_TEST(Exp, GivesSoftplusWithinFourUnits) {
  double worst = 0;
  float at = 0;
  for (double d = -87; d < 100; d += 0.0093) {
    const auto x = static_cast<float>(d);
    const double want = std::max<double>(x, 0) + std::log1p(std::exp(-std::abs<double>(x)));
    const double error = reference::ulps(softplus_of<TypeParam>(x), want);
    if (error > worst) worst = error, at = x;
  }
  EXPECT_LT(worst, 4) << "at " << at;
  EXPECT_EQ(softplus_of<TypeParam>(0.0f), std::log(2.0f));
  EXPECT_EQ(softplus_of<TypeParam>(-reference::infinity), 0.0f);
  EXPECT_EQ(softplus_of<TypeParam>(reference::infinity), reference::infinity);
  EXPECT_TRUE(std::isnan(softplus_of<TypeParam>(reference::nan)));
}

TYPED_TEST(Exp, DoesNotMixLanes) {
  using V = xsimd::batch<float, TypeParam>;
  alignas(V) float x[static_cast<std::size_t>(TestFixture::lanes)];
  alignas(V) float y[static_cast<std::size_t>(TestFixture::lanes)];
  for (std::size_t i = 0; i < std::size(x); ++i)
    x[i] = i % 3 == 0 ? reference::nan : i % 3 == 1 ? -reference::infinity : -1.0f;
  exp_nonpositive<TypeParam>(V::load_aligned(x)).store_aligned(y);
  for (std::size_t i = 0; i < std::size(x); ++i) {
    if (i % 3 == 0)
      EXPECT_TRUE(std::isnan(y[i]));
    else
      EXPECT_EQ(y[i], exp_of<TypeParam>(x[i]));
  }
}

TEST(Logarithm, IsWithinItsErrorFromSmallNumbersToTheGreatestPosition) {
  for (double x = 1e-3; x < 0x1p54; x *= 1.00037) {
    const double bound = 0x1p-53 * (1 + 1 / x) + 0x1p-51 * std::abs(std::log(x));
    EXPECT_NEAR(natural_log(x), std::log(x), bound) << x;
  }
  EXPECT_EQ(natural_log(1), 0);
}

}  // namespace
}  // namespace posenc

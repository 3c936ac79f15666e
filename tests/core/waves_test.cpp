// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/waves.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "arches.hpp"
#include "posenc/core/machine.hpp"
#include "posenc/core/quarter_turns.hpp"
#include "reference/numbers.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::Random;

/// A result near 1 rounded a few times.
constexpr double few_roundings = 4 * 0x1p-53;

struct Both {
  Array<double> cosines, sines;
};
Both evaluate(const Array<double>& angles) {
  Both both{Array<double>(angles.size()), Array<double>(angles.size())};
  cosines_and_sines(angles.data(), angles.size(), both.cosines.data(), both.sines.data());
  return both;
}

/// Relative, so that it also holds where a result is nearly 0: libm's in a wider type.
void expect_accurate(const Array<double>& angles) {
  const Both got = evaluate(angles);
  for (Index i = 0; i < angles.size(); ++i) {
    const auto cosine = static_cast<double>(std::cos(static_cast<long double>(angles[i])));
    const auto sine = static_cast<double>(std::sin(static_cast<long double>(angles[i])));
    ASSERT_NEAR(got.cosines[i], cosine, few_roundings * std::abs(cosine)) << angles[i];
    ASSERT_NEAR(got.sines[i], sine, few_roundings * std::abs(sine)) << angles[i];
  }
}

TEST(CosinesAndSines, AreAccurateWhereverTheAngleIs) {
  Random random(1);
  Array<double> angles(4000);
  for (Index i = 0; i < angles.size(); ++i)
    angles[i] = random.normal() * std::exp2(static_cast<double>(i % 80) - 26);
  expect_accurate(angles);
  expect_accurate(
      {0, -0.0, 0x1p-1074, 1e-300, 0x1p-27, 0.5, 1, 2, 0x1p20, -0x1p20, 0x1p53, -0x1p53, 1e15});
  // The last of these is of all doubles the nearest to a multiple of pi/2.
  expect_accurate({1e22, -1e300, std::numeric_limits<double>::max(), 6381956970095103 * 0x1p797});
  EXPECT_TRUE(std::isnan(evaluate({std::numeric_limits<double>::infinity()}).cosines[0]));
  EXPECT_EQ(evaluate({0}).cosines[0], 1);
  EXPECT_EQ(evaluate({0}).sines[0], 0);
}

TEST(QuarterTurns, LeaveAtMostHalfOfOne) {
  for (int n = 2; n < 2000; n += 3) {
    const double angle = (n + 0.25 * (n % 3 - 1)) * std::numbers::pi / 2;
    const QuarterTurns turns = quarter_turns(angle);
    ASSERT_EQ(turns.count, n % 4) << n;
    ASSERT_NEAR(turns.rest, angle - n * std::numbers::pi / 2, 0x1p-50 * n) << n;
  }
  EXPECT_LE(std::abs(quarter_turns(0x1.fffp1023).rest), std::numbers::pi / 4);
  EXPECT_TRUE(std::isnan(quarter_turns(std::numeric_limits<double>::infinity()).rest));
}

TEST(CosinesAndSines, KeepTheirDigitsNextToMultiplesOfAQuarterTurn) {
  // The doubles nearest to n pi/2, up to where other digits take over and beyond: what is left after the
  // reduction is as small as 1e-16 of the angle.
  Array<double> angles(4000);
  for (Index i = 0; i < angles.size(); ++i) {
    const double n =
        i < 2000 ? static_cast<double>(i) : 667544.0 - static_cast<double>(2 * i - 5000);
    angles[i] = n * std::numbers::pi / 2;
    if (i % 3 == 1) angles[i] = std::nextafter(angles[i], 0.0);
    if (i % 2 == 1) angles[i] = -angles[i];
  }
  expect_accurate(angles);
}

TEST(CosinesAndSines, DependOnTheAngleAndNotOnItsNeighbours) {
  const Array<double> angles{0.1, 1e9, -2, 3e14, 1.5, 7, 0x1p20, 0x1.00001p20, 9, -1e8, 11};
  const Both all = evaluate(angles);
  for (Index i = 0; i < angles.size(); ++i) {
    const Both alone = evaluate({angles[i]});
    EXPECT_EQ(all.cosines[i], alone.cosines[0]);
    EXPECT_EQ(all.sines[i], alone.sines[0]);
  }
}

Array<double> frequencies(Index count) {
  Array<double> f(count);
  for (Index i = 0; i < count; ++i)
    f[i] = std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(count));
  return f;
}

TEST(Waves, AreCosinesAndSinesOfPositionTimesFrequency) {
  for (Index count : {1, 2, 3, 5, 17, 63, 64}) {
    const Array<double> f = frequencies(count);
    Waves waves(f.data(), count);
    for (double p : {0.0, 1.0, 15.0, 16.0, 17.0, -1.0, -16.0, -17.0, 0.5, -3.25, -1e-20, 12345.0,
                     131071.0, 1048576.25, 0x1p40 + 3, 0x1p53, -0x1p53}) {
      Array<double> c(count), s(count);
      waves.at(p);
      waves.write(c.data(), s.data());
      for (Index i = 0; i < count; ++i) {
        const long double angle = static_cast<long double>(p) * f[i];
        // The parts of the angle are rounded to float64.
        const double tolerance = few_roundings + std::abs(p * f[i]) * 0x1p-52;
        ASSERT_NEAR(c[i], static_cast<double>(std::cos(angle)), tolerance) << p << ' ' << i;
        ASSERT_NEAR(s[i], static_cast<double>(std::sin(angle)), tolerance) << p << ' ' << i;
      }
    }
  }
}

TEST(Waves, HaveTheSameBitsWhateverWasAskedBefore) {
  const Array<double> f = frequencies(7);
  Waves waves(f.data(), 7);
  Random random(3);
  for (int turn = 0; turn < 300; ++turn) {
    double p = std::floor(random.normal() * 100);
    if (turn % 5 == 0) p += 0.25;
    Waves fresh(f.data(), 7);
    Array<double> c(7), s(7), fresh_c(7), fresh_s(7);
    waves.at(p);
    waves.write(c.data(), s.data());
    fresh.at(p);
    fresh.write(fresh_c.data(), fresh_s.data());
    ASSERT_TRUE(c.same_bits(fresh_c)) << p;
    ASSERT_TRUE(s.same_bits(fresh_s)) << p;
  }
}

template <class A>
class StoreRounded : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(StoreRounded, Arches);

TYPED_TEST(StoreRounded, RoundsEachLaneToTheNearestFloat32) {
  using V = xsimd::batch<double, TypeParam>;
  constexpr std::size_t width = V::size;
  alignas(V) double from[2 * width];
  for (std::size_t i = 0; i < 2 * width; ++i)
    from[i] = (i % 2 == 0 ? 1 : -1e30) / (3.0 + static_cast<double>(i));
  float to[2 * width + 1] = {};
  store_rounded<TypeParam>(V::load_aligned(from), V::load_aligned(from + width), to);
  for (std::size_t i = 0; i < 2 * width; ++i) EXPECT_EQ(to[i], static_cast<float>(from[i]));
  EXPECT_EQ(to[2 * width], 0);
}

TEST(Waves, RoundOnceToFloat32) {
  const Array<double> f = frequencies(13);
  Waves waves(f.data(), 13);
  for (double p : {0.0, 3.0, 1000.0, 0.75}) {
    waves.at(p);
    Array<double> c(13), s(13);
    waves.write(c.data(), s.data());
    Array<float> cosines(13), sines(13);
    waves.write(0.7, cosines.data(), sines.data());
    for (Index i = 0; i < 13; ++i) {
      EXPECT_EQ(cosines[i], static_cast<float>(0.7 * c[i]));
      EXPECT_EQ(sines[i], static_cast<float>(0.7 * s[i]));
    }
  }
}

}  // namespace
}  // namespace posenc

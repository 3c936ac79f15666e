// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/rotary/rope.hpp"

#include "arches.hpp"
#include "encodings/rotated.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::counted;
using reference::inner;
using reference::made;
using reference::Options;
using reference::Random;
using reference::rotated;
using reference::same_bits;

/// cos, sin, two products and their sum, each rounded to half a unit of a number below |a| + |b|.
constexpr double rounding = 4 * 0x1p-24;

Options of(Index head_dim, std::string_view layout = "half") {
  return std::move(
      Options().number("headDim", static_cast<double>(head_dim)).text("layout", layout));
}

template <class A>
class RopeRows : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(RopeRows, Arches);

TYPED_TEST(RopeRows, TurnByPositionTimesFrequencyAtEveryWidth) {
  for (std::string_view layout : {"half", "interleaved"})
    for (Index pairs = 1; pairs <= TestFixture::most; ++pairs) {
      const Encoding e = made<Rope, TypeParam>(of(2 * pairs, layout));
      Random random(static_cast<std::uint64_t>(pairs));
      for (double p : {0.0, 1.0, -3.0, 0.5, 4096.0, 131072.0, 1048576.25}) {
        const Array<float> x = random.floats(2 * pairs);
        const Array<float> got = rotated<TypeParam>(e, x, {p});
        const Array<double> want = reference::turned(x, p, 2 * pairs, layout == "interleaved");
        for (Index c = 0; c < x.size(); ++c)
          ASSERT_NEAR(got[c], want[c], 6 * rounding) << pairs << ' ' << p;
      }
    }
}

// Property 1.
TYPED_TEST(RopeRows, StayAsTheyAreAtPosition0ToTheBit) {
  for (std::string_view layout : {"half", "interleaved"}) {
    const Index width = 2 * TestFixture::most;
    const Array<float> x = Random(1).floats(width);
    EXPECT_TRUE(rotated<TypeParam>(made<Rope, TypeParam>(of(width, layout)), x, {0}).same_bits(x));
  }
}

void expect_near(const Array<float>& got, const Array<double>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (Index c = 0; c < got.size(); ++c) EXPECT_NEAR(got[c], want[c], tolerance) << c;
}

TEST(Rope, ReproducesTheGoldenRows) {
  const Array<float> x{1, 2, 3, 4, 5, 6, 7, 8};
  constexpr double published = 8 * rounding;  // values up to 8
  expect_near(rotated(made<Rope>(of(8, "interleaved")), x, {5}),
              {2.20151073, -0.391599904, 0.715045531, 4.94860686, 4.69387629, 6.24239741,
               6.95991267, 8.03489985},
              published);
  expect_near(rotated(made<Rope>(of(8)), x, {5}),
              {5.07828356, -1.12138811, 2.6463966, 3.95995017, 0.459386653, 6.22434645, 7.14118933,
               8.01989992},
              published);
}

TEST(Rope, HasTheGoldenFrequencies) {
  const Array<double> w = reference::frequencies_of(made<Rope>(of(128)));
  const Array<Index> at{0, 1, 2, 16, 32, 48, 62, 63};
  const Array<double> want{1,    0.865964323, 0.749894209,   0.1,
                           0.01, 0.001,       1.33352143e-4, 1.15478198e-4};
  for (Index i = 0; i < at.size(); ++i) EXPECT_NEAR(w[at[i]], want[i], want[i] * 1e-8);
  const Array<double> code_llama =
      reference::frequencies_of(made<Rope>(of(128).number("base", 1e6)));
  EXPECT_NEAR(code_llama[63], 1.24093776e-6, 1e-14);
}

TEST(Rope, A1KeepsTheAngleInFloat64) {
  const Array<float> turned =
      rotated(made<Rope>(of(32, "interleaved")), Array<float>(32, 1.0f), {1857});
  // cos and sin of 1044.26784 from (1, 1).
  EXPECT_NEAR((turned[2] + turned[3]) / 2, 0.306693, 1e-6);
}
TEST(Rope, A2KeepsThePositionExact) {
  const Array<float> turned = rotated(made<Rope>(of(2)), {1, 0}, {15962});
  EXPECT_NEAR(turned[0], -0.908016, 1e-6);
}
TEST(Rope, A4KeepsTheFrequencyExact) {
  Array<float> x(128);
  x[1] = 1;
  EXPECT_NEAR(rotated(made<Rope>(of(128)), x, {4000})[1], -0.248753, 1e-6);
}
TEST(Rope, A5TellsNeighboursPast256Apart) {
  const Encoding e = made<Rope>(of(2));
  for (double p = 255; p < 260; ++p)
    EXPECT_NE(rotated(e, {1, 0}, {p}), rotated(e, {1, 0}, {p + 1}));
}
TEST(Rope, A7MultipliesInFloat32) {
  expect_near(rotated(made<Rope>(of(2)), {2048, 1}, {1}), {1105.6976, 1723.8729}, 1e-4);
}
TEST(Rope, B1TellsTheLayoutsApart) {
  expect_near(rotated(made<Rope>(of(4)), {1, 2, 3, 4}, {1}),
              {-1.984111, 1.959901, 2.462378, 4.019800}, 1e-6);
  expect_near(rotated(made<Rope>(of(4, "interleaved")), {1, 2, 3, 4}, {1}),
              {-1.142640, 1.922076, 2.959851, 4.029800}, 1e-6);
}
TEST(Rope, B3TurnsOneLayoutIntoTheOtherByAPermutation) {
  const Array<float> permuted = rotated(made<Rope>(of(4, "interleaved")), {1, 3, 2, 4}, {1});
  const Array<float> half = rotated(made<Rope>(of(4)), {1, 2, 3, 4}, {1});
  EXPECT_TRUE(half.same_bits({permuted[0], permuted[2], permuted[1], permuted[3]}));
}
TEST(Rope, B4ScoresAlikeAtEveryPositionInEitherLayout) {
  for (double p : {0.0, 1.0, 100.0, 4095.0}) {
    const auto score = [&](std::string_view layout) {
      const Encoding e = made<Rope>(of(4, layout));
      return inner(rotated(e, {1, 2, 3, 4}, {p + 1}), rotated(e, {0.5, -1, 2, 0.25}, {p}));
    };
    EXPECT_NEAR(score("half"), 2.977750, 2e-6);
    EXPECT_NEAR(score("interleaved"), 4.433756, 2e-6);
  }
}
TEST(Rope, F1RemembersNoOffset) {
  const Encoding e = made<Rope>(of(4));
  rotated(e, {1, 2, 3, 4}, {0});
  expect_near(rotated(e, {1, 2, 3, 4}, {5}), {3.160435, 1.797584, -0.107938, 4.094959}, 1e-6);
}

// Property 2.
TEST(Rope, KeepsTheNormOfEachPairAtAnyPosition) {
  Random random(2);
  for (Index dim : {2, 6, 64, 80, 96, 128})
    for (int i = 0; i < 50; ++i) {
      const double p = (random.uniform() * 2 - 1) * 0x1p20;
      const Array<float> x = random.floats(dim), y = rotated(made<Rope>(of(dim)), x, {p});
      for (Index c = 0; c < dim / 2; ++c) {
        const double before =
            std::hypot(static_cast<double>(x[c]), static_cast<double>(x[c + dim / 2]));
        const double after =
            std::hypot(static_cast<double>(y[c]), static_cast<double>(y[c + dim / 2]));
        EXPECT_NEAR(after, before, rounding * before);
      }
    }
}

// Property 3.
TEST(Rope, ReturnsFromTheOppositePosition) {
  constexpr double two_ulps = 2 * 0x1p-23;
  const Encoding e = made<Rope>(of(64));
  Random random(3);
  for (double p : {1.0, 33.0, 1000.5, 4096.0}) {
    const Array<float> x = random.floats(64);
    const Array<float> there = rotated(e, x, {p});
    const Array<float> back = rotated(e, there, {-p}), inverse = rotated(e, there, {p}, true);
    for (Index c = 0; c < 32; ++c) {
      const double norm = std::hypot(x[c], x[c + 32]);
      EXPECT_NEAR(back[c], x[c], two_ulps * norm);
      EXPECT_NEAR(back[c + 32], x[c + 32], two_ulps * norm);
    }
    EXPECT_TRUE(back.same_bits(inverse));
  }
}

// Property 4.
TEST(Rope, ComposesRotationsIncludingFractionalOnes) {
  const Encoding e = made<Rope>(of(32));
  Random random(4);
  const Array<float> x = random.floats(32);
  for (const auto& [a, b] :
       {std::pair{1.0, 2.0}, {0.25, 1000.5}, {-7.75, 7.75}, {4096.0, -4095.5}}) {
    const Array<float> twice = rotated(e, rotated(e, x, {a}), {b}), once = rotated(e, x, {a + b});
    for (Index c = 0; c < 32; ++c) EXPECT_NEAR(twice[c], once[c], 2 * 6 * rounding);
  }
}

// Property 5.
TEST(Rope, ScoresByDistanceAloneAndHfFloat32DoesNot) {
  constexpr Index dim = 64;
  Random random(5);
  const Array<float> q = random.floats(dim), k = random.floats(dim);
  const auto drift = [&](std::string_view precision, double c) {
    const Encoding e = made<Rope>(of(dim).text("precision", precision));
    return std::abs(inner(rotated(e, q, {7}), rotated(e, k, {3})) -
                    inner(rotated(e, q, {7 + c}), rotated(e, k, {3 + c})));
  };
  const double exact = dim * 6 * rounding;
  for (double c : {1.0, 1000.0, 131072.0}) EXPECT_LT(drift("exact", c), exact) << c;
  EXPECT_GT(drift("hf-f32", 131072), 1e-4) << "this loss is why 'exact' exists";
}

// Property 8.
TEST(Rope, GivesTheSameBitsInOneCallAndTokenByToken) {
  const Encoding e = made<Rope>(of(12));
  Random random(6);
  const Array<double> p = counted(33, 100);
  const Array<float> x = random.floats(33 * 12), whole = rotated(e, x, p);
  for (Index t = 0; t < 33; ++t) {
    Array<float> one(12);
    for (Index c = 0; c < 12; ++c) one[c] = x[t * 12 + c];
    const Array<float> y = rotated(e, one, {p[t]});
    for (Index c = 0; c < 12; ++c) EXPECT_TRUE(same_bits(y[c], whole[t * 12 + c]));
  }
}

// Property 9.
TEST(Rope, RotatesPermutedTokensAsTheirPositionsSay) {
  const Encoding e = made<Rope>(of(6));
  const Array<float> x = Random(7).floats(18), in_order = rotated(e, x, {0, 1, 2});
  Array<float> permuted(18);
  const Array<Index> order{2, 0, 1};
  for (Index i = 0; i < 18; ++i) permuted[i] = x[order[i / 6] * 6 + i % 6];
  const Array<float> y = rotated(e, permuted, {2, 0, 1});
  for (Index i = 0; i < 18; ++i) EXPECT_TRUE(same_bits(y[i], in_order[order[i / 6] * 6 + i % 6]));
}

TEST(Rope, TurnsAtTheEndsOfTheEarth) {
  // sin and cos of 2^53, and of the same times base^(-1/2) where the product is exact: base 2^20.
  const Encoding e = made<Rope>(of(4).number("base", 0x1p20));
  const Array<float> y = rotated(e, {1, 1, 0, 0}, {0x1p53});
  expect_near(y, {std::cos(0x1p53), std::cos(0x1p43), std::sin(0x1p53), std::sin(0x1p43)}, 0x1p-24);
}

}  // namespace
}  // namespace posenc

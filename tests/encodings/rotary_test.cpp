// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/rotary/rotary.hpp"

#include <gtest/gtest.h>

#include "encodings/rotated.hpp"
#include "posenc/encodings/rotary/rope.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::decoded;
using reference::fails_with;
using reference::made;
using reference::Options;
using reference::Random;
using reference::rotated;
using reference::same_bits;

Options of(double head_dim, std::string_view layout = "half") {
  return std::move(Options().number("headDim", head_dim).text("layout", layout));
}

// Property 7.
TEST(Rotary, TurnsALeadingPartAsAHeadOfThatWidth) {
  for (std::string_view layout : {"half", "interleaved"})
    for (Index part : {0, 2, 6, 24, 32}) {
      const Encoding partial =
          made<Rope>(of(96, layout).number("rotaryDim", static_cast<double>(part)));
      Random random(1);
      const Array<float> x = random.floats(96);
      const Array<float> y = rotated(partial, x, {11});
      for (Index c = part; c < 96; ++c) EXPECT_TRUE(same_bits(y[c], x[c]));
      if (part == 0) continue;
      Array<float> head(part);
      for (Index c = 0; c < part; ++c) head[c] = x[c];
      const Array<float> full =
          rotated(made<Rope>(of(static_cast<double>(part), layout)), head, {11});
      for (Index c = 0; c < part; ++c) EXPECT_TRUE(same_bits(y[c], full[c]));
    }
}

// Property 6, with part of the head left alone.
TEST(Rotary, GivesTheSameBitsInBothLayoutsUpToThePermutation) {
  for (Index r = 2; r <= 128; r += 2) {
    Random random(static_cast<std::uint64_t>(r));
    const Array<float> x = random.floats(130);
    Array<float> permuted = x;
    const auto source = [&](Index c) { return c < r / 2 ? 2 * c : 2 * (c - r / 2) + 1; };
    for (Index c = 0; c < r; ++c) permuted[c] = x[source(c)];
    const double part = static_cast<double>(r);
    const Array<float> half =
        rotated(made<Rope>(of(130).number("rotaryDim", part)), permuted, {37});
    const Array<float> turns =
        rotated(made<Rope>(of(130, "interleaved").number("rotaryDim", part)), x, {37});
    for (Index c = 0; c < r; ++c) ASSERT_TRUE(same_bits(half[c], turns[source(c)])) << r;
    for (Index c = r; c < 130; ++c) ASSERT_TRUE(same_bits(half[c], turns[c])) << r;
  }
}

TEST(Rotary, TakesTheExponentOverTheRotaryWidth) {
  const Array<double> w = reference::frequencies_of(made<Rope>(of(96).number("rotaryDim", 24)));
  ASSERT_EQ(w.size(), 12);
  for (Index i = 0; i < 12; ++i) {
    const double want = std::pow(10000.0, -2.0 * static_cast<double>(i) / 24);
    EXPECT_NEAR(w[i], want, want * 1e-14);
  }
}

TEST(Rotary, TurnsPartOfAnOddHead) {
  const Encoding e = made<Rope>(of(7).number("rotaryDim", 4));
  const Array<float> x{1, 2, 3, 4, 5, 6, 7}, y = rotated(e, x, {1});
  EXPECT_NEAR(y[0], -1.984111, 1e-6);
  EXPECT_NEAR(y[3], 4.019800, 1e-6);
  for (Index c = 4; c < 7; ++c) EXPECT_EQ(y[c], x[c]);
}

TEST(Rotary, StatesItsPlan) {
  Array<double> frequencies(32);
  const Plan plan = made<Rope>(of(64, "interleaved")).plan(1000, frequencies.data());
  EXPECT_EQ(plan.inverse_frequencies.size(), 32u);
  EXPECT_EQ(plan.inverse_frequencies[0], 1);
  EXPECT_EQ(plan.attention_factor, 1);
  EXPECT_EQ(plan.logit_scale, 1);
  EXPECT_EQ(plan.length_policy, LengthPolicy::fixed);
  EXPECT_EQ(plan.rotation.pairs, 32);
  EXPECT_EQ(plan.rotation.layout, Layout::interleaved);
}

TEST(Rotary, ReproducesTheFloat32ArithmeticOfTheReferenceLibrary) {
  // Frequency, product, cosine and sine in float32, in the reference's order of operations. Its libm
  // rounds a cosine to one of the two floats beside it, which one depending on the system; ours is the
  // nearer.
  constexpr Index pairs = 32;
  const Encoding e = made<Rope>(of(2 * pairs).text("precision", "hf-f32"));
  for (double p : {0.0, 1.0, 77.0, 4097.0, 131072.0}) {
    Array<float> table(2 * pairs);
    Array<double> scratch(pairs);
    const Array<double> position{p};
    e.angles({.out = {table.data(), 1, 2 * pairs, 2 * pairs},
              .positions = reference::positions(position),
              .scratch = scratch.data()});
    for (Index i = 0; i < pairs; ++i) {
      const float exponent = static_cast<float>(2 * i) / static_cast<float>(2 * pairs);
      const float frequency = 1.0f / std::pow(10000.0f, exponent);
      const float angle = static_cast<float>(p) * frequency;
      EXPECT_EQ(table[i], static_cast<float>(std::cos(double{angle})));
      EXPECT_EQ(table[pairs + i], static_cast<float>(std::sin(double{angle})));
    }
  }
}

TEST(Rotary, LosesInHfFloat32WhatExactKeeps) {
  // At base 1e4 and 131072 positions the largest error of a cosine is 7.7e-3.
  const auto cosine = [](std::string_view precision, double p, Index pair) {
    Array<float> x(128);
    x[pair] = 1;
    return static_cast<double>(
        rotated(made<Rope>(of(128).text("precision", precision)), x, {p})[pair]);
  };
  double worst = 0;
  for (Index pair = 0; pair < 64; ++pair)
    for (double p : {131071.0, 131063.0, 130001.0}) {
      const double exact = std::cos(p * std::pow(10000.0, -static_cast<double>(pair) / 64));
      EXPECT_NEAR(cosine("exact", p, pair), exact, 1e-7);
      worst = std::max(worst, std::abs(cosine("hf-f32", p, pair) - exact));
    }
  EXPECT_GT(worst, 1e-3);
  EXPECT_LT(worst, 8e-3);
}

TEST(Rotary, RefusesOptionsThatDoNotFit) {
  EXPECT_TRUE(fails_with(decoded<Rope>({}), Errc::missing_option, "headDim"));
  EXPECT_TRUE(fails_with(decoded<Rope>(of(0)), Errc::out_of_range, "headDim"));
  EXPECT_TRUE(fails_with(decoded<Rope>(of(4097)), Errc::out_of_range, "headDim"));
  EXPECT_TRUE(fails_with(decoded<Rope>(of(7)), Errc::not_even, "headDim"));
  EXPECT_TRUE(fails_with(decoded<Rope>(of(8).number("rotaryDim", 3)), Errc::not_even, "rotaryDim"));
  const Result<Rope> wide = decoded<Rope>(of(8).number("rotaryDim", 10));
  EXPECT_TRUE(fails_with(wide, Errc::out_of_range, "rotaryDim"));
  EXPECT_EQ(wide.error().high, 8);
  EXPECT_TRUE(fails_with(decoded<Rope>(of(8).number("base", 1)), Errc::out_of_range, "base"));
  EXPECT_TRUE(fails_with(decoded<Rope>(of(8).number("base", -5)), Errc::out_of_range, "base"));
  EXPECT_TRUE(fails_with(decoded<Rope>(of(8, "neox")), Errc::out_of_range, "layout"));
  EXPECT_TRUE(
      fails_with(decoded<Rope>(of(8).text("precision", "f16")), Errc::out_of_range, "precision"));
  EXPECT_TRUE(fails_with(decoded<Rope>(of(8).number("factor", 2)), Errc::unknown_option, "factor"));
  const Encoding e = made<Rope>(of(8));
  EXPECT_TRUE(fails_with(e.accepts(reference::positions({1e16})), Errc::out_of_range, "positions"));
  EXPECT_TRUE(reference::succeeds(e.accepts(reference::positions({0.5, -0x1p53, 0x1p53}))));
}

}  // namespace
}  // namespace posenc

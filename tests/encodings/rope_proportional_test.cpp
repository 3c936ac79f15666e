// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/rotary/rope_proportional.hpp"

#include "arches.hpp"
#include "posenc/encodings/rotary/rope.hpp"
#include "reference/plans.hpp"

namespace posenc {
namespace {

using namespace reference;
using reference::Options;

Options of(double head_dim, double fraction) {
  return std::move(Options().number("headDim", head_dim).number("fraction", fraction));
}
Turning want_of(Index d, Index active, double factor = 1) {
  Turning want{.head_dim = d, .frequencies = plain(d)};
  for (Index i = 0; i < d / 2; ++i)
    want.frequencies[i] = i < active ? want.frequencies[i] / factor : 0;
  return want;
}

template <class A>
class RopeProportionalRows : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(RopeProportionalRows, Arches);

TYPED_TEST(RopeProportionalRows, TurnTheFastestPairsOfTheWholeHead) {
  expect_turns<TypeParam>(made<RopeProportional, TypeParam>(of(64, 0.25)), want_of(64, 8), 1);
  expect_turns<TypeParam>(made<RopeProportional, TypeParam>(of(64, 0.25).number("factor", 3)),
                          want_of(64, 8, 3), 1);
  expect_turns<TypeParam>(made<RopeProportional, TypeParam>(of(10, 0.55)), want_of(10, 2), 1);
  expect_turns<TypeParam>(made<RopeProportional, TypeParam>(of(64, 0)), want_of(64, 0), 1);
  Turning in_turns = want_of(26, 6);
  in_turns.interleaved = true;
  expect_turns<TypeParam>(
      made<RopeProportional, TypeParam>(of(26, 0.5).text("layout", "interleaved")), in_turns, 1);
}

TYPED_TEST(RopeProportionalRows, Attend) {
  expect_attends<TypeParam>(made<RopeProportional, TypeParam>(of(18, 0.5)), want_of(18, 4));
}

// Property 21.
TEST(RopeProportional, RotatesAQuarterOfGemma4sPairs) {
  const Array<double> w = frequencies_of<RopeProportional>(of(512, 0.25).number("base", 1e6));
  ASSERT_EQ(w.size(), 256);
  EXPECT_NEAR(w[63], 3.3376e-2, 5e-7);
  for (Index i = 64; i < 256; ++i) EXPECT_EQ(w[i], 0);

  const Array<double> partial = frequencies_of<Rope>(
      Options().number("headDim", 512).number("rotaryDim", 128).number("base", 1e6));
  EXPECT_NEAR(partial[63], 1.2409e-6, 5e-11);
}

TEST(RopeProportional, LeavesTheOtherChannelsAsTheyAre) {
  const Encoding e = made<RopeProportional>(of(16, 0.5));
  Random random(2);
  const Array<float> x = random.floats(16);
  Array<float> y = x, table(16);
  Array<double> scratch(8);
  const Array<double> p{777};
  e.angles(
      {.out = {table.data(), 1, 16, 16}, .positions = positions(p), .scratch = scratch.data()});
  rotate_rows<xsimd::default_arch>(e.rotation(), {y.data(), 1, 16, 16}, {table.data(), 1, 16, 16},
                                   false);
  for (Index c = 0; c < 16; ++c) EXPECT_EQ(same_bits(x[c], y[c]), c % 8 >= 4) << c;
}

// Property 11.
TEST(RopeProportional, EqualsPlainRopeToTheBitWhenAllPairsRotate) {
  for (std::string_view precision : {"exact", "hf-f32"})
    expect_same(frequencies_of<RopeProportional>(of(64, 1).text("precision", precision)),
                frequencies_of<Rope>(Options().number("headDim", 64).text("precision", precision)));
}

TEST(RopeProportional, RefusesOptionsThatDoNotFit) {
  EXPECT_TRUE(fails_with(decoded<RopeProportional>(of(64, 1.5)), Errc::out_of_range, "fraction"));
  EXPECT_TRUE(fails_with(decoded<RopeProportional>(of(64, -0.5)), Errc::out_of_range, "fraction"));
  EXPECT_TRUE(fails_with(decoded<RopeProportional>(of(63, 0.5)), Errc::not_even, "headDim"));
  EXPECT_TRUE(fails_with(decoded<RopeProportional>(Options().number("headDim", 64)),
                         Errc::missing_option, "fraction"));
}

}  // namespace
}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/rotary/rope_longrope.hpp"

#include "arches.hpp"
#include "posenc/encodings/rotary/rope.hpp"
#include "reference/plans.hpp"

namespace posenc {
namespace {

using namespace reference;
using reference::Options;

Options of(double head_dim, Array<double> shorter, Array<double> longer, double original = 8,
           double factor = 1) {
  return std::move(Options()
                       .number("headDim", head_dim)
                       .list("shortFactor", std::move(shorter))
                       .list("longFactor", std::move(longer))
                       .number("originalLength", original)
                       .number("factor", factor));
}
Array<double> all(Index n, double value) { return Array<double>(n, value); }

template <class A>
class RopeLongropeRows : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(RopeLongropeRows, Arches);

TYPED_TEST(RopeLongropeRows, TurnByTheListThatTheLengthChooses) {
  for (Index n : {1, 3, 24, 33}) {
    Random random(5);
    Array<double> shorter(n), longer(n);
    for (Index i = 0; i < n; ++i)
      shorter[i] = 1 + random.uniform(), longer[i] = 2 + random.uniform();
    const Encoding e =
        made<RopeLongrope, TypeParam>(of(static_cast<double>(2 * n), shorter, longer, 4096, 32));
    for (double length : {0.0, 1.0, 4096.0, 4097.0, 131072.0}) {
      Turning want{.head_dim = 2 * n,
                   .frequencies = plain(2 * n),
                   .factor = std::sqrt(1 + std::log(32.0) / std::log(4096.0))};
      for (Index i = 0; i < n; ++i) want.frequencies[i] /= length > 4096 ? longer[i] : shorter[i];
      expect_turns<TypeParam>(e, want, length);
    }
  }
}

TYPED_TEST(RopeLongropeRows, AttendByTheNumberOfKeys) {
  Turning want{.head_dim = 8, .frequencies = plain(8), .factor = 1.3};
  for (Index i = 0; i < 4; ++i) want.frequencies[i] /= 3;
  const auto e = [](double original) {
    return made<RopeLongrope, TypeParam>(
        of(8, all(4, 3), all(4, 5), original).number("attentionFactor", 1.3));
  };
  expect_attends<TypeParam>(e(19), want);
  for (Index i = 0; i < 4; ++i) want.frequencies[i] *= 3.0 / 5;
  expect_attends<TypeParam>(e(18), want);
}

// Property 19.
TEST(RopeLongrope, SwitchesBeyondTheOriginalLength) {
  const Encoding e = made<RopeLongrope>(of(8, all(4, 2), all(4, 4), 4096, 32));
  EXPECT_EQ(plan_of(e, 4096).frequencies[0], 0.5);
  EXPECT_EQ(plan_of(e, 4097).frequencies[0], 0.25);
  for (double length : {1.0, 4096.0, 4097.0, 1e6})
    EXPECT_NEAR(plan_of(e, length).plan.attention_factor, 1.1902380714, 5e-11);
  EXPECT_EQ(plan_of(e).plan.length_policy, LengthPolicy::switched);
  EXPECT_EQ(e.traits().length_policy, LengthPolicy::switched);
}

TEST(RopeLongrope, D12ChoosesByTheTotalLength) {
  const Encoding e = made<RopeLongrope>(of(4, all(2, 1), {2, 4}));
  const auto turned = [&](double length) {
    return Turning{.head_dim = 4, .frequencies = plan_of(e, length).frequencies}.of(
        {1, 2, 3, 4}, {3}, Role::query);
  };
  const Array<double> shorter{-1.413353, 1.879118, -2.828857, 4.058191};
  const Array<double> longer{-2.921748, 1.969944, 1.209707, 4.014887};
  for (Index c = 0; c < 4; ++c) {
    EXPECT_NEAR(turned(4)[c], shorter[c], 1e-6);
    EXPECT_NEAR(turned(8)[c], shorter[c], 1e-6);
    EXPECT_NEAR(turned(9)[c], longer[c], 1e-6);
  }
}

TEST(RopeLongrope, PinsTheChoiceWhenAsked) {
  for (double frozen : {4.0, 9.0}) {
    const Encoding e = made<RopeLongrope>(of(4, all(2, 1), {2, 4}).number("frozenLength", frozen));
    for (double length : {1.0, 8.0, 9.0})
      EXPECT_EQ(plan_of(e, length).frequencies[0], frozen > 8 ? 0.5 : 1);
    EXPECT_EQ(plan_of(e).plan.length_policy, LengthPolicy::fixed);
  }
}

// Property 11.
TEST(RopeLongrope, EqualsPlainRopeToTheBitWhenAllDivisorsAre1) {
  for (std::string_view precision : {"exact", "hf-f32"})
    for (double length : {1.0, 100.0}) {
      const Encoding e =
          made<RopeLongrope>(of(64, all(32, 1), all(32, 1)).text("precision", precision));
      expect_same(
          plan_of(e, length).frequencies,
          frequencies_of<Rope>(Options().number("headDim", 64).text("precision", precision)));
      EXPECT_EQ(plan_of(e, length).plan.attention_factor, 1);
    }
}

TEST(RopeLongrope, WantsOneDivisorForEachPairThatRotates) {
  EXPECT_TRUE(
      succeeds(decoded<RopeLongrope>(of(64, all(8, 1), all(8, 1)).number("rotaryDim", 16))));
  EXPECT_TRUE(
      fails_with(decoded<RopeLongrope>(of(64, all(32, 1), all(32, 1)).number("rotaryDim", 16)),
                 Errc::shape_mismatch, "shortFactor"));
  EXPECT_TRUE(fails_with(decoded<RopeLongrope>(of(64, all(32, 1), all(31, 1))),
                         Errc::shape_mismatch, "longFactor"));
  EXPECT_TRUE(fails_with(decoded<RopeLongrope>(of(64, all(64, 1), all(32, 1))),
                         Errc::shape_mismatch, "shortFactor"));
}

TEST(RopeLongrope, RefusesOptionsThatDoNotFit) {
  EXPECT_TRUE(fails_with(decoded<RopeLongrope>(of(4, {1, 0}, all(2, 1))), Errc::out_of_range,
                         "shortFactor"));
  EXPECT_TRUE(fails_with(decoded<RopeLongrope>(of(4, all(2, 1), {1, reference::nan})),
                         Errc::not_finite, "longFactor"));
  EXPECT_TRUE(fails_with(decoded<RopeLongrope>(of(4, all(2, 1), all(2, 1), 1)), Errc::out_of_range,
                         "originalLength"));
  EXPECT_TRUE(fails_with(
      decoded<RopeLongrope>(
          Options().number("headDim", 4).number("originalLength", 8).number("factor", 2)),
      Errc::missing_option, "shortFactor"));
}

}  // namespace
}  // namespace posenc

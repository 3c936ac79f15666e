// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/alibi.hpp"

#include "arches.hpp"
#include "reference/score_terms.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::bias_of;
using reference::counted;
using reference::decoded;
using reference::fails_with;
using reference::made;
using reference::Options;
using reference::positions;

/// Slope, distance and product are rounded once each.
constexpr double rounding = 3 * 0x1p-24;

Options of(int heads, std::string_view form = "relative") {
  return std::move(Options().number("heads", heads).text("form", form));
}
Array<double> slopes(const Options& options) {
  const Result<Alibi> alibi = decoded<Alibi>(options);
  EXPECT_TRUE(reference::succeeds(alibi));
  Array<double> all(alibi->heads());
  for (Index h = 0; h < all.size(); ++h) all[h] = alibi->slope(h);
  return all;
}
void expect_slopes(const Array<double>& got, const Array<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (Index h = 0; h < got.size(); ++h) EXPECT_NEAR(got[h], want[h], want[h] * 1e-7) << h;
}

/// The paper's series P(n): 2^(-M t / n), t = 1 .. n.
Array<double> series(Index n, double most = 8) {
  Array<double> p(n);
  for (Index t = 1; t <= n; ++t)
    p[t - 1] = std::pow(2.0, -most * static_cast<double>(t) / static_cast<double>(n));
  return p;
}

template <class A>
class AlibiBias : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(AlibiBias, Arches);

double formula(std::string_view form, double slope, double query, double key) {
  if (form == "key") return slope * key;
  if (form == "symmetric") return -slope * std::abs(query - key);
  return -slope * (query - key);
}

TYPED_TEST(AlibiBias, SubtractsSlopeTimesDistanceAtEveryWidth) {
  for (std::string_view form : {"relative", "symmetric", "key"}) {
    const Encoding e = made<Alibi, TypeParam>(of(3, form));
    const Array<double> slope{0x1p-4, 0x1p-8, 0x1p-2};
    for (Index n = 1; n <= TestFixture::most; ++n)
      for (double first : {0.0, -5.0, 0.25, 100000.0}) {
        const Array<double> q{-2, 0, 3.5, 9, 100003}, k = counted(n, first);
        for (Index h = 0; h < 3; ++h) {
          const Array<float> bias = bias_of(e, h, positions(q), positions(k));
          for (Index t = 0; t < q.size(); ++t)
            for (Index j = 0; j < n; ++j) {
              const double want = formula(form, slope[h], q[t], k[j]);
              // Where the difference of nearby numbers is formed in float32, their size counts.
              const double size = std::abs(want) + slope[h] * (std::abs(k[j] - q[t]) + 30);
              ASSERT_NEAR(bias[t * n + j], want, rounding * size)
                  << form << ' ' << n << ' ' << first;
            }
        }
      }
  }
}

TYPED_TEST(AlibiBias, IsTheSameForConsecutiveAndScatteredKeys) {
  for (std::string_view form : {"relative", "symmetric", "key"}) {
    const Encoding e = made<Alibi, TypeParam>(of(12, form));
    for (Index n : {Index{1}, TestFixture::lanes, TestFixture::most}) {
      const Array<double> q{-3, 4, 1000}, k = counted(n, -2);
      Positions keys = positions(k);
      ASSERT_TRUE(keys.consecutive);
      const Array<float> in_order = bias_of(e, 10, positions(q), keys);
      keys.consecutive = false;
      EXPECT_TRUE(in_order.same_bits(bias_of(e, 10, positions(q), keys)));
    }
  }
}

TYPED_TEST(AlibiBias, AddsToTheScoresThatAreThere) {
  const Encoding e = made<Alibi, TypeParam>(of(1));
  const Array<double> q{3}, k = counted(TestFixture::most);
  Array<float> scores(k.size());
  for (Index j = 0; j < k.size(); ++j) scores[j] = static_cast<float>(j);
  e.score({.scores = {scores.data(), 1, k.size(), k.size()},
           .q = {},
           .k = {},
           .q_pos = positions(q),
           .k_pos = positions(k)});
  for (Index j = 0; j < k.size(); ++j)
    EXPECT_EQ(scores[j], static_cast<double>(j) + 0x1p-8 * (k[j] - 3));
}

TEST(Alibi, HasTheSlopesOfThePublishedTable) {
  expect_slopes(slopes(of(1)), {0x1p-8});
  expect_slopes(slopes(of(2)), {0x1p-4, 0x1p-8});
  expect_slopes(slopes(of(3)), {0x1p-4, 0x1p-8, 0x1p-2});
  expect_slopes(slopes(of(8)), {0x1p-1, 0x1p-2, 0x1p-3, 0x1p-4, 0x1p-5, 0x1p-6, 0x1p-7, 0x1p-8});
  Array<double> sixteen(16);
  for (Index t = 1; t <= 16; ++t) sixteen[t - 1] = std::exp2(-0.5 * static_cast<double>(t));
  expect_slopes(slopes(of(16)), sixteen);
  expect_slopes(slopes(of(12).number("biasMax", 16)),
                {0x1p-2, 0x1p-4, 0x1p-6, 0x1p-8, 0x1p-10, 0x1p-12, 0x1p-14, 0x1p-16, 0x1p-1, 0x1p-3,
                 0x1p-5, 0x1p-7});
}
TEST(Alibi, H1HasTwoSeriesFor12Heads) {
  expect_slopes(slopes(of(12)), {0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625,
                                 0.70710678, 0.35355339, 0.17677670, 0.08838835});
}
TEST(Alibi, H2Has6Heads) {
  expect_slopes(slopes(of(6)), {0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125});
}
TEST(Alibi, H4Has40HeadsAsTheReferenceCodeHasThem) {
  const Array<double> all = slopes(of(40));
  EXPECT_NEAR(all[0], 0.840896, 1e-6);
  EXPECT_NEAR(all[31], 0.00390625, 1e-9);
  EXPECT_NEAR(all[32], 0.917004, 1e-6);
  EXPECT_NEAR(all[39], 0.272627, 1e-6);
}

TEST(Alibi, AgreesWithBothFormulationsForUpTo128Heads) {
  for (Index n = 1; n <= 128; ++n) {
    const Array<double> got = slopes(of(static_cast<int>(n)));
    Index c = 1;
    while (2 * c <= n) c *= 2;
    // Press et al.: P(c), then every second of P(2c).
    const Array<double> first = series(c), rest = series(2 * c);
    for (Index h = 0; h < n; ++h) {
      const double want = h < c ? first[h] : rest[2 * (h - c)];
      ASSERT_NEAR(got[h], want, want * 1e-7) << n << ' ' << h;
    }
    // MPT: with N the next power of two, entries 2, 4, 6, … of P(N), then 1, 3, 5, …
    const Index next = c == n ? n : 2 * c;
    const Array<double> all = series(next);
    for (Index h = 0; h < n; ++h) {
      const Index k = next == n ? h + 1 : h < next / 2 ? 2 * (h + 1) : 2 * (h - next / 2) + 1;
      ASSERT_NEAR(got[h], all[k - 1], all[k - 1] * 1e-7) << n << ' ' << h;
    }
  }
}

TEST(Alibi, GivesAShardTheSlopesOfTheWholeModel) {
  const Array<double> whole = slopes(of(12));
  for (int offset : {0, 4, 8}) {
    const Array<double> shard = slopes(of(4).number("totalHeads", 12).number("headOffset", offset));
    for (Index h = 0; h < 4; ++h) EXPECT_EQ(shard[h], whole[offset + h]);
  }
}

TEST(Alibi, TakesSlopesFromTheCaller) {
  expect_slopes(slopes(of(3).list("slopes", {1, 0.5, 0.125})), {1, 0.5, 0.125});
}

/// The forms differ by a constant per row, the symmetric one where only the past is seen.
TEST(Alibi, HasOneSoftmaxInAllFormsUnderACausalMaskAndSymmetricApartWithout) {
  for (const bool causal : {true, false}) {
    reference::Problem p({2, 6, 2, 9, 21, 5, 4}, 3);
    p.causal = causal;
    const auto output = [&](std::string_view form) {
      const Encoding e = made<Alibi>(Options().number("heads", 6).text("form", form));
      return reference::attend<xsimd::default_arch>(e, p, {}).output;
    };
    const Array<float> relative = output("relative");
    const auto farthest = [&](const Array<float>& other) {
      double most = 0;
      for (Index i = 0; i < other.size(); ++i)
        most = std::max(most, std::abs(double{relative[i]} - other[i]));
      return most;
    };
    EXPECT_LT(farthest(output("key")), 1e-5);
    const double symmetric = farthest(output("symmetric"));
    if (causal)
      EXPECT_LT(symmetric, 1e-5);
    else
      EXPECT_GT(symmetric, 0.1);
  }
}

TEST(Alibi, EqualsRelativeSlopesOverTheRootOfTheWidthInFalconsForm) {
  reference::Problem p({1, 4, 4, 9, 21, 16, 4}, 4);
  p.causal = true;
  const Encoding falcon = made<Alibi>(Options().number("heads", 4).number("slopeScale", 0.25));
  Options by_hand;
  by_hand.number("heads", 4).list("slopes", {0x1p-4, 0x1p-6, 0x1p-8, 0x1p-10});
  const Encoding relative = made<Alibi>(by_hand);
  EXPECT_TRUE(
      reference::attend<xsimd::default_arch>(falcon, p, {})
          .output.same_bits(reference::attend<xsimd::default_arch>(relative, p, {}).output));
}

TEST(Alibi, ScalesSlopesAsFalconDoes) {
  const Array<double> plain = slopes(of(4)), scaled = slopes(of(4).number("slopeScale", 0.125));
  for (Index h = 0; h < 4; ++h) EXPECT_EQ(scaled[h], plain[h] / 8);
}

TEST(Alibi, H5KeepsWhatBfloat16LosesUnlessAskedTo) {
  const Array<double> q{0}, k{-1000, -1001, -1002, -1003, -1004};
  const Encoding exact = made<Alibi>(of(8));
  const Array<float> full = bias_of(exact, 7, positions(q), positions(k));
  EXPECT_EQ(full, (Array<float>{-3.90625f, -3.91015625f, -3.9140625f, -3.91796875f, -3.921875f}));
  // From 512 to 1024 bfloat16 holds multiples of 4; ties go to the even one, 1000.
  const Encoding rounded = made<Alibi>(of(8).text("rounding", "bf16"));
  EXPECT_EQ(bias_of(rounded, 7, positions(q), positions(k)),
            (Array<float>{-3.90625f, -3.90625f, -3.90625f, -3.921875f, -3.921875f}));
}

TEST(Alibi, H7PlacesACachedQueryAtTheLastKey) {
  const Encoding e = made<Alibi>(of(1).list("slopes", {1}));
  const Array<double> q{2}, k{0, 1, 2};
  EXPECT_EQ(bias_of(e, 0, positions(q), positions(k)), (Array<float>{-2, -1, 0}));
}

TEST(Alibi, HoldsAtTheEndsOfTheEarth) {
  const Encoding e = made<Alibi>(of(1).list("slopes", {0.5}));
  const Array<double> q{-0x1p53}, k{0x1p53};
  EXPECT_EQ(bias_of(e, 0, positions(q), positions(k))[0], 0x1p53f);
  // At 2^53 the neighbour is still one step away, because the difference is formed in float64.
  const Array<double> far{0x1p53 - 1}, here{0x1p53 - 2, 0x1p53 - 1, 0x1p53};
  EXPECT_EQ(bias_of(e, 0, positions(far), positions(here)), (Array<float>{-0.5, 0, 0.5}));
}

TEST(Alibi, SeesTwoKeysAtOnePositionAsOne) {
  const Encoding e = made<Alibi>(of(1).list("slopes", {1}));
  const Array<double> q{0x1p53 - 5}, k{0x1p53, 0x1p53};
  EXPECT_EQ(bias_of(e, 0, positions(q), positions(k)), (Array<float>{5, 5}));
}

TEST(Alibi, RefusesOptionsThatDoNotFit) {
  EXPECT_TRUE(fails_with(decoded<Alibi>({}), Errc::missing_option, "heads"));
  EXPECT_TRUE(fails_with(decoded<Alibi>(of(0)), Errc::out_of_range, "heads"));
  EXPECT_TRUE(
      fails_with(decoded<Alibi>(of(4).number("biasMax", 0)), Errc::out_of_range, "biasMax"));
  EXPECT_TRUE(fails_with(decoded<Alibi>(of(4, "causal")), Errc::out_of_range, "form"));
  EXPECT_TRUE(
      fails_with(decoded<Alibi>(of(4).list("slopes", {1, 2, 3})), Errc::shape_mismatch, "slopes"));
  EXPECT_TRUE(
      fails_with(decoded<Alibi>(of(8).number("totalHeads", 4)), Errc::out_of_range, "totalHeads"));
  EXPECT_TRUE(fails_with(decoded<Alibi>(of(4).number("totalHeads", 8).number("headOffset", 5)),
                         Errc::out_of_range, "headOffset"));
  EXPECT_TRUE(
      fails_with(decoded<Alibi>(of(4).number("headOffset", 1)), Errc::out_of_range, "headOffset"));
  EXPECT_TRUE(
      fails_with(decoded<Alibi>(of(4).number("slopeScale", 0)), Errc::out_of_range, "slopeScale"));
  EXPECT_TRUE(fails_with(made<Alibi>(of(1)).accepts(positions({std::nan("")})), Errc::not_finite,
                         "positions"));
}

}  // namespace
}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/rotary/rope_llama3.hpp"

#include "arches.hpp"
#include "posenc/encodings/rotary/rope.hpp"
#include "reference/plans.hpp"

namespace posenc {
namespace {

using namespace reference;
using reference::Options;

Options of(double head_dim, double factor, double original, double base = 5e5) {
  return std::move(Options()
                       .number("headDim", head_dim)
                       .number("base", base)
                       .number("factor", factor)
                       .number("originalLength", original));
}

template <class A>
class RopeLlama3Rows : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(RopeLlama3Rows, Arches);

/// The blend as one formula: the number of turns within the length, clipped.
Turning want_of(Index d, double factor, double original, double low, double high, double base) {
  Turning want{.head_dim = d, .frequencies = plain(d, base)};
  for (Index i = 0; i < d / 2; ++i) {
    const double turns = original * want.frequencies[i] / (2 * std::numbers::pi);
    const double t = std::min(1.0, std::max(0.0, (turns - low) / (high - low)));
    want.frequencies[i] *= (1 - t) / factor + t;
  }
  return want;
}

TYPED_TEST(RopeLlama3Rows, TurnByABlendInTheWavelength) {
  for (Index d : {2, 6, 64, 128}) {
    const double r = static_cast<double>(d);
    expect_turns<TypeParam>(made<RopeLlama3, TypeParam>(of(r, 8, 8192)),
                            want_of(d, 8, 8192, 1, 4, 5e5), 1);
    expect_turns<TypeParam>(
        made<RopeLlama3, TypeParam>(
            of(r, 3, 2048).number("lowFreqFactor", 0.5).number("highFreqFactor", 20)),
        want_of(d, 3, 2048, 0.5, 20, 5e5), 1);
  }
}

TYPED_TEST(RopeLlama3Rows, Attend) {
  expect_attends<TypeParam>(made<RopeLlama3, TypeParam>(of(16, 4, 64, 100)),
                            want_of(16, 4, 64, 1, 4, 100));
}

TEST(RopeLlama3, HasTheGoldenFrequencies) {
  const auto expect_at = [](const Array<double>& w, const Array<double>& want) {
    const Index n = w.size();
    const Array<Index> at{0, 1, 2, n / 4, n / 2, 3 * n / 4, n - 2, n - 1};
    for (Index i = 0; i < at.size(); ++i) EXPECT_NEAR(w[at[i]], want[i], want[i] * 5e-9);
  };
  expect_at(frequencies_of<RopeLlama3>(of(128, 8, 8192)),
            {1, 0.814617234, 0.663601238, 0.0376060309, 5.24846161e-4, 6.64786987e-6, 3.76732269e-7,
             3.06892599e-7});
  expect_at(frequencies_of<RopeLlama3>(of(64, 32, 8192)),
            {1, 0.663601238, 0.440366603, 0.0376060309, 4.29556797e-4, 1.66196747e-6, 1.41927203e-7,
             9.41830673e-8});
}

// Property 20, D4 and D5: the pairs that stay, that blend and that are divided.
TEST(RopeLlama3, SortsThePairsAsPublished) {
  const auto expect_bands = [](const Array<double>& w, double base, double factor, Index kept,
                               const Array<double>& blended) {
    const Array<double> f = plain(2 * w.size(), base);
    for (Index i = 0; i < w.size(); ++i) {
      const Index in_band = i - kept;
      if (in_band < 0) {
        EXPECT_NEAR(w[i], f[i], f[i] * 1e-13);
      } else if (in_band < blended.size()) {
        EXPECT_NEAR(w[i], blended[in_band], blended[in_band] * 3e-6);
      } else {
        EXPECT_NEAR(w[i], f[i] / factor, f[i] * 1e-13);
      }
    }
  };
  expect_bands(frequencies_of<RopeLlama3>(of(128, 8, 8192)), 5e5, 8, 29,
               {2.16657e-3, 1.37189e-3, 8.56751e-4, 5.24846e-4, 3.12694e-4, 1.78508e-4});
  expect_bands(frequencies_of<RopeLlama3>(of(64, 32, 8192)), 5e5, 32, 15,
               {1.29055e-3, 4.29557e-4, 9.70829e-5});
  // Llama 4 Scout: no band between.
  expect_bands(frequencies_of<RopeLlama3>(of(128, 16, 8192).number("highFreqFactor", 1)), 5e5, 16,
               35, {});
}

TEST(RopeLlama3, KeepsAWavelengthOfExactlyTheOnlyLimit) {
  // Pair 0 turns once in 2 pi positions; with both factors L / 2 pi its wavelength is the limit.
  const double limit = 64 / (2 * std::numbers::pi);
  for (double nudge : {1.0, 1 - 1e-9, 1 + 1e-9}) {
    const Array<double> w =
        frequencies_of<RopeLlama3>(of(4, 8, 64)
                                       .number("lowFreqFactor", limit * nudge)
                                       .number("highFreqFactor", limit * nudge));
    EXPECT_EQ(w[0], nudge > 1 ? 0.125 : 1);
    EXPECT_TRUE(std::isfinite(w[1]));
  }
}

// Property 11.
TEST(RopeLlama3, EqualsPlainRopeToTheBitAtFactor1) {
  for (std::string_view precision : {"exact", "hf-f32"})
    expect_same(
        frequencies_of<RopeLlama3>(of(128, 1, 8192).text("precision", precision)),
        frequencies_of<Rope>(
            Options().number("headDim", 128).number("base", 5e5).text("precision", precision)));
}

TEST(RopeLlama3, RefusesOptionsThatDoNotFit) {
  EXPECT_TRUE(fails_with(decoded<RopeLlama3>(of(64, 8, 8192).number("lowFreqFactor", 5)),
                         Errc::out_of_range, "highFreqFactor"));
  EXPECT_TRUE(fails_with(decoded<RopeLlama3>(of(64, 8, 8192).number("lowFreqFactor", 0)),
                         Errc::out_of_range, "lowFreqFactor"));
  EXPECT_TRUE(fails_with(decoded<RopeLlama3>(Options().number("headDim", 64).number("factor", 8)),
                         Errc::missing_option, "originalLength"));
}

}  // namespace
}  // namespace posenc

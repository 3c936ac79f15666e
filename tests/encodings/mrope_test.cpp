// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/rotary/mrope.hpp"

#include "arches.hpp"
#include "posenc/encodings/rotary/rope.hpp"
#include "reference/axes.hpp"
#include "reference/options.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::decoded;
using reference::fails_with;
using reference::Options;
using reference::Trial;

using Sections = Array<double>;

Options options(int head_dim, const Sections& sections, bool interleaved = false) {
  Options o;
  o.number("headDim", head_dim).list("sections", sections).flag("interleaved", interleaved);
  return o;
}
template <class Arch>
Encoding mrope(const Options& o) {
  return reference::made<Mrope, Arch>(o);
}

/// The axis of each pair, written out: runs of T, H and W, or turns as long as a section lasts.
Array<Index> axes_of(const Sections& sections, bool interleaved) {
  const Index pairs = static_cast<Index>(sections[0] + sections[1] + sections[2]);
  Array<Index> axes(pairs, 0);
  if (interleaved) {
    for (Index a = 1; a <= 2; ++a)
      for (Index n = 0; n < static_cast<Index>(sections[a]); ++n) axes[3 * n + a] = a;
    return axes;
  }
  for (Index i = static_cast<Index>(sections[0]); i < pairs; ++i)
    axes[i] = i < static_cast<Index>(sections[0] + sections[1]) ? 1 : 2;
  return axes;
}
reference::Angle angle_of(const Sections& sections, bool interleaved, Index rotary_dim) {
  return [axes = axes_of(sections, interleaved), rotary_dim](Index, Index pair,
                                                             const double* point) {
    return point[axes[pair]] *
           std::pow(10000.0, -2.0 * static_cast<double>(pair) / static_cast<double>(rotary_dim));
  };
}

/// Text, a 2 x 3 image, text: [axes, 10].
Array<double> text_and_image() {
  return {0, 1, 2, 2, 2, 2, 2, 2, 5, 6,  //
          0, 1, 2, 2, 2, 3, 3, 3, 5, 6,  //
          0, 1, 2, 3, 4, 2, 3, 4, 5, 6};
}

struct Case {
  int head_dim;
  Sections sections;
  bool interleaved;
};
const std::array<Case, 4> cases{
    {{6, {1, 1, 1}, false}, {16, {2, 3, 3}, false}, {16, {4, 2, 2}, true}, {22, {4, 4, 3}, true}}};

template <class A>
class MropeTest : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(MropeTest, Arches);

TYPED_TEST(MropeTest, TurnsEachPairWithItsAxis) {
  for (const auto& [head_dim, sections, interleaved] : cases)
    reference::expect_rotation<TypeParam>(
        mrope<TypeParam>(options(head_dim, sections, interleaved)), 1, text_and_image(),
        {Layout::half, head_dim / 2, head_dim / 2}, angle_of(sections, interleaved, head_dim));
}

TYPED_TEST(MropeTest, AttendsToImagesAndText) {
  for (const auto& [head_dim, sections, interleaved] : cases)
    for (const TileSizes& tiles : {TileSizes{64, 128}, TileSizes{3, 4}}) {
      Trial trial{.shape = {1, 4, 2, 10, 10, head_dim, 5}, .tiles = tiles, .axes = 3};
      trial.query_positions = trial.key_positions = text_and_image();
      reference::expect_attention<TypeParam>(
          mrope<TypeParam>(options(head_dim, sections, interleaved)), trial,
          reference::turned_logit(head_dim, {Layout::half, head_dim / 2, head_dim / 2},
                                  angle_of(sections, interleaved, head_dim)));
    }
}

TYPED_TEST(MropeTest, IsRopeOnText) {
  for (const auto& [head_dim, sections, interleaved] : cases)
    for (Trial trial : reference::trials(head_dim)) {
      trial.axes = 3;
      reference::expect_attention<TypeParam>(
          mrope<TypeParam>(options(head_dim, sections, interleaved)), trial,
          [n = head_dim](Index, const float* q, const float* k, const double* m, const double* j) {
            return reference::turned_product(q, k, n, n, 10000, *m - *j);
          });
    }
}

using Native = xsimd::default_arch;

TEST(Mrope, GivesEachAxisTheChannelsThatModelsHave) {
  const auto count = [](const Sections& sections, bool interleaved, int head_dim) {
    const Encoding e = mrope<Native>(options(head_dim, sections, interleaved));
    std::array<Index, 3> pairs{};
    for (Index axis = 0; axis < 3; ++axis) {
      Array<double> point(3, 0);
      point[axis] = 1;  // of this axis alone, so that its pairs are those with a sine
      Array<float> table(head_dim);
      Array<double> frequencies(head_dim / 2);
      e.angles({.out = {table.data(), 1, head_dim, head_dim},
                .positions = Positions::of(point.data(), 1, 3),
                .length = 1,
                .scratch = frequencies.data()});
      for (Index i = head_dim / 2; i < head_dim; ++i)
        pairs[static_cast<std::size_t>(axis)] += table[i] != 0 ? 1 : 0;
    }
    return pairs;
  };
  using Counts = std::array<Index, 3>;
  EXPECT_EQ(count({16, 24, 24}, false, 128), (Counts{16, 24, 24}));
  EXPECT_EQ(count({24, 20, 20}, true, 128), (Counts{24, 20, 20}));
  EXPECT_EQ(count({11, 11, 10}, true, 64), (Counts{11, 11, 10}));
}

TEST(Mrope, EndsItsTurnsWithTime) {
  const Array<Index> axes = axes_of({24, 20, 20}, true);
  for (Index i = 0; i < 60; ++i) EXPECT_EQ(axes[i], i % 3);
  for (Index i = 60; i < 64; ++i) EXPECT_EQ(axes[i], 0);
}

TEST(Mrope, RestartsFrequenciesForEachAxisWhenAsked) {
  Options o = options(24, {4, 4, 4});
  o.text("frequencies", "per-axis");
  const Encoding e = mrope<Native>(o);
  Array<double> frequencies(12);
  e.plan(1, frequencies.data());
  for (Index i = 0; i < 12; ++i)
    EXPECT_NEAR(frequencies[i], std::pow(10000.0, -static_cast<double>(i % 4) / 4), 1e-15);
}

TEST(Mrope, KeepsThePartialFactor) {
  Options wrong = options(16, {2, 1, 1}), right = options(16, {1, 1, 0});
  wrong.number("rotaryDim", 4);
  right.number("rotaryDim", 4);
  EXPECT_TRUE(fails_with(decoded<Mrope>(wrong), Errc::out_of_range, "sections"));
  const Encoding e = mrope<Native>(right);
  reference::Random random(1);
  Array<float> x = random.floats(16);
  const Array<float> before = x;
  const Array<double> point{3, 4, 5};
  ASSERT_TRUE(reference::succeeds(rotate(e, {.x = x.data(),
                                             .from = x.data(),
                                             .rows = 1,
                                             .width = 16,
                                             .positions = point.data(),
                                             .axes = 3})));
  EXPECT_NE(x[1], before[1]);
  for (Index c = 4; c < 16; ++c) EXPECT_EQ(x[c], before[c]);
}

TEST(Mrope, RefusesSectionsThatDoNotFit) {
  EXPECT_TRUE(fails_with(decoded<Mrope>(options(16, {4, 4})), Errc::shape_mismatch, "sections"));
  EXPECT_TRUE(
      fails_with(decoded<Mrope>(options(16, {4, 2, 2, 0})), Errc::shape_mismatch, "sections"));
  EXPECT_TRUE(fails_with(decoded<Mrope>(options(16, {4, 2, 1})), Errc::out_of_range, "sections"));
  EXPECT_TRUE(
      fails_with(decoded<Mrope>(options(16, {4.5, 2, 1.5})), Errc::not_integer, "sections"));
  EXPECT_TRUE(fails_with(decoded<Mrope>(options(16, {-1, 5, 4})), Errc::out_of_range, "sections"));
  EXPECT_TRUE(
      fails_with(decoded<Mrope>(options(16, {0, 4, 4}, true)), Errc::out_of_range, "sections"));
  Options both = options(24, {4, 4, 4}, true);
  both.text("frequencies", "per-axis");
  EXPECT_TRUE(fails_with(decoded<Mrope>(both), Errc::option_not_applicable, "frequencies"));
}

TEST(Mrope, RefusesPositionsOfOneAxis) {
  const Encoding e = mrope<Native>(options(6, {1, 1, 1}));
  const Array<double> p{0, 1};
  EXPECT_TRUE(
      fails_with(e.accepts(Positions::of(p.data(), 2, 1)), Errc::shape_mismatch, "positions"));
}

}  // namespace
}  // namespace posenc

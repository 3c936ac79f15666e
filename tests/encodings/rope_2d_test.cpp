// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/rotary/rope_2d.hpp"

#include <numbers>

#include "arches.hpp"
#include "reference/axes.hpp"
#include "reference/options.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::cells;
using reference::decoded;
using reference::fails_with;
using reference::Options;
using reference::succeeds;
using reference::Trial;

constexpr double pi = std::numbers::pi;

struct Case {
  std::string_view variant;
  Layout layout;
  /// The angle of pair i of n at row y and column x, as the model's own code computes it.
  double (*angle)(Index i, Index n, double y, double x);
  bool has_grid = false;
};

/// For grids of 3 x 5.
constexpr double rows = 3, columns = 5;
double falling(double base, Index i, Index n) {
  return std::pow(base, -static_cast<double>(i) / static_cast<double>(n));
}
const std::array<Case, 7> cases{{
    {"qwen-vl", Layout::half,
     [](Index i, Index n, double y, double x) {
       return (i < n / 2 ? y : x) * falling(1e4, i % (n / 2), n / 2);
     }},
    {"pixtral", Layout::half,
     [](Index i, Index n, double y, double x) {
       return i < n / 2 ? y * falling(1e4, 2 * i, n) : x * falling(1e4, 2 * (i - n / 2) + 1, n);
     }},
    {"sam2", Layout::interleaved,
     [](Index i, Index n, double y, double x) {
       return (i < n / 2 ? x : y) * falling(1e4, i % (n / 2), n / 2);
     }},
    {"llama4", Layout::interleaved,
     [](Index i, Index n, double y, double x) {
       return ((i < n / 2 ? x : y) + 1) * falling(1e4, i % (n / 2), n / 2);
     }},
    {"eva-language", Layout::interleaved,
     [](Index i, Index n, double y, double x) {
       return (i < n / 2 ? y : x) * falling(1e4, i % (n / 2), n / 2);
     }},
    {"eva-pixel", Layout::interleaved,
     [](Index i, Index n, double y, double x) {
       const double c = i < n / 2 ? 2 * y / (rows - 1) - 1 : 2 * x / (columns - 1) - 1;
       const double steps = static_cast<double>(std::max<Index>(1, n / 2 - 1));
       return c * pi * (1 + (112.0 - 1) * static_cast<double>(i % (n / 2)) / steps);
     },
     true},
    {"dinov3", Layout::half,
     [](Index i, Index n, double y, double x) {
       const double c = i < n / 2 ? 2 * ((y + 0.5) / rows) - 1 : 2 * ((x + 0.5) / columns) - 1;
       return 2 * pi * c /
              std::pow(100.0, static_cast<double>(i % (n / 2)) / static_cast<double>(n / 2));
     },
     true},
}};

Options options(std::string_view variant, int head_dim, bool grid = false) {
  Options o;
  o.number("headDim", head_dim).text("variant", variant);
  if (grid) o.list("grid", {rows, columns});
  return o;
}
template <class Arch>
Encoding rope_2d(const Options& o) {
  return reference::made<Rope2d, Arch>(o);
}
reference::Angle angle_of(const Case& one, Index pairs) {
  return [f = one.angle, pairs](Index, Index i, const double* point) {
    return f(i, pairs, point[0], point[1]);
  };
}

template <class A>
class Rope2dTest : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(Rope2dTest, Arches);

TYPED_TEST(Rope2dTest, TurnsAsEachModelDoes) {
  for (const Case& one : cases) {
    SCOPED_TRACE(one.variant);
    for (const int head_dim : {4, 12, 80})
      reference::expect_rotation<TypeParam>(
          rope_2d<TypeParam>(options(one.variant, head_dim, one.has_grid)), 1, cells(3, 5),
          {one.layout, head_dim / 2, head_dim / 2}, angle_of(one, head_dim / 2));
  }
}

TYPED_TEST(Rope2dTest, AttendsToImages) {
  for (const Case& one : cases)
    for (const TileSizes& tiles : {TileSizes{64, 128}, TileSizes{4, 5}}) {
      SCOPED_TRACE(one.variant);
      Trial trial{.shape = {1, 4, 2, 15, 15, 12, 5}, .tiles = tiles, .causal = false, .axes = 2};
      trial.query_positions = trial.key_positions = cells(3, 5);
      reference::expect_attention<TypeParam>(
          rope_2d<TypeParam>(options(one.variant, 12, one.has_grid)), trial,
          reference::turned_logit(12, {one.layout, 6, 6}, angle_of(one, 6)));
    }
}

/// Translating the grid changes no logit.
TYPED_TEST(Rope2dTest, SeesDifferencesOnly) {
  for (const Case& one : cases) {
    if (one.has_grid) continue;
    Trial trial{.shape = {1, 2, 2, 15, 15, 8, 4}, .causal = false, .axes = 2};
    trial.query_positions = trial.key_positions = cells(3, 5, 40, -7);
    reference::expect_attention<TypeParam>(
        rope_2d<TypeParam>(options(one.variant, 8)), trial,
        [&](Index h, const float* q, const float* k, const double* m, const double* j) {
          const double from[] = {m[0] - 40, m[1] + 7}, to[] = {j[0] - 40, j[1] + 7};
          return reference::turned_logit(8, {one.layout, 4, 4}, angle_of(one, 4))(h, q, k, from,
                                                                                  to);
        });
  }
}

using Native = xsimd::default_arch;

/// [pairs] angles at one point, read off cosines and sines.
Array<double> angles_at(const Encoding& e, double y, double x) {
  const Index pairs = e.rotation().pairs;
  const Array<double> point{y, x};
  Array<float> table(2 * pairs);
  Array<double> frequencies(pairs), angles(pairs);
  e.angles({.out = {table.data(), 1, 2 * pairs, 2 * pairs},
            .positions = Positions::of(point.data(), 1, 2),
            .length = 1,
            .scratch = frequencies.data()});
  for (Index i = 0; i < pairs; ++i) angles[i] = std::atan2(table[pairs + i], table[i]);
  return angles;
}

TEST(Rope2d, IsRopeOfHalfThePairsOnAGridOfOneRow) {
  const Encoding e = rope_2d<Native>(options("qwen-vl", 16));
  for (double x = 0; x < 3; ++x) {
    const Array<double> angles = angles_at(e, 0, x);
    for (Index i = 0; i < 4; ++i) {
      EXPECT_EQ(angles[i], 0);
      EXPECT_NEAR(angles[4 + i], x * falling(1e4, i, 4), 1e-6);
    }
  }
}

TEST(Rope2d, RepeatsTheNumbersOfDinov3) {
  Options o = options("dinov3", 16);
  o.list("grid", {2, 2});
  const Encoding e = rope_2d<Native>(o);
  Array<double> frequencies(8);
  e.plan(1, frequencies.data());
  const double periods[] = {1, 3.16227766, 10, 31.6227766};
  const double first[] = {-3.14159265, -0.993458827, -0.314159265, -0.0993458827};
  const Array<double> angles = angles_at(e, 0, 0);
  for (Index i = 0; i < 4; ++i) {
    EXPECT_NEAR(2 * pi / frequencies[i], periods[i], 1e-7);
    // -pi and pi are the same turn.
    EXPECT_NEAR(std::remainder(angles[i] - first[i], 2 * pi), 0, 1e-6);
  }
}

TEST(Rope2d, SharesAnglesBetweenResolutionsOfDinov3) {
  Options small = options("dinov3", 16), large = options("dinov3", 16);
  small.list("grid", {4, 4});
  large.list("grid", {8, 8});
  const Encoding coarse = rope_2d<Native>(small), fine = rope_2d<Native>(large);
  const Encoding measured = rope_2d<Native>(options("dinov3", 16));
  for (double cell = 0; cell < 4; ++cell) {
    const Array<double> a = angles_at(coarse, cell, 1), b = angles_at(fine, 2 * cell + 0.5, 2.5);
    const Array<double> c = angles_at(measured, 2 * (cell + 0.5) / 4 - 1, 2 * 1.5 / 4 - 1);
    for (Index i = 0; i < 8; ++i) {
      EXPECT_NEAR(std::remainder(a[i] - b[i], 2 * pi), 0, 1e-6);
      EXPECT_NEAR(std::remainder(a[i] - c[i], 2 * pi), 0, 1e-6);
    }
  }
}

TEST(Rope2d, NormalisesBySidesOfDinov3) {
  const auto row_angle = [](std::string_view normalise) {
    Options o = options("dinov3", 16, true);
    o.text("normalise", normalise);
    return angles_at(rope_2d<Native>(o), 2, 0)[3];  // the slowest pair of row 2
  };
  const double slow = 2 * pi / std::pow(100.0, 0.75);
  EXPECT_NEAR(row_angle("separate"), slow * (2 * 2.5 / 3 - 1), 1e-6);
  EXPECT_NEAR(row_angle("min"), slow * (2 * 2.5 / 3 - 1), 1e-6);
  EXPECT_NEAR(row_angle("max"), slow * (2 * 2.5 / 5 - 1), 1e-6);
}

TEST(Rope2d, ScalesIndicesToTheGridOfTheTraining) {
  Options o = options("eva-language", 16, true);
  o.list("reference", {6, 10});
  const Array<double> scaled = angles_at(rope_2d<Native>(o), 1, 1);
  const Array<double> plain = angles_at(rope_2d<Native>(options("eva-language", 16)), 2, 2);
  for (Index i = 0; i < 8; ++i) EXPECT_EQ(scaled[i], plain[i]);
}

TEST(Rope2d, HasAFiniteAngleOnAGridOfOneCell) {
  for (std::string_view variant : {"eva-pixel", "dinov3"}) {
    Options o = options(variant, 4);
    o.list("grid", {1, 1});
    for (double angle : angles_at(rope_2d<Native>(o), 0, 0)) EXPECT_TRUE(std::isfinite(angle));
  }
}

TEST(Rope2d, TakesBaseLayoutAndPartOfAHead) {
  Options o = options("pixtral", 10);
  o.number("rotaryDim", 8).number("base", 100).text("layout", "interleaved");
  reference::expect_rotation<Native>(rope_2d<Native>(o), 1, cells(2, 2),
                                     {Layout::interleaved, 4, 4},
                                     [](Index, Index i, const double* p) {
                                       const Index k = i < 2 ? 2 * i : 2 * (i - 2) + 1;
                                       return p[i < 2 ? 0 : 1] * falling(100, k, 4);
                                     });
}

TEST(Rope2d, IsCloseInSinglePrecision) {
  for (const Case& one : cases) {
    Options o = options(one.variant, 16, one.has_grid),
            single = options(one.variant, 16, one.has_grid);
    single.text("precision", "hf-f32");
    const Array<double> a = angles_at(rope_2d<Native>(o), 2, 3),
                        b = angles_at(rope_2d<Native>(single), 2, 3);
    // eva-pixel's angles reach 176 radians, of which float32 holds 1e-5.
    for (Index i = 0; i < 8; ++i)
      EXPECT_NEAR(std::remainder(a[i] - b[i], 2 * pi), 0, 5e-5) << one.variant;
  }
}

TEST(Rope2d, MustBeToldWhereItsTokensStand) {
  const Encoding e = rope_2d<Native>(options("sam2", 8));
  const Encoding* encodings[] = {&e};
  const Array<double> points = cells(1, 2);
  AttentionArguments a;
  a.shape = {1, 1, 1, 2, 2, 8, 8};
  a.axes = 2;
  a.encodings = encodings;
  EXPECT_TRUE(fails_with(check(a), Errc::missing_option, "queryPositions"));
  a.query_positions = {points.data(), 1};
  EXPECT_TRUE(fails_with(check(a), Errc::missing_option, "keyPositions"));
  a.key_positions = {points.data(), 1};
  EXPECT_TRUE(succeeds(check(a)));
}

TEST(Rope2d, RefusesOptionsThatContradictEachOther) {
  EXPECT_TRUE(fails_with(decoded<Rope2d>(options("sam2", 6)), Errc::out_of_range, "headDim"));
  EXPECT_TRUE(fails_with(decoded<Rope2d>(options("sam2", 7)), Errc::not_even, "headDim"));
  EXPECT_TRUE(
      fails_with(decoded<Rope2d>(options("sam2", 8, true)), Errc::option_not_applicable, "grid"));
  EXPECT_TRUE(fails_with(decoded<Rope2d>(options("eva-language", 8, true)),
                         Errc::option_not_applicable, "grid"));
  const auto with = [](std::string_view variant, auto&& add, bool grid = false) {
    Options o = options(variant, 8, grid);
    add(o);
    return decoded<Rope2d>(o);
  };
  const auto reference = [](Options& o) { o.list("reference", {4, 4}); };
  EXPECT_TRUE(fails_with(with("eva-language", reference), Errc::missing_option, "grid"));
  EXPECT_TRUE(
      fails_with(with("dinov3", reference, true), Errc::option_not_applicable, "reference"));
  const auto frequency = [](Options& o) { o.number("maxFrequency", 100); };
  EXPECT_TRUE(fails_with(with("dinov3", frequency), Errc::option_not_applicable, "maxFrequency"));
  const auto base = [](Options& o) { o.number("base", 100); };
  EXPECT_TRUE(fails_with(with("eva-pixel", base), Errc::option_not_applicable, "base"));
  const auto larger = [](Options& o) { o.text("normalise", "max"); };
  EXPECT_TRUE(
      fails_with(with("eva-pixel", larger, true), Errc::option_not_applicable, "normalise"));
  const auto part = [](Options& o) { o.number("rotaryDim", 12); };
  EXPECT_TRUE(fails_with(with("sam2", part), Errc::out_of_range, "rotaryDim"));
}

}  // namespace
}  // namespace posenc

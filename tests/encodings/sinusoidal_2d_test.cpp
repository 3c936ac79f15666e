// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/sinusoidal_2d.hpp"

#include <gtest/gtest.h>

#include "posenc/core/apply.hpp"
#include "reference/options.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::decoded;
using reference::fails_with;
using reference::made;
using reference::Options;

constexpr double one_rounding = 0x1p-24;

Options of(int dim, std::string_view variant) {
  return std::move(Options().number("dim", dim).text("variant", variant));
}
/// Rows [n, dim] at positions [2, n].
Array<float> table(const Encoding& e, const Array<double>& points) {
  const Index n = points.size() / 2;
  Array<float> x(n * e.embed_width());
  EXPECT_TRUE(reference::succeeds(embed(e, {.x = x.data(),
                                            .rows = n,
                                            .width = e.embed_width(),
                                            .positions = points.data(),
                                            .axes = 2})));
  return x;
}
const Array<double> points{0, 3, -2, 0.5, 4095, 1, 0, 7, 2.25, 3};  // 5 rows, then 5 columns

TEST(Sinusoidal2d, WritesRowsThenColumnsInTurnsAsDetrDoes) {
  for (int dim : {4, 12, 64})
    for (const bool divided : {false, true}) {
      Options o = of(dim, "detr");
      if (divided) o.list("grid", {6, 9}).number("scale", 5);
      const Array<float> got = table(made<Sinusoidal2d>(o), points);
      for (Index t = 0; t < 5; ++t)
        for (Index c = 0; c < dim; ++c) {
          const bool of_column = c >= dim / 2;
          const Index i = c % (dim / 2);
          double at = points[(of_column ? 5 : 0) + t] + 1;
          if (divided) at = at / ((of_column ? 9 : 6) + 1e-6) * 5;
          const double angle = at / std::pow(10000.0, 2.0 * static_cast<double>(i / 2) / (dim / 2));
          EXPECT_NEAR(got[t * dim + c], i % 2 == 0 ? std::sin(angle) : std::cos(angle),
                      2 * one_rounding);
        }
    }
}

TEST(Sinusoidal2d, WritesColumnsThenRowsSinesFirstAsMaeDoes) {
  for (int dim : {4, 16, 768}) {
    const Array<float> got = table(made<Sinusoidal2d>(of(dim, "mae").number("base", 500)), points);
    for (Index t = 0; t < 5; ++t)
      for (Index c = 0; c < dim; ++c) {
        const Index quarter = dim / 4, i = c % quarter;
        const double at = points[(c < dim / 2 ? 5 : 0) + t];
        const double angle =
            at * std::pow(500.0, -static_cast<double>(i) / static_cast<double>(quarter));
        EXPECT_NEAR(got[t * dim + c], c / quarter % 2 == 0 ? std::sin(angle) : std::cos(angle),
                    2 * one_rounding);
      }
  }
}

TEST(Sinusoidal2d, SpansTheSameAnglesWhateverTheSizeOfTheGrid) {
  const auto corner = [](double h, double w) {
    Options o = of(16, "detr");
    o.list("grid", {h, w});
    return table(made<Sinusoidal2d>(o), {h - 1, w - 1});
  };
  const Array<float> small = corner(4, 3), large = corner(400, 300);
  for (Index c = 0; c < 16; ++c) EXPECT_NEAR(small[c], large[c], 3e-6);  // 1e-6 of the size
}

TEST(Sinusoidal2d, NamesWhatIsWrong) {
  EXPECT_TRUE(fails_with(decoded<Sinusoidal2d>(of(6, "detr")), Errc::out_of_range, "dim"));
  Options o = of(8, "mae");
  o.list("grid", {4, 4});
  EXPECT_TRUE(fails_with(decoded<Sinusoidal2d>(o), Errc::option_not_applicable, "grid"));
  const Encoding e = made<Sinusoidal2d>(of(8, "mae"));
  const Array<double> one{0};
  EXPECT_TRUE(fails_with(e.accepts(reference::positions(one)), Errc::shape_mismatch, "positions"));
}

}  // namespace
}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <numbers>

#include "posenc/core/encoding.hpp"
#include "posenc/core/position_rules.hpp"
#include "posenc/core/powers.hpp"
#include "posenc/core/waves.hpp"

namespace posenc {

/// Sinusoids for images: half of the channels for the row, half for the column. Carion et al., 2020
/// (DETR); He et al., 2022 (MAE). With w = dim/2 channels for an axis and ωᵢ = base^(−2i/w):
///
///   detr   rows first, then columns; sine and cosine in turns; coordinates count from 1
///   mae    columns first, then rows; all sines of an axis, then all cosines; from 0
///
/// `grid` [h, w] is for detr alone: coordinates then are (index + 1)/(size + 1e-6)·scale, so that a
/// picture of any size spans the same angles. Positions are [row, column] from 0 in either form.
class Sinusoidal2d : public EncodingDefaults {
 public:
  enum class Variant { detr, mae };
  static constexpr std::array<std::string_view, 2> variant_names{"detr", "mae"};

  struct Options {
    int dim = 0;
    double base = 10000;
    Variant variant = Variant::detr;
    Buffer<double> grid;
    double scale = 2 * std::numbers::pi;
  };
  static constexpr Spec spec{
      .id = "sinusoidal-2d",
      .title = "Sinusoidal 2-D",
      .summary = "Sines and cosines of the row beside those of the column, for patches of images.",
      .formula =
          "PE(y, x) = [sin(y·ωᵢ), cos(y·ωᵢ) … | sin(x·ωᵢ), cos(x·ωᵢ) …], ωᵢ = base^(−4i/dim)",
      .paper = "Carion et al., 2020",
      .url = "https://arxiv.org/abs/2005.12872",
      .used_by = "DETR, MAE, ViT-MAE",
      .sites = {.embed = true},
      .axes = 2};
  using F = FieldOf<Options>;
  static constexpr std::array fields{
      F::integer<&Options::dim>("dim", "Width of the embedding; a multiple of 4.", 4, 65536)
          .multiple_of(4)
          .required(64),
      F::number<&Options::base>("base", "Ratio between the longest and the shortest wavelength.", 1,
                                1e15)
          .exclusive_min()
          .logarithmic(),
      F::choice<&Options::variant>(
          "variant", "Order of axes and channels, and where counting starts.", variant_names),
      F::list<&Options::grid>("grid",
                              "Rows and columns to divide by, for detr; none when left out.", 1,
                              1e6, Dim::exactly(2)),
      F::number<&Options::scale>("scale", "What the last row and column of a grid count as.", 1e-6,
                                 1e6)};

  static Result<Sinusoidal2d> make(Options&& o) {
    if (!o.grid.empty() && o.variant != Variant::detr)
      return fault(Errc::option_not_applicable, "grid", "left out: only detr divides by the size");
    const auto pairs = static_cast<std::size_t>(o.dim / 4);
    Buffer<double> frequencies;
    if (Status s = frequencies.allocate(pairs); !s) return s;
    for (std::size_t i = 0; i < pairs; ++i)
      frequencies[i] = power(o.base, -static_cast<double>(i) / static_cast<double>(pairs));
    return Sinusoidal2d(std::move(o), std::move(frequencies));
  }

  Index embed_width() const { return o_.dim; }
  Status accepts(const Positions& positions) const { return check_real_positions(positions); }

  template <class Arch>
  void embed(Arch, const RowBlock& b) const {
    b.copy_source();
    const bool detr = o_.variant == Variant::detr;
    const Index pairs = o_.dim / 4, step = detr ? 2 : 1, cosines = detr ? 1 : pairs;
    for (Index part = 0; part < 2; ++part) {
      const Index axis = detr ? part : 1 - part;
      for (Index t = 0; t < b.rows.rows; ++t) {
        const double at = coordinate(axis, b.positions.axis(axis)[t]);
        float* x = b.rows.row(t) + part * 2 * pairs;
        for_each_cosine_and_sine(
            pairs, [&](Index i) { return at * frequencies_[static_cast<std::size_t>(i)]; },
            [&](Index i, double cosine, double sine) {
              x[i * step] += static_cast<float>(sine);
              x[i * step + cosines] += static_cast<float>(cosine);
            });
      }
    }
  }

 private:
  Sinusoidal2d(Options&& o, Buffer<double> frequencies)
      : o_(std::move(o)), frequencies_(std::move(frequencies)) {}

  double coordinate(Index axis, double index) const {
    if (o_.variant == Variant::mae) return index;
    if (o_.grid.empty()) return index + 1;
    return (index + 1) / (o_.grid[static_cast<std::size_t>(axis)] + 1e-6) * o_.scale;
  }

  Options o_;
  Buffer<double> frequencies_;
};

}  // namespace posenc

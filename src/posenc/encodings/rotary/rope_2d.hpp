// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <numbers>

#include "posenc/encodings/rotary/grid.hpp"
#include "posenc/encodings/rotary/rotary.hpp"

namespace posenc {

enum class Variant2d : std::uint8_t {
  qwen_vl,
  pixtral,
  sam2,
  eva_pixel,
  eva_language,
  dinov3,
  llama4
};
inline constexpr std::array<std::string_view, 7> variant_2d_names{
    "qwen-vl", "pixtral", "sam2", "eva-pixel", "eva-language", "dinov3", "llama4"};

/// What tells the variants apart, beside their frequencies.
struct Traits2d {
  Layout layout;
  double base;
  bool columns_first;  ///< the first half of the pairs turns with the column
  double origin;       ///< the coordinate of index 0
};
inline constexpr std::array<Traits2d, 7> traits_2d{{
    {Layout::half, 10000, false, 0},         // qwen-vl
    {Layout::half, 10000, false, 0},         // pixtral
    {Layout::interleaved, 10000, true, 0},   // sam2
    {Layout::interleaved, 10000, false, 0},  // eva-pixel
    {Layout::interleaved, 10000, false, 0},  // eva-language
    {Layout::half, 100, false, 0},           // dinov3
    {Layout::interleaved, 10000, true, 1},   // llama4
}};
constexpr const Traits2d& traits_of(Variant2d v) { return traits_2d[static_cast<std::size_t>(v)]; }

struct Rope2dOptions : RotaryOptions {
  Variant2d variant = Variant2d::qwen_vl;
  std::optional<double> own_base;    ///< default: the variant's
  std::optional<Layout> own_layout;  ///< default: the variant's
  std::optional<double> max_frequency;
  Buffer<double> grid, reference_grid;
  Normalisation normalise = Normalisation::separate;
};

/// Axial rotary embedding of images: half of the pairs turns with the row, half with the column, so
/// q·k depends on both differences. Positions are [row, column].
///
///   qwen-vl       ωᵢ = base^(−4i/r), i < r/4, for rows, then for columns; half layout
///   pixtral       ωᵢ = base^(−2i/r), i < r/2: even i for rows, then odd i for columns; half layout
///                 (interleaved in mistral-inference)
///   sam2          qwen-vl's frequencies, columns first, interleaved; RoPE-ViT's axial form with
///                 base 100
///   eva-language  qwen-vl's frequencies, interleaved; `reference` scales indices by
///                 reference / grid
///   llama4        as sam2, indices counted from 1
///   eva-pixel     ωᵢ = π·linspace(1, maxFrequency/2, r/4), interleaved; coordinates from −1 to 1
///   dinov3        ωᵢ = 2π·base^(−4i/r), half layout; coordinates of cell centres, from −1 to 1
///
/// The last two measure coordinates, not indices: `grid` [rows, columns] says that positions are
/// indices into it, and without it they are the coordinates themselves. Prefix tokens (class,
/// registers) are not rotated: leave them out of `rotate`, or give them the coordinate 0.
struct Rope2dSchedule : ScheduleDefaults {
  using Options = Rope2dOptions;
  static constexpr Spec spec{
      .id = "rope-2d",
      .title = "2-D axial RoPE",
      .summary = "RoPE for images: some pairs turn with the row, the others with the column.",
      .formula = "φᵢ = c_{axis(i)}·ωᵢ; axes, frequencies and coordinates by variant",
      .paper = "Heo et al., 2024",
      .url = "https://arxiv.org/abs/2403.13298",
      .used_by = "Qwen2-VL, Pixtral, SAM 2, EVA-02, DINOv3, Llama 4",
      .sites = {.rotate = true},
      .axes = 2,
      .relative = true};
  using F = FieldOf<Options>;
  static constexpr std::array fields{
      F::integer<&RotaryOptions::head_dim>("headDim", "Width of one head.", 1, 4096).required(64),
      F::integer<&RotaryOptions::rotary_dim>(
          "rotaryDim", "Leading channels that rotate; a multiple of 4.", 0, 4096)
          .multiple_of(4)
          .falls_back_to("headDim"),
      F::choice<&Options::variant>("variant", "Whose frequencies, coordinates and order of axes.",
                                   variant_2d_names)
          .required(),
      F::number<&Options::own_base>("base", "Theta; 100 for dinov3 unless given, else 10000.", 1,
                                    1e15)
          .exclusive_min()
          .logarithmic()
          .example(10000),
      F::choice<&Options::own_layout>("layout", "Which channels pair; the variant's unless given.",
                                      layout_names),
      F::choice<&RotaryOptions::precision>(
          "precision", "Angles in float64, or float32 as Hugging Face computes them.",
          precision_names),
      F::number<&Options::max_frequency>(
          "maxFrequency", "eva-pixel: twice the fastest frequency over pi; 224 unless given.", 2,
          1e9)
          .logarithmic()
          .example(224),
      F::list<&Options::grid>("grid", "Rows and columns that positions index.", 1, 1e6,
                              Dim::exactly(2)),
      F::list<&Options::reference_grid>("reference",
                                        "eva-language: grid of the training, to scale indices to.",
                                        1, 1e6, Dim::exactly(2)),
      F::choice<&Options::normalise>(
          "normalise", "dinov3 with a grid: divided by the own, smaller or larger side.",
          normalisation_names)};

  Rope2dSchedule(const Options& o, Index width, double)
      : variant(o.variant),
        base(o.base),
        max_frequency(o.max_frequency.value_or(224)),
        rotary_dim(width),
        quarter(width / 4) {
    for (std::size_t a = 0; a < 2; ++a) axes[a] = axis_of(o, a);
  }

  static Status check(const Options& o, Index rotary_dim) {
    if (rotary_dim % 4 != 0)
      return fault(Errc::out_of_range, o.rotary_dim ? "rotaryDim" : "headDim",
                   "a multiple of 4; rotaryDim selects a part of a head",
                   static_cast<double>(rotary_dim));
    const auto only_for = [](const char* field, const char* expected) {
      return fault(Errc::option_not_applicable, field, expected);
    };
    if (o.max_frequency && o.variant != Variant2d::eva_pixel)
      return only_for("maxFrequency", "left out: only eva-pixel has one");
    if (o.own_base && o.variant == Variant2d::eva_pixel)
      return only_for("base", "left out: eva-pixel's frequencies are evenly spaced");
    if (!o.reference_grid.empty() && o.variant != Variant2d::eva_language)
      return only_for("reference", "left out: only eva-language scales indices");
    const bool scaled = !o.reference_grid.empty();
    if (o.variant == Variant2d::eva_language && scaled && o.grid.empty())
      return fault(Errc::missing_option, "grid", "given together with reference");
    const bool measures = o.variant == Variant2d::eva_pixel || o.variant == Variant2d::dinov3;
    if (!o.grid.empty() && !measures && !scaled)
      return only_for("grid", "left out: the variant counts rows and columns as they are");
    if (!o.grid.empty() && o.normalise != Normalisation::separate && o.variant != Variant2d::dinov3)
      return only_for("normalise", "left out: only dinov3 has a choice");
    return {};
  }

  Index axis(Index pair) const {
    const bool second = pair >= quarter;
    return second != traits_of(variant).columns_first ? 1 : 0;
  }
  double coordinate(const AngleBlock&, Index axis, double position) const {
    return axes[static_cast<std::size_t>(axis)](position);
  }
  template <class Real>
  Real frequency(Index pair) const {
    const Index i = pair % quarter;
    switch (variant) {
      case Variant2d::pixtral:
        return rotary_frequency<Real>(base, rotary_dim, 2 * i + pair / quarter);
      case Variant2d::eva_pixel: {
        const Real steps = static_cast<Real>(std::max<Index>(1, quarter - 1));
        const Real reach = static_cast<Real>(max_frequency) / 2 - 1;
        return std::numbers::pi_v<Real> * (1 + reach * static_cast<Real>(i) / steps);
      }
      case Variant2d::dinov3:
        return 2 * std::numbers::pi_v<Real> * rotary_frequency<Real>(base, rotary_dim / 2, i);
      default:
        return rotary_frequency<Real>(base, rotary_dim / 2, i);
    }
  }

 private:
  static GridAxis axis_of(const Options& o, std::size_t a) {
    switch (o.variant) {
      case Variant2d::eva_pixel:
        return o.grid.empty() ? GridAxis{} : GridAxis::from_corner_to_corner(o.grid[a]);
      case Variant2d::dinov3:
        return o.grid.empty() ? GridAxis{} : GridAxis::of_centres(side_of(o, a));
      case Variant2d::eva_language:
        return o.reference_grid.empty() ? GridAxis{}
                                        : GridAxis{.times = o.reference_grid[a], .over = o.grid[a]};
      default:
        return {.plus = traits_of(o.variant).origin};
    }
  }
  static double side_of(const Options& o, std::size_t a) {
    if (o.normalise == Normalisation::separate) return o.grid[a];
    return o.normalise == Normalisation::min ? std::min(o.grid[0], o.grid[1])
                                             : std::max(o.grid[0], o.grid[1]);
  }

  Variant2d variant;
  double base, max_frequency;
  Index rotary_dim, quarter;
  std::array<GridAxis, 2> axes{};
};

class Rope2d : public Rotary<Rope2dSchedule> {
 public:
  static Result<Rope2d> make(Options&& o) {
    o.base = o.own_base.value_or(traits_of(o.variant).base);
    o.layout = o.own_layout.value_or(traits_of(o.variant).layout);
    auto made = Rotary::make(std::move(o));
    if (!made) return made.error();
    return Rope2d(std::move(*made));
  }

 private:
  explicit Rope2d(Rotary&& made) : Rotary(std::move(made)) {}
};

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "posenc/encodings/rotary/rotary.hpp"

namespace posenc {

/// shared    one list of frequencies runs through all sections, as in Qwen-VL
/// per_axis  each section starts anew with frequency 1, as in video transformers
enum class SectionFrequencies : std::uint8_t { shared, per_axis };
inline constexpr std::array<std::string_view, 2> section_frequencies_names{"shared", "per-axis"};

struct MropeOptions : RotaryOptions {
  Buffer<double> sections;
  bool interleaved = false;
  SectionFrequencies frequencies = SectionFrequencies::shared;
};

/// Multimodal RoPE: each pair turns with one of three coordinates, time, height or width. Wang et
/// al., 2024 (Qwen2-VL); interleaved in Qwen3-VL. Text has three equal coordinates, which is RoPE.
///
///   chunked      T … T H … H W … W, as many pairs as `sections` says
///   interleaved  T H W T H W … T T T: pair i is H if i mod 3 = 1 and i < 3·sections[1], W if
///                i mod 3 = 2 and i < 3·sections[2], else T
///
/// ggml's own interleaved form gives two of the slowest of Qwen3-VL's pairs a fourth coordinate;
/// here they are T, as the model was trained.
struct MropeSchedule : ScheduleDefaults {
  using Options = MropeOptions;
  static constexpr Spec spec{.id = "mrope",
                             .title = "M-RoPE",
                             .summary =
                                 "RoPE over three coordinates, time, height and width, for text, "
                                 "images and video in one sequence.",
                             .formula = "φᵢ = p_{axis(i)}·base^(−2i/r)",
                             .paper = "Wang et al., 2024",
                             .url = "https://arxiv.org/abs/2409.12191",
                             .used_by = "Qwen2-VL, Qwen2.5-VL, Qwen3-VL",
                             .sites = {.rotate = true},
                             .axes = 3,
                             .text_axes = true,
                             .relative = true};
  static constexpr std::array<double, 3> example_sections{8, 12, 12};
  static constexpr auto fields = rotary_fields<Options>(
      FieldOf<Options>::list<&Options::sections>(
          "sections", "Pairs for time, height and width; together rotaryDim / 2.", 0, 2048,
          Dim::exactly(3))
          .required()
          .examples(example_sections),
      FieldOf<Options>::boolean<&Options::interleaved>("interleaved",
                                                       "The axes take turns instead of runs."),
      FieldOf<Options>::choice<&Options::frequencies>(
          "frequencies", "One list through all sections, or one for each section.",
          section_frequencies_names));

  MropeSchedule(const Options& o, Index width, double)
      : base(o.base),
        rotary_dim(width),
        interleaved(o.interleaved),
        per_axis(o.frequencies == SectionFrequencies::per_axis) {
    for (std::size_t a = 0; a < 3; ++a) sections[a] = static_cast<Index>(o.sections[a]);
  }

  static Status check(const Options& o, Index rotary_dim) {
    double sum = 0;
    for (std::size_t a = 0; a < 3; ++a) {
      const double pairs = o.sections[a];
      if (pairs != std::trunc(pairs))
        return fault(Errc::not_integer, "sections", "integers", pairs, static_cast<double>(a));
      sum += pairs;
    }
    const Index all = rotary_dim / 2;
    if (sum != static_cast<double>(all))
      return outside(Errc::out_of_range, "sections", "of the sum rotaryDim / 2", sum,
                     static_cast<double>(all), static_cast<double>(all));
    if (!o.interleaved) return {};
    if (o.frequencies == SectionFrequencies::per_axis)
      return fault(Errc::option_not_applicable, "frequencies", "'shared' where axes take turns");
    // Turns end with the pairs: a longer section would silently get fewer.
    const MropeSchedule s(o, rotary_dim, 0);
    std::array<Index, 3> taken{};
    for (Index i = 0; i < rotary_dim / 2; ++i) ++taken[static_cast<std::size_t>(s.axis(i))];
    for (std::size_t a = 0; a < 3; ++a)
      if (taken[a] != s.sections[a])
        return fault(Errc::out_of_range, "sections", "such that turns of three reach them",
                     o.sections[a], static_cast<double>(a));
    return {};
  }

  Index axis(Index pair) const {
    if (interleaved) {
      const Index turn = pair % 3;
      return turn != 0 && pair < 3 * sections[static_cast<std::size_t>(turn)] ? turn : 0;
    }
    if (pair < sections[0]) return 0;
    return pair < sections[0] + sections[1] ? 1 : 2;
  }
  template <class Real>
  Real frequency(Index pair) const {
    if (!per_axis) return rotary_frequency<Real>(base, rotary_dim, pair);
    const Index a = axis(pair);
    const Index first = a == 0 ? 0 : a == 1 ? sections[0] : sections[0] + sections[1];
    return rotary_frequency<Real>(base, 2 * sections[static_cast<std::size_t>(a)], pair - first);
  }

  double base;
  Index rotary_dim;
  std::array<Index, 3> sections{};
  bool interleaved, per_axis;
};
using Mrope = Rotary<MropeSchedule>;

}  // namespace posenc

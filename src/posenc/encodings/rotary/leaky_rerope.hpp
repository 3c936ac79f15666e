// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "posenc/encodings/rotary/remap.hpp"

namespace posenc {

struct LeakyReropeOptions : RotaryOptions {
  int window = 512;
  double step = 16;
  bool logn = false;
  std::optional<int> trained_length;
};

/// Leaky ReRoPE: distances below the window are RoPE's, those beyond grow `step` times slower. Su,
/// 2023.
///
///   near  R(m) q · R(j) k            far  R(w + (m − w)/k) q · R(j/k) k
///
/// The two far positions differ by w + (δ − w)/k, so the two pieces meet at the window, whatever
/// the step. The test is strict: distance < window is near, and so are keys in the future, which
/// the reference does not have. step 1 is RoPE, and an endless one ReRoPE. `logn` multiplies the
/// query by max(1, ln(m + 1)/ln(L)).
struct LeakyReropeSchedule : RemapDefaults {
  using Options = LeakyReropeOptions;
  static constexpr Spec spec{.id = "leaky-rerope",
                             .title = "Leaky ReRoPE",
                             .summary = "RoPE whose distances grow more slowly beyond a window.",
                             .formula = "g(δ) = δ for δ < w, else w + (δ − w)/k",
                             .paper = "Su, 2023",
                             .url = "https://github.com/bojone/rerope",
                             .sites = {.rotate = true},
                             .relative = true};
  static constexpr auto fields = rotary_fields<Options>(
      FieldOf<Options>::integer<&Options::window>("window", "Distances up to here are kept.", 1,
                                                  1e9)
          .required(64)
          .logarithmic(),
      FieldOf<Options>::number<&Options::step>(
          "step", "How many times slower farther distances grow.", 1, 1e12)
          .logarithmic(),
      FieldOf<Options>::boolean<&Options::logn>("logn",
                                                "Sharpen queries beyond the trained length."),
      FieldOf<Options>::integer<&Options::trained_length>(
          "trainedLength", "Length the model was trained at, for logn.", 2, 1e9)
          .example(4096));

  LeakyReropeSchedule(const Options& o, Index rotary_dim, double)
      : RemapDefaults(o, rotary_dim), window(o.window), step(o.step) {}

  static Status check(const Options& o, Index) { return check_logn(o.logn, o.trained_length); }
  static double query_scale(const Options& o, double position) {
    return o.logn ? logn_scale(position, *o.trained_length) : 1;
  }
  static void choose(const Options& o, double query, const Positions& keys, std::uint8_t* copy) {
    choose_by_window(o.window, query, keys, copy);
  }
  double coordinate(const AngleBlock& b, Index, double position) const {
    if (b.copy == 0) return position;
    return b.role == Role::query ? window + (position - window) / step : position / step;
  }

  double window, step;
};
using LeakyRerope = Rotary<LeakyReropeSchedule>;

}  // namespace posenc

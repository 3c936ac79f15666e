// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "posenc/encodings/rotary/remap.hpp"

namespace posenc {

struct ReropeOptions : RotaryOptions {
  int window = 512;
  bool logn = false;
  std::optional<int> trained_length;
};

/// ReRoPE: distances below the window are RoPE's, all farther ones count as the window. Su, 2023.
///
///   near  R(m) q · R(j) k            far  R(w) q · k, keys unrotated
///
/// The test is strict: distance < window is near. Keys in the future (bidirectional attention, which
/// the reference does not have) are near. `logn` multiplies the query by max(1, ln(m+1)/ln(L)).
struct ReropeSchedule : RemapDefaults {
  using Options = ReropeOptions;
  static constexpr Spec spec{
      .id = "rerope",
      .title = "ReRoPE",
      .summary = "RoPE whose distances stop growing at a window, so no unseen angle ever occurs.",
      .formula = "g(δ) = δ for δ < w, else w",
      .paper = "Su, 2023",
      .url = "https://github.com/bojone/rerope",
      .sites = {.rotate = true},
      .relative = true};
  static constexpr auto fields = rotary_fields<Options>(
      FieldOf<Options>::integer<&Options::window>(
          "window", "Distances from here on count as this one.", 1, 1e9)
          .required(64)
          .logarithmic(),
      FieldOf<Options>::boolean<&Options::logn>("logn",
                                                "Sharpen queries beyond the trained length."),
      FieldOf<Options>::integer<&Options::trained_length>(
          "trainedLength", "Length the model was trained at, for logn.", 2, 1e9)
          .example(4096));

  ReropeSchedule(const Options& o, Index rotary_dim, double)
      : RemapDefaults(o, rotary_dim), window(o.window) {}

  static Status check(const Options& o, Index) { return check_logn(o.logn, o.trained_length); }
  static double query_scale(const Options& o, double position) {
    return o.logn ? logn_scale(position, *o.trained_length) : 1;
  }
  static void choose(const Options& o, double query, const Positions& keys, std::uint8_t* copy) {
    choose_by_window(o.window, query, keys, copy);
  }
  double coordinate(const AngleBlock& b, Index, double position) const {
    if (b.copy == 0) return position;
    return b.role == Role::query ? window : 0;
  }

  double window;
};
using Rerope = Rotary<ReropeSchedule>;

}  // namespace posenc

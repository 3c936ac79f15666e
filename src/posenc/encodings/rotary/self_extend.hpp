// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "posenc/encodings/rotary/remap.hpp"

namespace posenc {

/// What W/G becomes where the group does not divide the window.
enum class Uneven : std::uint8_t { refuse, floor, divide };
inline constexpr std::array<std::string_view, 3> uneven_names{"refuse", "floor", "divide"};

struct SelfExtendOptions : RotaryOptions {
  int group = 1;
  int window = 512;
  Uneven uneven = Uneven::refuse;
  bool logn = false;
  std::optional<int> trained_length;
};

/// Self-Extend: neighbours keep their distances, farther tokens are counted in groups. Jin et al.,
/// 2024.
///
///   near  R(m) q · R(j) k            far  R(⌊m/G⌋ + W − W/G) q · R(⌊j/G⌋) k
///
/// The test is strict: distance < window is near, and so are keys in the future, which the
/// reference does not have. A context of (L − W)·G + W tokens needs no position that L tokens did
/// not have. The paper rounds W/G down where the authors' code divides, which makes distances
/// fractional: they agree where G divides W, which is asked for unless `uneven` picks one of the
/// two.
struct SelfExtendSchedule : RemapDefaults {
  using Options = SelfExtendOptions;
  static constexpr Spec spec{
      .id = "self-extend",
      .title = "Self-Extend",
      .summary = "RoPE with exact distances to neighbours and distances in groups beyond a window.",
      .formula = "g(m, j) = m − j if m − j < W, else ⌊m/G⌋ − ⌊j/G⌋ + W − W/G",
      .paper = "Jin et al., 2024",
      .url = "https://arxiv.org/abs/2401.01325",
      .sites = {.rotate = true}};
  static constexpr auto fields = rotary_fields<Options>(
      FieldOf<Options>::integer<&Options::group>(
          "group", "Tokens that share a position beyond the window.", 1, 1e6)
          .required(4)
          .logarithmic(),
      FieldOf<Options>::integer<&Options::window>(
          "window", "Distances below this are exact; a multiple of group.", 1, 1e9)
          .required(64)
          .logarithmic(),
      FieldOf<Options>::choice<&Options::uneven>(
          "uneven", "Where group does not divide window: an error, rounding down, or a fraction.",
          uneven_names),
      FieldOf<Options>::boolean<&Options::logn>("logn",
                                                "Sharpen queries beyond the trained length."),
      FieldOf<Options>::integer<&Options::trained_length>(
          "trainedLength", "Length the model was trained at, for logn.", 2, 1e9)
          .example(4096));

  SelfExtendSchedule(const Options& o, Index rotary_dim, double)
      : RemapDefaults(o, rotary_dim), group(o.group), shift(o.window - groups(o)) {}

  static Status check(const Options& o, Index) {
    if (o.uneven == Uneven::refuse && o.window % o.group != 0)
      return fault(Errc::out_of_range, "window",
                   "a multiple of group, or uneven 'floor' or 'divide'",
                   static_cast<double>(o.window));
    return check_logn(o.logn, o.trained_length);
  }
  static double query_scale(const Options& o, double position) {
    return o.logn ? logn_scale(position, *o.trained_length) : 1;
  }
  static void choose(const Options& o, double query, const Positions& keys, std::uint8_t* copy) {
    choose_by_window(o.window, query, keys, copy);
  }
  double coordinate(const AngleBlock& b, Index, double position) const {
    if (b.copy == 0) return position;
    return std::floor(position / group) + (b.role == Role::query ? shift : 0);
  }

  double group, shift;

 private:
  static double groups(const Options& o) {
    const double exact = static_cast<double>(o.window) / o.group;
    return o.uneven == Uneven::divide ? exact : std::floor(exact);
  }
};
using SelfExtend = Rotary<SelfExtendSchedule>;

}  // namespace posenc

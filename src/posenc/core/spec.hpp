// SPDX-License-Identifier: Apache-2.0
/// What every other layer needs to know of an encoding, written once beside its mathematics: the
/// manifest, and through it types, documentation, demo controls and checks, derive from here.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "posenc/core/view.hpp"

namespace posenc {

/// Where in a transformer an encoding acts.
struct Sites {
  bool embed = false;   ///< added to the token embedding
  bool rotate = false;  ///< rotates queries and keys
  bool score = false;   ///< changes q·k before the softmax
  bool value = false;   ///< adds to the weighted sum of values
  constexpr bool operator==(const Sites&) const = default;
};

/// What a position may be.
enum class PositionKind : std::uint8_t {
  real,     ///< any finite number: interpolation and remapping make fractions
  integer,  ///< whole numbers, negative ones too: buckets and clipped distances
  index,    ///< whole numbers that select a row of a table
};

/// How frequencies depend on the number of tokens seen so far.
enum class LengthPolicy : std::uint8_t { fixed, per_length, switched };
inline constexpr std::array<std::string_view, 3> length_policy_names{"static", "dynamicPerCall",
                                                                     "switchAt"};

struct Spec {
  std::string_view id;  ///< kebab-case; the public name; never changes
  std::string_view title;
  std::string_view summary;  ///< one sentence
  std::string_view formula;  ///< plain text in the paper's symbols
  std::string_view paper;    ///< authors, year
  std::string_view url;
  std::string_view used_by{};  ///< well-known models, separated by ", "
  Sites sites{};               ///< checked against the member functions the encoding defines
  PositionKind positions = PositionKind::real;
  int axes = 1;  ///< coordinates of a position: 1, or 2 for images, 3 for video
  /// Of several axes: all of them are the index of a text token, so positions may be left out.
  bool text_axes = false;
  bool relative = false;      ///< scores depend on differences of positions only
  bool content_free = false;  ///< the score term does not look at q and k, so bias() exists
  /// The score term is a running sum over keys, from the newest to the oldest: tiles then come in
  /// that order, and hidden scores are -infinity before the encoding sees them.
  bool cumulative = false;
  LengthPolicy length_policy = LengthPolicy::fixed;
};

/// The part of a Spec that code asks for at run time. The prose stays out of the binary: it is
/// printed into the manifest by a native tool.
struct Traits {
  std::string_view id;
  Sites sites;
  PositionKind positions;
  int axes;
  bool text_axes, relative, content_free, cumulative;
  LengthPolicy length_policy;

  constexpr explicit Traits(const Spec& s)
      : id(s.id),
        sites(s.sites),
        positions(s.positions),
        axes(s.axes),
        text_axes(s.text_axes),
        relative(s.relative),
        content_free(s.content_free),
        cumulative(s.cumulative),
        length_policy(s.length_policy) {}
};

/// One extent of a table: `times * option / over + plus`, a number (`plus`, with neither name), or
/// a free name that the caller's data decides.
struct Dim {
  std::string_view option{};  ///< an integer option of the same encoding; else empty
  int times = 1;
  int plus = 0;
  int over = 1;
  std::string_view free{};
  int example = 0;  ///< for a free extent: a size to show it with

  static constexpr Dim of(std::string_view option, int times = 1, int plus = 0) {
    return {.option = option, .times = times, .plus = plus};
  }
  static constexpr Dim half_of(std::string_view option) { return {.option = option, .over = 2}; }
  static constexpr Dim exactly(int n) { return {.plus = n}; }
  static constexpr Dim any(std::string_view name, int example) {
    return {.free = name, .example = example};
  }
};

}  // namespace posenc

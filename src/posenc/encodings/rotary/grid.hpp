// SPDX-License-Identifier: Apache-2.0
/// From indices into a grid to the coordinates that image models measure.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace posenc {

/// Which side of the grid a coordinate is divided by: its own, the smaller or the larger.
enum class Normalisation : std::uint8_t { separate, min, max };
inline constexpr std::array<std::string_view, 3> normalisation_names{"separate", "min", "max"};

/// index ↦ index·times / over + plus. One division, so that index·7/7 is the index.
struct GridAxis {
  double times = 1, over = 1, plus = 0;

  constexpr double operator()(double index) const { return index * times / over + plus; }

  /// Of `size` points from -1 to 1, the ends included; a single one stands at -1.
  static constexpr GridAxis from_corner_to_corner(double size) {
    return {.times = 2, .over = std::max(1.0, size - 1), .plus = -1};
  }
  /// Centres of cells, 2(index + 1/2) / side - 1.
  static constexpr GridAxis of_centres(double side) {
    return {.times = 2, .over = side, .plus = 1 / side - 1};
  }
};

}  // namespace posenc

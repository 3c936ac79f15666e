// SPDX-License-Identifier: Apache-2.0
/// The checks that encodings share on where a token may stand.
#pragma once

#include <cmath>

#include "posenc/core/result.hpp"
#include "posenc/core/view.hpp"

namespace posenc {

/// Beyond 2^53 float64 no longer holds every integer, so a position there is not what was meant.
inline constexpr double largest_position = 9007199254740992.0;

/// The index that errors give of a position: counted over all axes, as they lie in memory.
inline double index_over_axes(const Positions& positions, Index axis, Index i) {
  return static_cast<double>(axis * positions.axis_stride + i);
}

/// Finite and within +-2^53.
inline Status check_real_positions(const Positions& positions) {
  for (Index a = 0; a < positions.axes; ++a)
    for (Index i = 0; i < positions.count; ++i) {
      const double p = positions.axis(a)[i];
      const double index = index_over_axes(positions, a, i);
      if (!std::isfinite(p))
        return fault(Errc::not_finite, "positions", "finite numbers", p, index);
      if (std::abs(p) > largest_position)
        return fault(Errc::out_of_range, "positions", "from -2^53 to 2^53", p, index);
    }
  return {};
}

/// Whole numbers too: buckets and clipped distances are not defined between them.
inline Status check_integer_positions(const Positions& positions) {
  if (Status s = check_real_positions(positions); !s) return s;
  for (Index a = 0; a < positions.axes; ++a)
    for (Index i = 0; i < positions.count; ++i) {
      const double p = positions.axis(a)[i];
      if (p != std::trunc(p))
        return fault(Errc::not_integer, "positions", "integers", p,
                     index_over_axes(positions, a, i));
    }
  return {};
}

/// From low to high, along one axis: there is nothing to look up elsewhere.
inline Status check_inside(const Positions& positions, Index axis, double low, double high,
                           const char* expected) {
  for (Index i = 0; i < positions.count; ++i) {
    const double p = positions.axis(axis)[i];
    if (p < low || p > high)
      return outside(Errc::position_out_of_table, "positions", expected, p, low, high,
                     index_over_axes(positions, axis, i));
  }
  return {};
}

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
/// Biases that depend on the distance alone: one vector per head stands for the whole T x S matrix.
#pragma once

#include <algorithm>

#include "posenc/core/lanes.hpp"

namespace posenc {

/// Values at the relative positions -reach .. reach (key minus query); constant beyond both ends.
struct ToeplitzRow {
  const float* values = nullptr;  ///< 2 * reach + 1
  Index reach = 0;

  /// `relative` is a whole number of any size.
  float at(double relative) const {
    const double r = std::clamp(relative, -static_cast<double>(reach), static_cast<double>(reach));
    return values[static_cast<Index>(r) + reach];
  }
};

/// row[j] += bias at (first + j), j = 0 .. n-1: for keys at consecutive positions.
template <class Arch>
void add_toeplitz(const ToeplitzRow& bias, double first, float* row, Index n) {
  using V = xsimd::batch<float, Arch>;
  const auto count_below = [&](double limit) {  // how many j have first + j < limit
    return static_cast<Index>(std::clamp(limit - first, 0.0, static_cast<double>(n)));
  };
  const double reach = static_cast<double>(bias.reach);
  const bool inside = first >= -reach && first + static_cast<double>(n) <= reach + 1;
  const Index near = inside ? 0 : count_below(-reach), far = inside ? n : count_below(reach + 1);
  const auto add_constant = [&](Index from, Index to, float value) {
    for_each_vector<Arch>(to - from, [&, v = V(value)](Index j, auto io) {
      io.store(io.load(row + from + j) + v, row + from + j);
    });
  };
  if (near > 0) add_constant(0, near, bias.values[0]);
  if (far > near) {
    const float* values =
        bias.values + static_cast<Index>(first + static_cast<double>(near)) + bias.reach;
    for_each_vector<Arch>(far - near, [&](Index j, auto io) {
      io.store(io.load(row + near + j) + io.load(values + j), row + near + j);
    });
  }
  if (n > far) add_constant(far, n, bias.values[2 * bias.reach]);
}

/// row[j] += bias at (keys[j] - query), for keys anywhere.
template <class Arch>
void add_toeplitz(const ToeplitzRow& bias, double query, const Positions& keys, float* row) {
  if (keys.consecutive && keys.count > 0) {
    add_toeplitz<Arch>(bias, keys[0] - query, row, keys.count);
  } else {
    for (Index j = 0; j < keys.count; ++j) row[j] += bias.at(keys[j] - query);
  }
}

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
/// Biases that are functions of the distance, evaluated inside a tile: where queries and keys stand
/// at consecutive positions, a tile of 64 x 128 pairs has 191 distances.
#pragma once

#include "posenc/core/encoding.hpp"
#include "posenc/core/lanes.hpp"

namespace posenc {

/// Floats of scratch that the functions below need.
constexpr Index distances_of_tile(Index rows, Index cols) { return rows + cols; }

/// Calls `use(i, values)` for each row of the tile with the `values` of its columns, or, where the
/// positions are not consecutive, with those of that row alone. `fill(first, n, out)` writes the
/// values at the relative positions (key minus query) first, first + 1, …
template <class Fill, class Use>
void for_each_row_by_distance(const ScoreTile& t, Fill&& fill, Use&& use) {
  const Index rows = t.scores.rows, cols = t.scores.cols;
  if (rows == 0 || cols == 0) return;
  if (t.q_pos.consecutive && t.k_pos.consecutive) {
    fill(t.k_pos[0] - t.q_pos[rows - 1], rows + cols - 1, t.scratch);
    for (Index i = 0; i < rows; ++i) use(i, t.scratch + rows - 1 - i);
    return;
  }
  for (Index i = 0; i < rows; ++i) {
    if (t.k_pos.consecutive)
      fill(t.k_pos[0] - t.q_pos[i], cols, t.scratch);
    else
      for (Index j = 0; j < cols; ++j) fill(t.k_pos[j] - t.q_pos[i], Index{1}, t.scratch + j);
    use(i, t.scratch);
  }
}

/// scores[i][j] += factor * value of their distance.
template <class Arch, class Fill>
void add_by_distance(const ScoreTile& t, float factor, Fill&& fill) {
  for_each_row_by_distance(t, fill, [&](Index i, const float* values) {
    add_scaled<Arch>(factor, values, t.scores.row(i), t.scores.cols);
  });
}

}  // namespace posenc

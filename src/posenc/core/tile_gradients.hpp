// SPDX-License-Identifier: Apache-2.0
/// What the backward hooks of encodings share: sums of a tile's gradients over equal distances.
#pragma once

#include "posenc/core/encoding.hpp"

namespace posenc {

/// Calls `use(relative, sum)` with the gradients of a tile by relative position (key minus query):
/// once for each diagonal where queries and keys stand at consecutive positions, else once for each
/// pair.
template <class Use>
void for_each_distance(const ScoreGradient& g, Use&& use) {
  const ScoreTile& t = g.tile;
  const Index rows = g.gradient.rows, cols = g.gradient.cols;
  const bool diagonal = t.q_pos.consecutive && t.k_pos.consecutive;
  for (Index d = 1 - rows; d < cols; ++d) {
    double sum = 0;
    for (Index i = std::max<Index>(0, -d); i < rows && i + d < cols; ++i) {
      const float own = g.gradient.row(i)[i + d];
      if (diagonal)
        sum += own;
      else if (own != 0)
        use(t.k_pos[i + d] - t.q_pos[i], static_cast<double>(own));
    }
    if (sum != 0) use(t.k_pos[std::max<Index>(0, d)] - t.q_pos[std::max<Index>(0, -d)], sum);
  }
}

/// The gradient of the angle by which a pair of channels was turned: (a, b) moves towards (-b, a).
inline double angle_gradient_of(const AngleGradient& g, Index t, Index a, Index b) {
  const float *x = g.rows.row(t), *by = g.gradient.row(t);
  if (by[a] == 0 && by[b] == 0) return 0;  // whatever a hidden key holds
  return static_cast<double>(by[b]) * x[a] - static_cast<double>(by[a]) * x[b];
}

/// sums += factor * row.
inline void add_row(float factor, const float* row, double* sums, Index n) {
  for (Index i = 0; i < n; ++i) sums[i] += static_cast<double>(factor) * row[i];
}

/// The gradient of an option, from as many sums; null is not wanted.
inline void round_gradients(const double* sums, Index count, float* table) {
  if (table == nullptr) return;
  for (Index i = 0; i < count; ++i) table[i] = static_cast<float>(sums[i]);
}

}  // namespace posenc

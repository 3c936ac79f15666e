// SPDX-License-Identifier: Apache-2.0
/// Rotations over several axes in float64: the caller says by which angle each pair turns.
#pragma once

#include "posenc/core/apply.hpp"
#include "reference/remapped.hpp"

namespace reference {

/// The angle of a pair of a head at a point.
using Angle = std::function<double(Index head, Index pair, const double* point)>;

/// Row x turned; channels of no pair as they are.
inline Array<double> turned(const float* x, Index width, const posenc::Rotation& r, Index head,
                            const double* point, const Angle& angle) {
  Array<double> y(width);
  for (Index c = 0; c < width; ++c) y[c] = x[c];
  for (Index i = 0; i < r.pairs; ++i) {
    const bool half = r.layout == posenc::Layout::half;
    const Index a = half ? i : 2 * i, b = half ? i + r.pairs : 2 * i + 1;
    const double c = std::cos(angle(head, i, point)), s = std::sin(angle(head, i, point));
    y[a] = x[a] * c - x[b] * s;
    y[b] = x[b] * c + x[a] * s;
  }
  return y;
}

/// Single precision of a table entry and two products.
inline constexpr double turn_tolerance = 2e-6;

/// Compares the angles and the kernel at one width: `points` [axes, count], each head by its own
/// table.
template <class Arch>
void expect_rotation(const Encoding& e, Index heads, const Array<double>& points,
                     const posenc::Rotation& want, const Angle& angle) {
  const Index axes = e.traits().axes, count = points.size() / axes, width = e.head_dim();
  const posenc::Rotation r = e.rotation();
  ASSERT_EQ(r.pairs, want.pairs);
  ASSERT_EQ(r.layout, want.layout);
  Random random(7);
  for (Index h = 0; h < heads; ++h) {
    const Array<float> x = random.floats(count * width);
    Array<float> y = x, table(count * r.table_width());
    Array<double> frequencies(r.pairs);
    const posenc::View2<float> rows{table.data(), count, r.table_width(), r.table_width()};
    e.angles({.out = rows,
              .positions = posenc::Positions::of(points.data(), count, axes),
              .length = 1,
              .head = h,
              .scratch = frequencies.data()});
    posenc::rotate_rows<Arch>(r, {y.data(), count, width, width}, rows, false);
    for (Index t = 0; t < count; ++t) {
      Array<double> point(axes);
      for (Index a = 0; a < axes; ++a) point[a] = points[a * count + t];
      const Array<double> exact = turned(x.data() + t * width, width, want, h, point.data(), angle);
      for (Index c = 0; c < width; ++c)
        ASSERT_NEAR(y[t * width + c], exact[c], turn_tolerance * std::max(1.0, std::abs(exact[c])))
            << "head " << h << ", row " << t << ", channel " << c;
    }
  }
}

/// The logit of two rows turned so.
inline Logit turned_logit(Index width, const posenc::Rotation& r, const Angle& angle) {
  return [=](Index head, const float* q, const float* k, const double* m, const double* j) {
    const Array<double> a = turned(q, width, r, head, m, angle),
                        b = turned(k, width, r, head, j, angle);
    double sum = 0;
    for (Index c = 0; c < width; ++c) sum += a[c] * b[c];
    return sum;
  };
}

/// The cells of a grid, row by row: [rows of all cells | columns of all cells].
inline Array<double> cells(Index rows, Index columns, double first_row = 0,
                           double first_column = 0) {
  Array<double> points(2 * rows * columns);
  for (Index i = 0; i < rows * columns; ++i) {
    points[i] = first_row + static_cast<double>(i / columns);
    points[rows * columns + i] = first_column + static_cast<double>(i % columns);
  }
  return points;
}

}  // namespace reference

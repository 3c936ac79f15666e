// SPDX-License-Identifier: Apache-2.0
/// Rotations of whole rows, at any vector width, and the formula they are compared with.
#pragma once

#include "posenc/core/rotation.hpp"
#include "reference/options.hpp"

namespace reference {

/// Who is rotated, among how many tokens: xPos and the dynamic scalings want to know.
struct Rotated {
  posenc::Role role = posenc::Role::query;
  double length = 1;
  Index head = 0;
};

/// Rows x [n, head width] of one head, rotated at positions p; wider where the rotation makes them.
template <class Arch = xsimd::default_arch>
Array<float> rotated(const posenc::Encoding& e, const Array<float>& x, const Array<double>& p,
                     bool inverse = false, const Rotated& who = {}) {
  const posenc::Rotation r = e.rotation();
  const Index n = p.size(), given = n == 0 ? 0 : x.size() / n, width = given + r.growth();
  Array<float> table(n * r.table_width());
  Array<double> frequencies(r.pairs);
  const posenc::View2<float> angles{table.data(), n, r.table_width(), r.table_width()};
  e.angles({.out = angles,
            .positions = positions(p),
            .role = who.role,
            .length = who.length,
            .head = who.head,
            .scratch = frequencies.data()});
  Array<float> y(n * width);
  for (Index i = 0; i < x.size(); ++i) y[i / given * width + i % given] = x[i];
  posenc::rotate_rows<Arch>(r, {y.data(), n, width, width}, angles, inverse);
  return y;
}

/// One row, in float64: pair i turns by p * base^(-2i/r) / factor.
inline Array<double> turned(const Array<float>& x, double p, Index rotary_dim, bool interleaved,
                            double base = 10000, double factor = 1) {
  Array<double> y(x.size());
  for (Index c = 0; c < x.size(); ++c) y[c] = x[c];
  for (Index i = 0; i < rotary_dim / 2; ++i) {
    const double angle =
        p * std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(rotary_dim)) /
        factor;
    const Index a = interleaved ? 2 * i : i, b = interleaved ? 2 * i + 1 : i + rotary_dim / 2;
    y[a] = x[a] * std::cos(angle) - x[b] * std::sin(angle);
    y[b] = x[b] * std::cos(angle) + x[a] * std::sin(angle);
  }
  return y;
}

inline double inner(const Array<float>& x, const Array<float>& y) {
  double sum = 0;
  for (Index c = 0; c < x.size(); ++c) sum += static_cast<double>(x[c]) * y[c];
  return sum;
}

inline Array<double> frequencies_of(const posenc::Encoding& e, double length = 1) {
  Array<double> frequencies(e.rotation().pairs);
  e.plan(length, frequencies.data());
  return frequencies;
}

}  // namespace reference

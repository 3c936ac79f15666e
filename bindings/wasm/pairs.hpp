// SPDX-License-Identifier: Apache-2.0
// Numbers of some 104 bits, as the sum of two doubles.
#pragma once

struct Pair {
  double hi, lo;
};

/// A double in two parts of 26 bits, whose products are exact (Dekker, 1971).
inline Pair halves(double a) {
  const double big = a * 0x8000001p0, hi = big - (big - a);
  return {hi, a - hi};
}

inline Pair operator*(Pair a, Pair b) {
  const double p = a.hi * b.hi;
  const Pair x = halves(a.hi), y = halves(b.hi);
  const double rest =
      (x.hi * y.hi - p) + x.hi * y.lo + x.lo * y.hi + x.lo * y.lo + (a.hi * b.lo + a.lo * b.hi);
  const double sum = p + rest;
  return {sum, (p - sum) + rest};
}

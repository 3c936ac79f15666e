// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/powers.hpp"

#include <cmath>
#include <limits>
#include <numbers>

namespace posenc {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A number as the sum of two, of which the second is what does not fit into the first.
struct Twofold {
  double high, low;
};

/// a + b for |a| >= |b|.
Twofold sum(double a, double b) {
  const double high = a + b;
  return {high, b - (high - a)};
}
/// a * b, from halves of 26 bits whose products are exact.
Twofold product(double a, double b) {
  const auto upper = [](double x) {
    const double shifted = x * 0x1.000002p+27;
    return shifted - (shifted - x);
  };
  const double high = a * b, a1 = upper(a), b1 = upper(b), a2 = a - a1, b2 = b - b1;
  return {high, a2 * b2 - (((high - a1 * b1) - a2 * b1) - a1 * b2)};
}

template <std::size_t N>
double polynomial(const double (&coefficients)[N], double x) {
  double value = 0;
  for (double c : coefficients) value = value * x + c;
  return value;
}
// Both interpolate at Chebyshev nodes.
/// (ln((1 + s) / (1 - s)) - 2s) / s^3 in s^2, for s of up to 0.172: 1.6e-18 of what it is part of.
constexpr double artanh_series[]{0.14616449685043406, 0.15331721600556042, 0.18182889125261723,
                                 0.2222221113479508,  0.28571428625975487, 0.39999999999899505,
                                 0.666666666666667};
/// (e^r - 1 - r) / r^2 for r of up to ln(2) / 2: 1.4e-17.
constexpr double exponential_series[]{
    2.5100375832561234e-08, 2.7620075879983367e-07, 2.7557268480310024e-06, 2.4801521322368692e-05,
    0.00019841269863040545, 0.0013888888917196719,  0.008333333333330065,   0.041666666666624164,
    0.16666666666666669,    0.5000000000000001};

/// ln 2; the first part has 33 bits, so that its product with an exponent is exact.
constexpr Twofold ln2{0x1.62e42fefp-1, 0x1.473de6af278edp-34};

/// ln x for 0 < x < infinity, with an error below 2^-59 of it.
Twofold logarithm(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < std::numbers::sqrt2 / 2) m *= 2, --exponent;
  // ln m = 2 artanh s with s = (m - 1) / (m + 1). Only the first term of the series is so large that
  // what its division left over counts.
  const double f = m - 1;
  const Twofold divisor = sum(2, f);
  const double s = f / divisor.high;
  const Twofold back = product(s, divisor.high);
  const double rest = (((f - back.high) - back.low) - s * divisor.low) / divisor.high;
  const double z = s * s;
  const double small = 2 * rest + polynomial(artanh_series, z) * z * s;
  if (exponent == 0) return sum(2 * s, small);
  const Twofold first = sum(exponent * ln2.high, 2 * s);
  return sum(first.high, first.low + (exponent * ln2.low + small));
}

/// e^(high + low), which is 2^n e^r.
double exponential(Twofold x) {
  constexpr double beyond = 800;  // the result is 0 or infinite, and n is still a small number
  if (!(std::abs(x.high) < beyond)) return x.high < 0 ? 0 : x.high + infinity;
  const double n = std::floor(x.high * std::numbers::log2e + 0.5);
  const Twofold r = sum(x.high - n * ln2.high, x.low - n * ln2.low);
  const Twofold first = sum(1, r.high);
  const double rest = polynomial(exponential_series, r.high) * (r.high * r.high) + r.low;
  return std::ldexp(first.high + (first.low + rest), static_cast<int>(n));
}

}  // namespace

double power(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (x == 0) return y > 0 ? 0 : y < 0 ? infinity : y;
  const Twofold log = logarithm(x);
  const double estimate = y * log.high;
  // Nor would the halves of such a y be finite.
  if (!(std::abs(estimate) < 800)) return exponential({estimate, 0});
  const Twofold exponent = product(y, log.high);
  return exponential({exponent.high, exponent.low + y * log.low});
}

double exponential(double x) { return exponential(Twofold{x, 0}); }

double natural_log(double x) {
  if (!(x > 0 && x < infinity))
    return x == 0 ? -infinity : x < 0 ? std::numeric_limits<double>::quiet_NaN() : x;
  return logarithm(x).high;
}

double natural_log_1p(double x) {
  const double whole = 1 + x;
  if (!(whole < infinity)) return whole;
  const Twofold log = logarithm(whole);
  return log.high + (log.low + (x - (whole - 1)) / whole);
}

}  // namespace posenc

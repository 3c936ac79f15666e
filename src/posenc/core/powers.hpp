// SPDX-License-Identifier: Apache-2.0
/// Powers, exponentials and logarithms of options and positions, in float64. Own code, so that a
/// frequency has the same bits in every build; libm's differ between systems, and the one that a
/// WebAssembly module carries brings 6 KB of tables, numbers that nothing compresses.
#pragma once

namespace posenc {

// Within 1 ulp of the exact value, a power within 1 + |y| / 32 (tests/core/powers_test.cpp measures it); where
// that is a power of two, x^y is exact. NaN stays NaN.

/// x^y for 0 <= x < infinity.
double power(double x, double y);
/// e^x.
double exponential(double x);
/// ln x; -infinity at 0, NaN below.
double natural_log(double x);
/// ln(1 + x) for x >= 0, of which small ones keep their digits.
double natural_log_1p(double x);

}  // namespace posenc

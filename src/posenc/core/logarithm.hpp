// SPDX-License-Identifier: Apache-2.0
/// The natural logarithm of options and positions.
#pragma once

#include <cmath>

namespace posenc {

/// Within 2^-53 (1 + 1/x) of ln x. std::log and std::log2 read tables of 6 KB, numbers that nothing
/// compresses, in a module whose code is 60 KB; std::log1p is a polynomial, and needed anyway.
inline double natural_log(double x) { return std::log1p(x - 1); }

}  // namespace posenc

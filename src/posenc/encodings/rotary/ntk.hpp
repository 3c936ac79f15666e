// SPDX-License-Identifier: Apache-2.0
/// What the NTK-aware scalings share: the base that slows the last pair by a given factor and
/// leaves the first as it is.
#pragma once

#include "posenc/core/powers.hpp"
#include "posenc/encodings/rotary/rotary.hpp"

namespace posenc {

/// base · alpha^(r/(r−2)): frequency 0 stays 1, and the last one is divided by exactly alpha.
inline double ntk_base(double base, double alpha, Index rotary_dim) {
  const double r = static_cast<double>(rotary_dim);
  return base * power(alpha, r / (r - 2));
}

/// One pair is first and last at once, and the exponent has no value.
inline Status check_ntk(const RotaryOptions& o, Index rotary_dim) {
  if (rotary_dim >= 4) return {};
  return outside(Errc::out_of_range, o.rotary_dim ? "rotaryDim" : "headDim",
                 "at least 4, since the base is raised to r / (r - 2)",
                 static_cast<double>(rotary_dim), 4, 4096);
}

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
/// What is left of angles too large to reduce in float64.
#pragma once

namespace posenc {

/// An angle as so many times pi/2, modulo 4, and a rest of up to pi/4.
struct QuarterTurns {
  int count;
  double rest;
};

/// For angles from 2 on, within 2^-51 of the rest; infinities and NaN leave NaN.
QuarterTurns quarter_turns(double angle);

}  // namespace posenc

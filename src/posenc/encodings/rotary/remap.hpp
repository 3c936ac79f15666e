// SPDX-License-Identifier: Apache-2.0
/// The base of the encodings that change distances instead of frequencies: two or three rotated
/// copies of queries and keys, and a rule that picks one for each pair of positions.
#pragma once

#include "posenc/core/powers.hpp"
#include "posenc/encodings/rotary/rotary.hpp"

namespace posenc {

/// Copy 0 is the one for near pairs, plain RoPE but for dual chunk attention, and what rotate() gives
/// outside attention, where no pair is known; what the others stand for is the encoding's own matter.
struct RemapDefaults : ScheduleDefaults {
  static constexpr Index copies = 2, key_copies = 2;

  RemapDefaults(const RotaryOptions& o, Index width) : base(o.base), rotary_dim(width) {}
  template <class Real>
  Real frequency(Index pair) const {
    return rotary_frequency<Real>(base, rotary_dim, pair);
  }

  double base;
  Index rotary_dim;
};

/// Copy 0 within the window, copy 1 from it on: a key in the future is near.
inline void choose_by_window(double window, double query, const Positions& keys,
                             std::uint8_t* copy) {
  for (Index j = 0; j < keys.count; ++j) copy[j] = query - keys[j] < window ? 0 : 1;
}

/// Log-n scaling of queries: entropy of the softmax stays level as keys grow in number. Su, 2021.
inline double logn_scale(double position, double trained_length) {
  return std::max(1.0, natural_log(position + 1) / natural_log(trained_length));
}
inline Status check_logn(bool logn, const std::optional<int>& trained_length) {
  if (!logn || trained_length) return {};
  return fault(Errc::missing_option, "trainedLength", "given together with logn");
}

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
/// The logarithmic distance buckets of T5, by exact integer arithmetic.
///
/// Distances below E = N/2 have a bucket each; bucket E + k begins where
///   ln(n/E) / ln(M/E) * (N - E) >= k,   that is   n^(N-E) >= M^k * E^(N-E-k).
/// Evaluated in floating point this goes wrong on exact powers, and more precision makes it worse:
/// in float64 with a reciprocal, the default 32/128 puts distance 64 into bucket 13 instead of 14.
#pragma once

#include <algorithm>
#include <cmath>

#include "posenc/core/natural.hpp"
#include "posenc/core/powers.hpp"
#include "posenc/core/view.hpp"

namespace posenc {

/// first[k] = the least distance n of bucket E + k, k = 0 .. N-E-1; first[0] = E.
/// Needs 1 <= E < max_distance. Fails only for lack of memory.
inline Result<Buffer<Index>> t5_bucket_starts(Index buckets, Index max_distance) {
  const Index exact = buckets / 2, steps = buckets - exact;
  Buffer<Index> starts;
  if (Status s = starts.allocate(static_cast<std::size_t>(steps)); !s) return s;
  const double ratio = static_cast<double>(max_distance) / static_cast<double>(exact);
  for (Index k = 0; k < steps; ++k) {
    const double estimate = static_cast<double>(exact) *
                            power(ratio, static_cast<double>(k) / static_cast<double>(steps));
    Index start = static_cast<Index>(std::ceil(estimate));
    // The estimate is right to 1e-14; only where it lands on an integer to 1e-9 can it mislead.
    const double nearest = std::round(estimate);
    if (std::abs(estimate - nearest) < 1e-9 * estimate) {
      const auto words = static_cast<std::size_t>(steps) + 2;  // each factor is below 2^32
      auto left = Natural::one(words), right = Natural::one(words);
      if (!left) return left.error();
      if (!right) return right.error();
      start = static_cast<Index>(nearest);
      left->multiply(static_cast<std::uint32_t>(start), steps);
      right->multiply(static_cast<std::uint32_t>(max_distance), k);
      right->multiply(static_cast<std::uint32_t>(exact), steps - k);
      if (!left->at_least(*right)) ++start;
    }
    starts[static_cast<std::size_t>(k)] = start;
  }
  return starts;
}

}  // namespace posenc

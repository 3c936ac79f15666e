// SPDX-License-Identifier: Apache-2.0
/// The logarithmic distance buckets of DeBERTa, by exact integer arithmetic.
///
/// With N buckets for a maximum distance M and c = N/2, distances up to c have a bucket each, and
///   bucket(n) = c + ceil( ln(n/c) / ln((M-1)/c) * (c-1) )                                n > c.
/// So n is in bucket c + k or below it when  n^(c-1) <= (M-1)^k * c^(c-1-k). In float32 with a
/// reciprocal, the default 256/512 puts distance 511 into bucket 256, beyond the table.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "posenc/core/natural.hpp"
#include "posenc/core/powers.hpp"

namespace posenc {

/// Whether n lies in bucket c + k or below it. Fails only for lack of memory.
inline Result<bool> deberta_within(Index n, Index k, Index c, Index max_distance) {
  const Index steps = c - 1;
  const double place = natural_log(static_cast<double>(n) / static_cast<double>(c)) /
                       natural_log(static_cast<double>(max_distance - 1) / static_cast<double>(c)) *
                       static_cast<double>(steps);
  const double gap = place - static_cast<double>(k);
  // Only where the logarithms come within their own error of a whole number can they mislead.
  // The last whole number is k = steps, at M - 1: M has no factor in common with it.
  if (k > steps || std::abs(gap) > 1e-9 * (1 + std::abs(place))) return gap < 0;
  const auto words = static_cast<std::size_t>(steps) + 2;
  auto left = Natural::one(words), right = Natural::one(words);
  if (!left) return left.error();
  if (!right) return right.error();
  left->multiply(static_cast<std::uint32_t>(n), steps);
  right->multiply(static_cast<std::uint32_t>(max_distance - 1), k);
  right->multiply(static_cast<std::uint32_t>(c), steps - k);
  return right->at_least(*left);
}

/// buckets[n], n = 0 .. max_distance. Needs 4 <= N and N/2 < max_distance - 1.
inline Result<Buffer<Index>> deberta_buckets(Index buckets, Index max_distance) {
  Buffer<Index> table;
  if (Status s = table.allocate(static_cast<std::size_t>(max_distance) + 1); !s) return s;
  const Index c = buckets / 2;
  Index k = 0;
  for (Index n = 0; n <= max_distance; ++n) {
    while (n > c) {
      const auto within = deberta_within(n, k, c, max_distance);
      if (!within) return within.error();
      if (*within) break;
      ++k;
    }
    table[static_cast<std::size_t>(n)] = n <= c ? n : c + k;
  }
  return table;
}

/// The row of DeBERTa's tables for each distance, query minus key.
class DebertaRows {
 public:
  static Result<DebertaRows> make(std::optional<int> buckets, Index max_distance, bool limit) {
    DebertaRows made;
    const Index span = buckets.value_or(static_cast<int>(max_distance));
    made.count_ = 2 * span;
    made.reach_ = limit ? max_distance - 1 : max_distance;
    if (Status s = made.rows_.allocate(static_cast<std::size_t>(2 * made.reach_ + 1)); !s) return s;
    Buffer<Index> sizes;
    if (buckets) {
      auto known = deberta_buckets(*buckets, max_distance);
      if (!known) return known.error();
      sizes = std::move(*known);
    }
    for (Index d = -made.reach_; d <= made.reach_; ++d) {
      const Index size = d < 0 ? -d : d;
      const Index bucket = buckets ? sizes.data()[size] : size;
      made.rows_.data()[d + made.reach_] = static_cast<std::int32_t>(
          std::clamp<Index>((d < 0 ? -bucket : bucket) + span, 0, 2 * span - 1));
    }
    return made;
  }

  /// Rows of each table.
  Index count() const { return count_; }
  /// Farther distances have the rows of this one.
  Index reach() const { return reach_; }
  /// Where a distance stands among the 2 reach + 1.
  Index column(double distance) const {
    const double reach = static_cast<double>(reach_);
    return static_cast<Index>(std::clamp(distance, -reach, reach)) + reach_;
  }
  bool inside(double distance) const { return std::abs(distance) <= static_cast<double>(reach_); }
  Index in_column(Index column) const { return rows_.data()[column]; }
  Index at(double distance) const { return in_column(column(distance)); }

  /// The rows for consecutive others one after the other, where all of them have an entry.
  struct Walk {
    const std::int32_t* row;
    Index step;
  };
  Walk walk_from(double own, const Positions& others, int sign) const {
    const double first = sign * (own - others[0]), last = sign * (own - others[others.count - 1]);
    const double reach = static_cast<double>(reach_);
    if (!others.consecutive || std::max(std::abs(first), std::abs(last)) > reach)
      return {nullptr, 0};
    return {rows_.data() + static_cast<Index>(first) + reach_, -sign};
  }

 private:
  Index count_ = 0, reach_ = 0;
  Buffer<std::int32_t> rows_;  ///< [2 reach + 1]
};

}  // namespace posenc

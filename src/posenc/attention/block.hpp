// SPDX-License-Identifier: Apache-2.0
/// How query rows are grouped. A block of a long sequence is a run of queries of one head; where the
/// sequence is short it holds the same queries of several heads of a group, which share their keys.
#pragma once

#include <algorithm>

#include "posenc/attention/arguments.hpp"

namespace posenc {

/// The rows of a block that belong to one head.
struct Segment {
  Index head, first_query, count, first_row;
};

struct Block {
  Index batch, first_head, heads, first_query, count;  ///< `count` queries of each head

  constexpr Index rows() const { return heads * count; }
  constexpr Segment segment(Index i) const {
    return {first_head + i, first_query, count, i * count};
  }
  constexpr Index head(Index row) const { return first_head + row / count; }
  constexpr Index query(Index row) const { return first_query + row % count; }
};

/// Calls `f(block)` for all queries of key head g, at most `rows` of them at a time.
template <class F>
void for_each_block(const AttentionShape& s, Index rows, Index b, Index g, F&& f) {
  if (s.queries == 0) return;
  const Index heads_at_once = std::clamp<Index>(rows / s.queries, 1, s.group());
  for (Index h = 0; h < s.group(); h += heads_at_once)
    for (Index t = 0; t < s.queries; t += rows)
      f(Block{.batch = b,
              .first_head = g * s.group() + h,
              .heads = std::min(heads_at_once, s.group() - h),
              .first_query = t,
              .count = std::min(rows, s.queries - t)});
}

/// Keys first .. first + count - 1; first is a multiple of the tile size.
struct KeyTile {
  Index first, count;
};

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
/// What an encoding computes of distances alone and a call needs again: in the next block of queries
/// every distance but 64 is one that was met before.
#pragma once

#include "posenc/core/view.hpp"

namespace posenc {

/// How many distances a block has: as VectorTable.
inline constexpr Index distances_in_block = 32;

/// Which distances a place holds, and whose; owner 0: nothing yet.
struct BlockTag {
  Index owner = 0, block = 0;
};

/// The room an encoding wants: blocks of [depth][32] floats.
struct BlockRoom {
  Index count = 0, depth = 0;

  /// For every distance that queries and keys at consecutive positions have.
  static constexpr BlockRoom for_call(Index queries, Index keys, Index depth) {
    return {(queries + keys) / distances_in_block + 2, depth};
  }
};

/// Blocks of distances 32 b .. 32 b + 31, each in the one place it can have: distances that lie within
/// 32 count of one another never contend, others are computed again.
struct KeptBlocks {
  BlockTag* tags = nullptr;
  float* data = nullptr;
  BlockRoom room{};

  constexpr bool any() const { return room.count > 0; }

  /// Block b of `owner`, from 1; `fill(out)` computes it where it is not here.
  template <class Fill>
  const float* get(Index owner, Index b, Fill&& fill) const {
    const Index rest = b % room.count, place = rest < 0 ? rest + room.count : rest;
    float* const block = data + place * room.depth * distances_in_block;
    BlockTag& tag = tags[place];
    if (tag.owner != owner || tag.block != b) {
      fill(block);
      tag = {owner, b};
    }
    return block;
  }
};

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
/// The memory of one call of attention over a cache.
#pragma once

#include "posenc/cache/kv_cache.hpp"

namespace posenc {

struct KVCache::Call {
  Scratch scratch;
  Pages fresh;                     ///< new tokens that have no room yet
  Buffer<const std::byte*> table;  ///< pages of the cache, then the fresh ones
  Buffer<double> queries, keys;    ///< their positions
  Index from = 0;                  ///< the first new token that the cache will keep
  Index count = 0;                 ///< new tokens
  bool in_place = true;

  // Where tokens stand where they lie in the cache:
  const KVCache* cache = nullptr;
  AttentionArguments* whole = nullptr;
  Index settled =
      0;  ///< the first queries, for which nothing has been dropped since the call began
};

}  // namespace posenc

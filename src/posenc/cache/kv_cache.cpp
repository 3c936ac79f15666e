// SPDX-License-Identifier: Apache-2.0
// What is held: taking tokens back, and sharing them.
#include "posenc/cache/kv_cache.hpp"

namespace posenc {

Index KVCache::oldest_held(Index length) const {
  const Index first = std::min(o_.sinks, length);
  return is_ring() ? std::max({first, length - o_.window, std::min(overwritten_, length)}) : first;
}

Status KVCache::truncate(Index length) {
  const auto refuse = [&](const char* expected, Index low) {
    return outside(Errc::out_of_range, "length", expected, static_cast<double>(length),
                   static_cast<double>(low), static_cast<double>(length_));
  };
  if (length < 0 || length > length_) return refuse("a length that the cache has had", 0);
  if (length == 0) {
    reset();
    return {};
  }
  // As many as a ring shows, or all there were.
  const Index oldest_needed = std::max(std::min(o_.sinks, length), length - o_.window);
  if (length <= o_.sinks)
    overwritten_ = 0;  // the first tokens are all there
  else if (is_ring() && oldest_needed < overwritten_)
    return refuse("one whose window the ring still holds", overwritten_ + o_.window);
  length_ = length;
  ++changes_;
  return {};
}

void KVCache::reset() {
  length_ = overwritten_ = 0;
  ++changes_;
  counted_ = shared_ = true;
}

Result<KVCache> KVCache::fork() const {
  KVCache made;
  made.o_ = o_;
  made.layout_ = layout_;
  made.axes_ = axes_;
  made.slots_ = slots_;
  made.length_ = length_;
  made.overwritten_ = overwritten_;
  made.rotated_ = rotated_;
  made.step_room_ = step_room_;
  made.encodings_hash_ = encodings_hash_;
  made.counted_ = counted_;
  made.shared_ = shared_;
  if (Status s = made.positions_.allocate(positions_.size()); !s) return s;
  std::copy_n(positions_.data(), positions_.size(), made.positions_.data());
  const Index used = std::min(length_, slots_);
  if (Status s = made.pages_.fork(pages_, (used + layout_.rows - 1) / layout_.rows); !s) return s;
  return made;
}

}  // namespace posenc

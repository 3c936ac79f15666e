// SPDX-License-Identifier: Apache-2.0
/// One block of memory per call, cut into pieces: sizes are added up first, allocated once, freed
/// once, so failure can happen in exactly one place and before anything was computed.
#pragma once

#include <algorithm>
#include <cstdint>

#include "posenc/core/memory.hpp"
#include "posenc/core/view.hpp"

namespace posenc {

/// Usage: let one function `carve(Arena&)` take all pieces; run it on a measuring arena, `commit`,
/// and run it again.
class Arena {
 public:
  /// `count * width` elements, aligned for any vector; null while measuring.
  template <class T>
  T* take(Index count, Index width = 1) {
    const std::uint64_t offset = used_;
    // What does not fit saturates, and commit() says so.
    auto bytes = static_cast<std::uint64_t>(count);
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(width), &bytes) ||
        __builtin_mul_overflow(bytes, sizeof(T), &bytes) ||
        __builtin_add_overflow(bytes, memory_alignment - 1, &bytes) ||
        __builtin_add_overflow(used_, bytes / memory_alignment * memory_alignment, &used_))
      used_ = UINT64_MAX;
    return block_.data() == nullptr ? nullptr : reinterpret_cast<T*>(block_.data() + offset);
  }

  /// Measures at least as much as another did: room for several uses one after the other.
  void hold(const Arena& other) { used_ = std::max(used_, other.used_); }
  /// Begins the next use of what was allocated; its contents are those of the last.
  void rewind() { used_ = 0; }

  /// Allocates what was measured, zeroed.
  Status commit() {
    if (used_ > static_cast<std::uint64_t>(PTRDIFF_MAX))
      return Error{.code = Errc::too_large,
                   .expected = "small enough for the address space",
                   .received = static_cast<double>(used_)};
    if (Status s = block_.allocate(static_cast<std::size_t>(used_)); !s) return s;
    used_ = 0;
    return {};
  }

 private:
  Buffer<unsigned char> block_;
  std::uint64_t used_ = 0;
};

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
/// The only allocator of the library: it can fail without ending the program, and it counts, so
/// that a leak is a number and not a suspicion.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "posenc/core/result.hpp"

namespace posenc {

/// Bytes; one cache line, and enough for every vector register width that xsimd knows.
inline constexpr std::size_t memory_alignment = 64;

/// Returns nullptr when the memory is not to be had. `bytes` may be 0.
void* allocate(std::size_t bytes) noexcept;
/// `bytes` is what was asked for. Null is ignored.
void release(void* block, std::size_t bytes) noexcept;

/// `count` elements of `size` bytes, all 0, instead of `held` of them; on failure those stay.
Status replace_by_zeros(void*& block, std::size_t& held, std::size_t count,
                        std::size_t size) noexcept;

struct MemoryUse {
  std::size_t bytes = 0;
  std::size_t blocks = 0;
};
MemoryUse memory_use() noexcept;

#ifdef POSENC_FAULT_INJECTION
/// Tests only: lets `successes` allocations pass and fails every later one; a negative number
/// switches the injection off.
void fail_allocations_after(long successes) noexcept;
#endif

/// `a * b`, or nothing where it does not fit: sizes are 32 bits wide in WebAssembly.
constexpr std::optional<std::size_t> checked_product(std::size_t a, std::size_t b) {
  std::size_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// An owned array of trivial elements. Moves, never copies, never throws.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { release(data_, size_ * sizeof(T)); }

  /// Zero-filled.
  static Result<Buffer> make(std::size_t count) {
    Buffer made;
    if (Status s = made.allocate(count); !s) return s;
    return made;
  }
  /// `count` zeros instead of what it holds, which stays where that fails. Where the buffer is a member
  /// already: `make` and moving what it gave took 2 KB of the WebAssembly module.
  Status allocate(std::size_t count) {
    Status done = replace_by_zeros(data_, size_, count, sizeof(T));
    if constexpr (std::is_class_v<T>)
      if (done) std::fill_n(data(), count, T{});
    return done;
  }

  T* data() { return static_cast<T*>(data_); }
  const T* data() const { return static_cast<const T*>(data_); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace posenc

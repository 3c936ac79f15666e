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

/// `count` elements of `size` bytes, all 0.
Status allocate_zeros(std::size_t count, std::size_t size, void*& block) noexcept;

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
  ~Buffer() { release(static_cast<void*>(data_), size_ * sizeof(T)); }

  /// Zero-filled.
  static Result<Buffer> make(std::size_t count) {
    void* block = nullptr;
    if (Status s = allocate_zeros(count, sizeof(T), block); !s) return s.error();
    Buffer made;
    made.data_ = static_cast<T*>(block);
    made.size_ = count;
    if constexpr (std::is_class_v<T>) std::fill_n(made.data_, count, T{});
    return made;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace posenc

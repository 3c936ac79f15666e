// SPDX-License-Identifier: Apache-2.0
/// The pages of a cache: blocks of rows that several caches share until one of them writes.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>

#include "posenc/attention/arguments.hpp"
#include "posenc/core/memory.hpp"

namespace posenc {

/// Bytes of one number.
constexpr Index size_of(Dtype dtype) {
  return dtype == Dtype::f32 ? 4 : dtype == Dtype::f16 ? 2 : 1;
}

/// What a page holds and where: [keys][values][scales of keys][scales of values], each
/// [B][G][rows][width], behind a count of the caches that share it.
struct PageLayout {
  Index batch = 1, heads = 1, key_width = 0, value_width = 0, rows = 1;
  Dtype dtype = Dtype::f32;

  static constexpr Index header = static_cast<Index>(memory_alignment);
  static constexpr Index aligned(Index n) { return (n + header - 1) / header * header; }
  constexpr Index planes() const { return batch * heads; }
  constexpr Index block(Index width) const { return planes() * rows * width * size_of(dtype); }
  constexpr Index scale_block() const {
    return dtype == Dtype::i8 ? aligned(planes() * rows * 4) : 0;
  }
  constexpr Index keys() const { return header; }
  constexpr Index values() const { return keys() + aligned(block(key_width)); }
  constexpr Index key_scales() const { return values() + aligned(block(value_width)); }
  constexpr Index value_scales() const { return key_scales() + scale_block(); }
  constexpr Index bytes() const { return value_scales() + scale_block(); }
};

class Pages {
 public:
  Pages() = default;
  Pages(Pages&& other) noexcept = default;
  Pages& operator=(Pages&& other) noexcept {
    std::swap(pages_, other.pages_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Pages() {
    for (std::size_t i = 0; i < pages_.size(); ++i) let_go(pages_[i], bytes_);
  }

  /// Instead of none.
  Status allocate(Index count, Index bytes) {
    bytes_ = bytes;
    Status done = pages_.allocate(static_cast<std::size_t>(count));
    for (Index i = 0; done && i < count; ++i) done = create(i);
    return done;
  }

  /// As many pages as there, instead of none: the first `shared` are the same ones, the others are new.
  Status fork(const Pages& from, Index shared) {
    bytes_ = from.bytes_;
    Status done = pages_.allocate(from.pages_.size());
    for (Index i = 0; done && i < count(); ++i) {
      if (i >= shared) {
        done = create(i);
        continue;
      }
      pages_[static_cast<std::size_t>(i)] = from[i];
      ++users(from[i]);
    }
    return done;
  }

  /// Copies page i if others use it too, before it is written to.
  Status own(Index i) {
    std::byte* shared = (*this)[i];
    if (users(shared) == 1) return {};
    if (Status s = create(i); !s) return s;
    std::memcpy((*this)[i] + PageLayout::header, shared + PageLayout::header,
                static_cast<std::size_t>(bytes_ - PageLayout::header));
    --users(shared);
    return {};
  }

  Index count() const { return static_cast<Index>(pages_.size()); }
  std::byte* operator[](Index i) const { return pages_.data()[i]; }
  std::byte* const* data() const { return pages_.data(); }

 private:
  static std::int64_t& users(std::byte* page) { return *reinterpret_cast<std::int64_t*>(page); }
  static void let_go(std::byte* page, Index bytes) {
    if (page != nullptr && --users(page) == 0) release(page, static_cast<std::size_t>(bytes));
  }
  Status create(Index i) {
    auto* page = static_cast<std::byte*>(posenc::allocate(static_cast<std::size_t>(bytes_)));
    if (page == nullptr)
      return Error{.code = Errc::out_of_memory, .received = static_cast<double>(bytes_)};
    new (page) std::int64_t(1);
    pages_[static_cast<std::size_t>(i)] = page;
    return {};
  }

  Buffer<std::byte*> pages_;
  Index bytes_ = 0;
};

}  // namespace posenc

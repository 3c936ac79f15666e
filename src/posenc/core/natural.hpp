// SPDX-License-Identifier: Apache-2.0
/// Exact comparison of products of powers: bucket boundaries are defined by logarithms, and
/// floating point puts those that are whole numbers on the wrong side.
#pragma once

#include <cstdint>

#include "posenc/core/memory.hpp"
#include "posenc/core/view.hpp"

namespace posenc {

/// A natural number that only grows by multiplication; little-endian 32-bit words.
class Natural {
 public:
  static Result<Natural> one(std::size_t words) {
    Natural made;
    if (Status s = made.words_.allocate(words); !s) return s;
    made.words_[0] = 1;
    return made;
  }
  void multiply(std::uint32_t factor, Index times) {
    for (; times > 0; --times) {
      std::uint64_t carry = 0;
      for (std::size_t i = 0; i < used_; ++i) {
        carry += std::uint64_t{words_[i]} * factor;
        words_[i] = static_cast<std::uint32_t>(carry);
        carry >>= 32;
      }
      if (carry != 0) words_[used_++] = static_cast<std::uint32_t>(carry);
    }
  }
  bool at_least(const Natural& other) const {
    if (used_ != other.used_) return used_ > other.used_;
    for (std::size_t i = used_; i-- > 0;)
      if (words_[i] != other.words_[i]) return words_[i] > other.words_[i];
    return true;
  }

 private:
  Buffer<std::uint32_t> words_;
  std::size_t used_ = 1;
};

}  // namespace posenc

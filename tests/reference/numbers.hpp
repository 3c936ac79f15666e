// SPDX-License-Identifier: Apache-2.0
/// Arrays, data and distances between numbers that every test uses.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <vector>

#include "posenc/core/view.hpp"

namespace reference {

using posenc::Index;

/// A vector indexed by Index. Exactly as large as asked for, so that AddressSanitizer sees every
/// access past its end.
template <class T>
class Array {
 public:
  Array() = default;
  explicit Array(Index n, T fill = T{}) : items_(static_cast<std::size_t>(n), fill) {}
  Array(std::initializer_list<T> items) : items_(items) {}

  T& operator[](Index i) { return items_[static_cast<std::size_t>(i)]; }
  const T& operator[](Index i) const { return items_[static_cast<std::size_t>(i)]; }
  T* data() { return items_.data(); }
  const T* data() const { return items_.data(); }
  Index size() const { return static_cast<Index>(items_.size()); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  bool operator==(const Array&) const = default;

  /// Equal bit for bit: NaN equals itself, and 0 differs from -0.
  bool same_bits(const Array& other) const {
    return size() == other.size() &&
           (size() == 0 || std::memcmp(data(), other.data(), items_.size() * sizeof(T)) == 0);
  }

 private:
  std::vector<T> items_;
};

/// The same numbers on every machine: the standard's distributions differ between libraries.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}

  std::uint32_t bits() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 32);
  }
  /// From 0 to below 1.
  double uniform() { return bits() * 0x1p-32; }
  Index below(Index n) { return static_cast<Index>(uniform() * static_cast<double>(n)); }
  /// Nearly normal, of variance 1 and never beyond 6: a sum of twelve uniform numbers.
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }
  Array<float> floats(Index n, double deviation = 1) {
    Array<float> made(n);
    for (Index i = 0; i < n; ++i) made[i] = static_cast<float>(deviation * normal());
    return made;
  }

 private:
  std::uint64_t state_;
};

/// first, first + step, …
inline Array<double> counted(Index n, double first = 0, double step = 1) {
  Array<double> made(n);
  for (Index i = 0; i < n; ++i) made[i] = first + step * static_cast<double>(i);
  return made;
}

/// The distance of a float from the exact value, in units in the last place of that value.
inline double ulps(float got, double exact) {
  const float nearest = std::abs(static_cast<float>(exact));
  const float next = std::nextafter(nearest, std::numeric_limits<float>::infinity());
  return std::abs(static_cast<double>(got) - exact) / (static_cast<double>(next) - nearest);
}

inline bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();

}  // namespace reference

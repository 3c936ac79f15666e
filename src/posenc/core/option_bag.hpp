// SPDX-License-Identifier: Apache-2.0
/// The values a caller gives, by name: what the decoder of core/options.hpp reads.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "posenc/core/view.hpp"

namespace posenc {

/// A value as it arrives. Views point into the caller's memory until the decoder has copied them.
struct OptionValue {
  enum class Kind : std::uint8_t { number, boolean, text, list, table };
  Kind kind = Kind::number;
  double number = 0;  ///< also the boolean, as 0 or 1
  std::string_view text{};
  std::span<const double> list{};
  const float* table = nullptr;
  std::array<Index, 3> shape{};
  int rank = 0;
};

/// Values by name, in the order given. Holds views, copies nothing and allocates nothing: names and
/// values must live until the encoding was made, and for its error's sake a little longer.
class OptionBag {
 public:
  static constexpr std::size_t capacity = 32;
  struct Entry {
    std::string_view name;
    OptionValue value;
  };

  void clear() { size_ = 0; }
  /// False when full: more names than any encoding has.
  bool add(std::string_view name, const OptionValue& value) {
    if (size_ == capacity) return false;
    entries_[size_++] = {name, value};
    return true;
  }
  bool number(std::string_view name, double value) { return add(name, {.number = value}); }
  bool boolean(std::string_view name, bool value) {
    return add(name, {.kind = OptionValue::Kind::boolean, .number = value ? 1.0 : 0.0});
  }
  bool text(std::string_view name, std::string_view value) {
    return add(name, {.kind = OptionValue::Kind::text, .text = value});
  }
  bool list(std::string_view name, std::span<const double> value) {
    return add(name, {.kind = OptionValue::Kind::list, .list = value});
  }
  bool table(std::string_view name, const float* data, std::array<Index, 3> shape, int rank) {
    return add(name,
               {.kind = OptionValue::Kind::table, .table = data, .shape = shape, .rank = rank});
  }
  std::span<const Entry> entries() const { return {entries_.data(), size_}; }

 private:
  std::array<Entry, capacity> entries_{};
  std::size_t size_ = 0;
};

}  // namespace posenc

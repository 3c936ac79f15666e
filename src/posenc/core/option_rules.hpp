// SPDX-License-Identifier: Apache-2.0
/// The options of an encoding as the decoder reads them: a string of bytes made at compile time, since
/// structures with pointers were 46 KB of memory and 5 KB of the download. Options that several
/// encodings share are the same bytes again, which costs a download next to nothing.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

#include "posenc/core/options.hpp"

namespace posenc {

/// One extent of a table or list, with options by their place among the rules and free names by number.
struct Extent {
  int option = -1, times = 1, over = 1, plus = 0, free = -1;
};

/// One rule, unpacked. Views point into the bytes.
struct OptionRule {
  std::string_view name;
  OptionKind kind = OptionKind::number;
  bool above_min = false, is_required = false, may_hide = false;
  Storage storage = Storage::number;
  int offset = 0;
  double min = 0, max = 0;
  int multiple = 1, default_from = -1, rank = 0, choice_count = 0;
  const std::uint8_t* choices = nullptr;  ///< texts
  std::array<Extent, 3> shape{};
};

/// From one rule to the next.
class RuleReader {
 public:
  explicit RuleReader(std::span<const std::uint8_t> bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}
  /// False at the end.
  bool next(OptionRule& rule);

 private:
  const std::uint8_t *at_, *end_;
};

/// The text at `at`, which then stands behind it.
std::string_view packed_text(const std::uint8_t*& at);

namespace rules_detail {

template <std::size_t Capacity>
class Packer {
 public:
  std::array<std::uint8_t, Capacity> bytes{};
  std::size_t size = 0;

  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator std::span<const std::uint8_t>() const { return {bytes.data(), size}; }

  /// A value that does not fit in a byte is no constant expression.
  constexpr void byte(int value) {
    const bool fits = value >= -1 && value < 255;
    bytes[fits ? size++ : Capacity] = static_cast<std::uint8_t>(value);
  }
  constexpr void text(std::string_view text) {
    byte(static_cast<int>(text.size()));
    for (char c : text) byte(c);
  }
  /// The leading bytes of a double, as far as they are not 0: two for most.
  constexpr void number(double value) {
    auto bits = std::bit_cast<std::uint64_t>(value);
    byte((71 - std::countr_zero(bits)) / 8);
    for (; bits != 0; bits <<= 8) bytes[size++] = static_cast<std::uint8_t>(bits >> 56);
  }
};

constexpr int place_of(std::span<const Field> fields, std::string_view name) {
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (fields[i].name == name) return static_cast<int>(i);
  return -1;
}

/// The first use of a free name among all extents is its number.
constexpr int number_of_free(std::span<const Field> fields, std::string_view free) {
  int count = 0;
  for (const Field& f : fields)
    for (const Dim& d : f.shape) {
      if (d.free == free) return count;
      ++count;
    }
  return -1;
}

}  // namespace rules_detail

/// Everything the decoder must know; the prose stays behind.
template <std::size_t N>
constexpr auto rules_of(const std::array<Field, N>& fields) {
  rules_detail::Packer<N * 160> p;
  for (const Field& f : fields) {
    p.byte(static_cast<int>(f.kind) | (f.above_min ? 8 : 0) | (f.is_required ? 16 : 0) |
           (f.may_hide ? 32 : 0));
    p.byte(static_cast<int>(f.storage));
    const auto offset = static_cast<int>(f.offset());
    p.byte(offset % 128);
    p.byte(offset / 128);
    p.text(f.name);
    p.byte(f.multiple);
    p.byte(f.default_from.empty() ? -1 : rules_detail::place_of(fields, f.default_from));
    p.number(f.min);
    p.number(f.max);
    p.byte(static_cast<int>(f.choices.size()));
    for (std::string_view choice : f.choices) p.text(choice);
    p.byte(f.rank);
    for (std::size_t a = 0; a < static_cast<std::size_t>(f.rank); ++a) {
      const Dim& d = f.shape[a];
      p.byte(d.option.empty() ? -1 : rules_detail::place_of(fields, d.option));
      p.byte(d.times);
      p.byte(d.over);
      p.byte(d.plus);
      p.byte(d.free.empty() ? -1 : rules_detail::number_of_free(fields, d.free));
    }
  }
  return p;
}

template <class E>
inline constexpr auto option_rules = [] {
  constexpr auto packed = rules_of(E::fields);
  std::array<std::uint8_t, packed.size> bytes{};
  std::copy_n(packed.bytes.begin(), packed.size, bytes.begin());
  return bytes;
}();

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
/// Options by name: the descriptors an encoding declares, and the one decoder that turns a bag of
/// values into the encoding's Options or names what is wrong with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "posenc/core/memory.hpp"
#include "posenc/core/option_bag.hpp"
#include "posenc/core/result.hpp"
#include "posenc/core/spec.hpp"

namespace posenc {

/// A learned table owned by an encoding; row-major, rank 1 to 3.
struct Table {
  Buffer<float> data;
  std::array<Index, 3> shape{};
  int rank = 0;

  bool empty() const { return rank == 0; }
  const float* row(Index i) const { return data.data() + i * shape[1]; }
  /// Copies `data`. Fails only for lack of memory.
  static Result<Table> copy(const float* data, std::span<const Index> shape);
};

enum class OptionKind : std::uint8_t { integer, number, boolean, choice, names, list, table };

/// How the member that holds an option is laid out.
enum class Storage : std::uint8_t {
  integer,  ///< an int, or an enum as large
  small,    ///< a bool, or an enum of one byte
  number,
  optional_integer,
  optional_small,
  optional_number,
  list,
  table,
};

/// NaN where there is no value, or more than one.
double read_option(Storage storage, const void* member);
/// Fails only for lack of memory.
Status assign_option(Storage storage, void* member, const OptionValue& value);

/// One option of an encoding. Built by `FieldOf`.
struct Field {
  std::string_view name;
  std::string_view doc{};
  OptionKind kind = OptionKind::number;
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool above_min = false;  ///< min itself is not allowed
  bool is_required = false;
  int multiple = 1;                 ///< integers only
  std::string_view default_from{};  ///< the option whose value stands in when this one is absent
  std::span<const std::string_view> choices{};
  std::array<Dim, 3> shape{};  ///< of a table; of a list only the first
  int rank = 0;
  bool may_hide = false;  ///< of a table: -infinity means something, and is taken
  Storage storage = Storage::number;
  std::size_t (*offset)() = nullptr;  ///< where the member is, in bytes

  // What only the manifest says.
  bool is_logarithmic = false;  ///< a slider should move by factors
  double example_value = 0;  ///< a usable value where there is no default; of a list, its elements
  std::span<const double> example_list{};  ///< of a list, where its elements differ
  double deviation = 0.02;  ///< of a table: the scale of a usual random initialisation
  bool is_usual = false;    ///< optional because another can stand in, but examples should have it
  std::optional<LengthPolicy> policy{};  ///< of the encoding, where this option is given or true

  /// Numbers, booleans as 0 or 1, choices as their index; NaN where there is no value.
  double read(const void* options) const {
    return read_option(storage, static_cast<const std::byte*>(options) + offset());
  }

  constexpr Field required(double example = 0) const {
    Field f = *this;
    f.is_required = true;
    f.example_value = example;
    return f;
  }
  constexpr Field leading_to(LengthPolicy p) const {
    Field f = *this;
    f.policy = p;
    return f;
  }
  constexpr Field hiding() const {
    Field f = *this;
    f.may_hide = true;
    return f;
  }
  constexpr Field usual() const {
    Field f = *this;
    f.is_usual = true;
    return f;
  }
  constexpr Field example(double value) const {
    Field f = *this;
    f.example_value = value;
    return f;
  }
  constexpr Field examples(std::span<const double> values) const {
    Field f = *this;
    f.example_list = values;
    return f;
  }
  constexpr Field multiple_of(int n) const {
    Field f = *this;
    f.multiple = n;
    return f;
  }
  constexpr Field logarithmic() const {
    Field f = *this;
    f.is_logarithmic = true;
    return f;
  }
  constexpr Field exclusive_min() const {
    Field f = *this;
    f.above_min = true;
    return f;
  }
  constexpr Field falls_back_to(std::string_view option) const {
    Field f = *this;
    f.default_from = option;
    return f;
  }
  constexpr Field initialised_by(double standard_deviation) const {
    Field f = *this;
    f.deviation = standard_deviation;
    return f;
  }
};

namespace options_detail {

template <class M>
struct MemberOf;
template <class O, class T>
struct MemberOf<T O::*> {
  using Type = T;
};

template <class T>
inline constexpr bool is_optional_enum = false;
template <class T>
inline constexpr bool is_optional_enum<std::optional<T>> = std::is_enum_v<T>;

template <class T>
constexpr Storage storage_of() {
  if constexpr (std::is_same_v<T, Table>) return Storage::table;
  if constexpr (std::is_same_v<T, Buffer<double>>) return Storage::list;
  if constexpr (std::is_same_v<T, double>) return Storage::number;
  if constexpr (std::is_same_v<T, std::optional<double>>) return Storage::optional_number;
  if constexpr (std::is_same_v<T, std::optional<int>>) return Storage::optional_integer;
  if constexpr (is_optional_enum<T>) {
    static_assert(sizeof(T) == sizeof(std::optional<std::uint8_t>));
    return Storage::optional_small;
  }
  if constexpr (std::is_same_v<T, bool> || std::is_enum_v<T> || std::is_integral_v<T>) {
    static_assert(sizeof(T) == 1 || sizeof(T) == sizeof(int));
    return sizeof(T) == 1 ? Storage::small : Storage::integer;
  }
}

/// Options that are not made, only looked at for where their members are.
template <class Options>
union Outline {
  std::array<std::byte, sizeof(Options)> bytes;
  Options options;
  constexpr Outline() : bytes{} {}
  constexpr ~Outline() {}  // NOLINT(modernize-use-equals-default): that would be deleted
};
template <class Options>
inline constexpr Outline<Options> outline{};

/// The language has no offset of a pointer to a member, but it compares addresses.
template <class Options, auto Member>
constexpr std::size_t offset_of() {
  const void* member = &(outline<Options>.options.*Member);
  std::size_t i = 0;
  while (static_cast<const void*>(&outline<Options>.bytes[i]) != member) ++i;
  return i;
}

}  // namespace options_detail

/// Declares the options of an encoding: `FieldOf<Options>::integer<&Options::heads>("heads", …)`.
/// `Options` is named apart from the member because the member may belong to a base of it.
template <class Options>
struct FieldOf {
  /// An integer from `min` to `max`; the member is an int or an optional one.
  template <auto Member>
  static constexpr Field integer(std::string_view name, std::string_view doc, double min,
                                 double max) {
    return ranged(make<Member>(OptionKind::integer, name, doc), min, max);
  }

  /// A finite number from `min` to `max`; the member is a double or an optional one.
  template <auto Member>
  static constexpr Field number(std::string_view name, std::string_view doc, double min,
                                double max) {
    return ranged(make<Member>(OptionKind::number, name, doc), min, max);
  }

  template <auto Member>
  static constexpr Field boolean(std::string_view name, std::string_view doc) {
    return make<Member>(OptionKind::boolean, name, doc);
  }

  /// One of `names`, in the order of the enum's values.
  template <auto Member>
  static constexpr Field choice(std::string_view name, std::string_view doc,
                                std::span<const std::string_view> names) {
    Field f = make<Member>(OptionKind::choice, name, doc);
    f.choices = names;
    return f;
  }

  /// Any of `names`, as text with commas between; the member has bit i for the i-th.
  template <auto Member>
  static constexpr Field names(std::string_view name, std::string_view doc,
                               std::span<const std::string_view> names) {
    Field f = make<Member>(OptionKind::names, name, doc);
    f.choices = names;
    return f;
  }

  /// A list of finite numbers, each from `min` to `max`, as long as `length` says.
  template <auto Member>
  static constexpr Field list(std::string_view name, std::string_view doc, double min, double max,
                              Dim length) {
    Field f = ranged(make<Member>(OptionKind::list, name, doc), min, max);
    f.shape[0] = length;
    f.rank = 1;
    return f;
  }

  template <auto Member, class... Dims>
  static constexpr Field table(std::string_view name, std::string_view doc, Dims... dims) {
    static_assert(sizeof...(Dims) >= 1 && sizeof...(Dims) <= 3);
    Field f = make<Member>(OptionKind::table, name, doc);
    f.shape = {dims...};
    f.rank = static_cast<int>(sizeof...(Dims));
    return f;
  }

 private:
  template <auto Member>
  static constexpr Field make(OptionKind kind, std::string_view name, std::string_view doc) {
    Field f;
    f.name = name;
    f.doc = doc;
    f.kind = kind;
    f.storage =
        options_detail::storage_of<typename options_detail::MemberOf<decltype(Member)>::Type>();
    f.offset = &options_detail::offset_of<Options, Member>;
    return f;
  }
  static constexpr Field ranged(Field f, double min, double max) {
    f.min = min;
    f.max = max;
    return f;
  }
};

/// Fills `options` (the struct that `rules`, of core/option_rules.hpp, describe) from `bag`. Errors name the option: unknown,
/// missing, of the wrong type, out of range, or a table whose shape does not follow or which holds
/// what is not a number. A free extent of several tables is the same in all of them.
Status decode_options(std::span<const std::uint8_t> rules, void* options, const OptionBag& bag);

}  // namespace posenc

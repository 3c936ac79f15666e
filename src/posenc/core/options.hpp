// SPDX-License-Identifier: Apache-2.0
/// Options by name: the descriptors an encoding declares, and the one decoder that turns a bag of
/// values into the encoding's Options or names what is wrong with it.
#pragma once

#include <array>
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

/// What the decoder must know of an option; `assign` and `read` hide the member.
struct OptionRule {
  std::string_view name;
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

  Status (*assign)(void* options, const OptionValue& value) = nullptr;
  /// Numbers, booleans as 0 or 1, choices as their index; NaN where there is no value.
  double (*read)(const void* options) = nullptr;
};

/// One option of an encoding: its rule, and what only the manifest says of it. Built by `FieldOf`.
struct Field : OptionRule {
  std::string_view doc{};
  bool is_logarithmic = false;  ///< a slider should move by factors
  double example_value = 0;  ///< a usable value where there is no default; of a list, its elements
  std::span<const double> example_list{};  ///< of a list, where its elements differ
  double deviation = 0.02;  ///< of a table: the scale of a usual random initialisation
  bool is_usual = false;    ///< optional because another can stand in, but examples should have it
  std::optional<LengthPolicy> policy{};  ///< of the encoding, where this option is given or true

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
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class Options, auto Member>
Status assign(void* options, const OptionValue& value) {
  using T = typename MemberOf<decltype(Member)>::Type;
  T& slot = static_cast<Options*>(options)->*Member;
  if constexpr (std::is_same_v<T, Table>) {
    auto copy =
        Table::copy(value.table, {value.shape.data(), static_cast<std::size_t>(value.rank)});
    if (!copy) return copy.error();
    slot = std::move(*copy);
  } else if constexpr (std::is_same_v<T, Buffer<double>>) {
    auto copy = Buffer<double>::make(value.list.size());
    if (!copy) return copy.error();
    std::copy(value.list.begin(), value.list.end(), copy->data());
    slot = std::move(*copy);
  } else if constexpr (is_optional<T>) {
    slot = static_cast<typename T::value_type>(value.number);
  } else if constexpr (std::is_enum_v<T>) {
    slot = static_cast<T>(static_cast<int>(value.number));
  } else if constexpr (std::is_same_v<T, bool>) {
    slot = value.number != 0;
  } else {
    slot = static_cast<T>(value.number);
  }
  return {};
}

template <class Options, auto Member>
double read(const void* options) {
  using T = typename MemberOf<decltype(Member)>::Type;
  const T& slot = static_cast<const Options*>(options)->*Member;
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if constexpr (std::is_same_v<T, Table> || std::is_same_v<T, Buffer<double>>) {
    return none;
  } else if constexpr (is_optional<T>) {
    return slot ? static_cast<double>(*slot) : none;
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<double>(static_cast<int>(slot));
  } else {
    return static_cast<double>(slot);
  }
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
    f.assign = &options_detail::assign<Options, Member>;
    f.read = &options_detail::read<Options, Member>;
    return f;
  }
  static constexpr Field ranged(Field f, double min, double max) {
    f.min = min;
    f.max = max;
    return f;
  }
};

/// The rules alone, without the prose: what a binary needs to carry.
template <std::size_t N>
constexpr std::array<OptionRule, N> rules_of(const std::array<Field, N>& fields) {
  std::array<OptionRule, N> rules{};
  for (std::size_t i = 0; i < N; ++i) rules[i] = fields[i];
  return rules;
}
template <class E>
inline constexpr auto option_rules = rules_of(E::fields);

/// Fills `options` (the struct that `rules` describe) from `bag`. Errors name the option: unknown,
/// missing, of the wrong type, out of range, or a table whose shape does not follow or which holds
/// what is not a number. A free extent of several tables is the same in all of them.
Status decode_options(std::span<const OptionRule> rules, void* options, const OptionBag& bag);

}  // namespace posenc

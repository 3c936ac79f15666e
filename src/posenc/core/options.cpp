// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/options.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "posenc/core/option_rules.hpp"

namespace posenc {
namespace {

using Rules = std::span<const std::uint8_t>;

bool find(Rules rules, std::string_view name, OptionRule& rule) {
  RuleReader reader(rules);
  while (reader.next(rule))
    if (rule.name == name) return true;
  return false;
}
OptionRule at(Rules rules, int index) {
  RuleReader reader(rules);
  OptionRule rule;
  while (reader.next(rule) && index > 0) --index;
  return rule;
}

void* member(void* options, const OptionRule& rule) {
  return static_cast<std::byte*>(options) + rule.offset;
}
double read(const void* options, const OptionRule& rule) {
  return read_option(rule.storage, static_cast<const std::byte*>(options) + rule.offset);
}

[[gnu::noinline]] Status fault(Errc code, const OptionRule& f, const char* expected,
                               double received, double index = -1) {
  return Error{
      .code = code, .field = f.name, .expected = expected, .received = received, .index = index};
}

Status check_number(const OptionRule& f, double value, double index = -1) {
  if (!std::isfinite(value)) return fault(Errc::not_finite, f, "a finite number", value, index);
  if (f.kind == OptionKind::integer && value != std::trunc(value))
    return fault(Errc::not_integer, f, "an integer", value, index);
  if (value < f.min || value > f.max || (f.above_min && value == f.min))
    return Error{.code = Errc::out_of_range,
                 .field = f.name,
                 .expected = "in its range",
                 .received = value,
                 .index = index,
                 .low = f.min,
                 .high = f.max};
  if (f.multiple > 1 && value / f.multiple != std::trunc(value / f.multiple))
    return fault(f.multiple == 2 ? Errc::not_even : Errc::out_of_range, f,
                 f.multiple == 2 ? "an even integer" : "a multiple of its documented step", value);
  return {};
}

constexpr OptionValue::Kind wanted_kind(OptionKind kind) {
  switch (kind) {
    case OptionKind::integer:
    case OptionKind::number:
      return OptionValue::Kind::number;
    case OptionKind::boolean:
      return OptionValue::Kind::boolean;
    case OptionKind::choice:
    case OptionKind::names:
      return OptionValue::Kind::text;
    case OptionKind::list:
      return OptionValue::Kind::list;
    case OptionKind::table:
      break;
  }
  return OptionValue::Kind::table;
}

constexpr const char* kind_phrase(OptionKind kind) {
  switch (kind) {
    case OptionKind::integer:
    case OptionKind::number:
      return "a number";
    case OptionKind::boolean:
      return "true or false";
    case OptionKind::choice:
      return "one of its documented names";
    case OptionKind::names:
      return "some of its documented names";
    case OptionKind::list:
      return "a list of numbers";
    case OptionKind::table:
      break;
  }
  return "a tensor";
}

/// The extent that is prescribed, or -1 where the data may decide.
Index prescribed(Rules rules, const void* options, const Extent& e) {
  if (e.option < 0) return e.free < 0 ? e.plus : -1;
  OptionRule source = at(rules, e.option);
  if (std::isnan(read(options, source))) source = at(rules, source.default_from);
  return static_cast<Index>(read(options, source)) * e.times / e.over + e.plus;
}

const OptionValue* find(const OptionBag& bag, std::string_view name) {
  for (const auto& entry : bag.entries())
    if (entry.name == name) return &entry.value;
  return nullptr;
}

/// What a free extent is: as the first table says that has it.
Index agreed(Rules rules, const OptionBag& bag, int free) {
  RuleReader reader(rules);
  OptionRule f;
  while (reader.next(f))
    for (std::size_t a = 0; a < static_cast<std::size_t>(f.rank); ++a)
      if (f.shape[a].free == free)
        if (const OptionValue* value = find(bag, f.name); value != nullptr && value->rank == f.rank)
          return value->shape[a];
  return -1;
}

Status check_shape(Rules rules, const void* options, const OptionRule& f, const OptionValue& value,
                   const OptionBag& bag) {
  const int rank = value.kind == OptionValue::Kind::list ? 1 : value.rank;
  if (rank != f.rank)
    return fault(Errc::shape_mismatch, f, "a tensor of its documented rank", rank);
  for (int axis = 0; axis < rank; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const Index given = value.kind == OptionValue::Kind::list
                            ? static_cast<Index>(value.list.size())
                            : value.shape[a];
    const Index wanted = prescribed(rules, options, f.shape[a]);
    if (wanted >= 0 ? given != wanted : given < 1)
      return fault(Errc::shape_mismatch, f, "a tensor of its documented shape",
                   static_cast<double>(given), axis);
    if (f.shape[a].free < 0) continue;
    if (const Index other = agreed(rules, bag, f.shape[a].free); other >= 0 && given != other)
      return Error{.code = Errc::shape_mismatch,
                   .field = f.name,
                   .expected = "as long as the other tables of that extent",
                   .received = static_cast<double>(given),
                   .index = static_cast<double>(axis),
                   .low = static_cast<double>(other),
                   .high = static_cast<double>(other)};
  }
  return {};
}

/// Where `name` stands among the choices, or -1.
Index find_choice(const OptionRule& f, std::string_view name) {
  const std::uint8_t* at = f.choices;
  for (int i = 0; i < f.choice_count; ++i)
    if (packed_text(at) == name) return i;
  return -1;
}

/// One bit for each name in a text with commas between, or -1 where one is unknown.
Index find_choices(const OptionRule& f, std::string_view names) {
  Index bits = 0;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    const Index at = find_choice(f, names.substr(0, end));
    if (at < 0) return -1;
    bits |= Index{1} << at;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return bits;
}

Status assign_scalar(const OptionRule& f, void* options, OptionValue value) {
  if (f.kind == OptionKind::choice || f.kind == OptionKind::names) {
    const Index found =
        f.kind == OptionKind::choice ? find_choice(f, value.text) : find_choices(f, value.text);
    if (found < 0)
      return fault(Errc::out_of_range, f, kind_phrase(f.kind),
                   std::numeric_limits<double>::quiet_NaN());
    value.number = static_cast<double>(found);
  } else if (f.kind != OptionKind::boolean) {
    if (Status s = check_number(f, value.number); !s) return s;
  }
  return assign_option(f.storage, member(options, f), value);
}

/// One such number would spread over every score that its table takes part in.
Status check_finite(const OptionRule& f, const float* data, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const bool hides = f.may_hide && data[i] == -std::numeric_limits<float>::infinity();
    if (!std::isfinite(data[i]) && !hides)
      return fault(Errc::not_finite, f,
                   f.may_hide ? "finite numbers or -infinity" : "finite numbers",
                   static_cast<double>(data[i]), static_cast<double>(i));
  }
  return {};
}

Status assign_array(Rules rules, const OptionRule& f, void* options, const OptionValue& value,
                    const OptionBag& bag) {
  if (Status s = check_shape(rules, options, f, value, bag); !s) return s;
  std::size_t count = value.rank > 0 ? 1 : 0;
  for (int axis = 0; axis < value.rank; ++axis) {
    const auto product = checked_product(
        count, static_cast<std::size_t>(value.shape[static_cast<std::size_t>(axis)]));
    if (!product) return fault(Errc::too_large, f, "a smaller tensor", 0);
    count = *product;
  }
  if (Status s = check_finite(f, value.table, count); !s) return s;
  for (std::size_t i = 0; i < value.list.size(); ++i)
    if (Status s = check_number(f, value.list[i], static_cast<double>(i)); !s) return s;
  return assign_option(f.storage, member(options, f), value);
}

constexpr bool is_array(OptionKind kind) {
  return kind == OptionKind::list || kind == OptionKind::table;
}

}  // namespace

Result<Table> Table::copy(const float* data, std::span<const Index> shape) {
  std::size_t count = 1;
  Table made;
  for (Index extent : shape) {
    const auto product = checked_product(count, static_cast<std::size_t>(extent));
    if (!product) return Error{.code = Errc::too_large};
    count = *product;
    made.shape[static_cast<std::size_t>(made.rank++)] = extent;
  }
  if (Status s = made.data.allocate(count); !s) return s;
  std::copy_n(data, count, made.data.data());
  return made;
}

double read_option(Storage storage, const void* member) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  int integer = 0;
  std::optional<std::uint8_t> small;
  switch (storage) {
    case Storage::integer:
      std::memcpy(&integer, member, sizeof integer);
      return integer;
    case Storage::small:
      return static_cast<double>(*static_cast<const std::uint8_t*>(member));
    case Storage::number:
      return *static_cast<const double*>(member);
    case Storage::optional_integer: {
      const auto& slot = *static_cast<const std::optional<int>*>(member);
      return slot ? *slot : none;
    }
    case Storage::optional_small:
      std::memcpy(&small, member, sizeof small);
      return small ? *small : none;
    case Storage::optional_number:
      return static_cast<const std::optional<double>*>(member)->value_or(none);
    case Storage::list:
    case Storage::table:
      break;
  }
  return none;
}

Status assign_option(Storage storage, void* member, const OptionValue& value) {
  const auto integer = static_cast<int>(value.number);
  const std::optional<std::uint8_t> small = static_cast<std::uint8_t>(integer);
  switch (storage) {
    case Storage::integer:
      std::memcpy(member, &integer, sizeof integer);
      break;
    case Storage::small:
      *static_cast<std::uint8_t*>(member) = static_cast<std::uint8_t>(integer);
      break;
    case Storage::number:
      *static_cast<double*>(member) = value.number;
      break;
    case Storage::optional_integer:
      *static_cast<std::optional<int>*>(member) = integer;
      break;
    case Storage::optional_small:
      std::memcpy(member, &small, sizeof small);
      break;
    case Storage::optional_number:
      *static_cast<std::optional<double>*>(member) = value.number;
      break;
    case Storage::list: {
      auto& copy = *static_cast<Buffer<double>*>(member);
      if (Status s = copy.allocate(value.list.size()); !s) return s;
      std::copy(value.list.begin(), value.list.end(), copy.data());
      break;
    }
    case Storage::table: {
      auto copy =
          Table::copy(value.table, {value.shape.data(), static_cast<std::size_t>(value.rank)});
      if (!copy) return copy.error();
      *static_cast<Table*>(member) = std::move(*copy);
      break;
    }
  }
  return {};
}

Status decode_options(Rules rules, void* options, const OptionBag& bag) {
  OptionRule f;
  for (const auto& [name, value] : bag.entries()) {
    if (!find(rules, name, f))
      return fault(Errc::unknown_option, name, "an option of this encoding");
    if (value.kind != wanted_kind(f.kind))
      return fault(Errc::wrong_type, f, kind_phrase(f.kind),
                   std::numeric_limits<double>::quiet_NaN());
    if (!is_array(f.kind))
      if (Status s = assign_scalar(f, options, value); !s) return s;
  }
  RuleReader reader(rules);
  while (reader.next(f))
    if (f.is_required && find(bag, f.name) == nullptr)
      return fault(Errc::missing_option, f, "given", std::numeric_limits<double>::quiet_NaN());
  // Shapes may depend on any scalar option, wherever in the bag it stood.
  for (const auto& [name, value] : bag.entries()) {
    find(rules, name, f);
    if (is_array(f.kind))
      if (Status s = assign_array(rules, f, options, value, bag); !s) return s;
  }
  return {};
}

}  // namespace posenc

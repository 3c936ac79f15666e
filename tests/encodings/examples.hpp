// SPDX-License-Identifier: Apache-2.0
/// An example of any registered encoding, built from what its fields say and nothing else.
#pragma once

#include <map>
#include <string>

#include "posenc/encodings/registry.hpp"
#include "reference/options.hpp"

namespace reference {

/// Scalar options by name, used wherever an encoding has an option of that name.
using Wishes = std::map<std::string, double, std::less<>>;

/// The number that an option takes: the wish, else the example, else the default.
template <class E>
double number_of(std::string_view name, const Wishes& wishes) {
  const auto wish = wishes.find(name);
  if (wish != wishes.end()) return wish->second;
  const typename E::Options defaults{};
  for (const posenc::Field& f : E::fields)
    if (f.name == name) return f.is_required ? f.example_value : f.read(&defaults);
  return std::numeric_limits<double>::quiet_NaN();
}

/// What an extent comes to.
template <class E>
Index extent_of(const posenc::Dim& d, const Wishes& wishes) {
  if (d.option.empty()) {
    const auto free = wishes.find(d.free);
    if (d.free.empty()) return d.plus;
    return static_cast<Index>(free != wishes.end() ? free->second : d.example);
  }
  double value = number_of<E>(d.option, wishes);
  for (const posenc::Field& f : E::fields)
    if (f.name == d.option && std::isnan(value)) value = number_of<E>(f.default_from, wishes);
  return static_cast<Index>(value) * d.times / d.over + d.plus;
}

/// Whether an example has this table: all do, unless some stand in for others.
template <class E>
bool wants_table(const posenc::Field& f) {
  for (const posenc::Field& other : E::fields)
    if (other.is_usual) return f.is_required || f.is_usual;
  return true;
}

/// Every required option, every wished one, and every table, filled at random.
template <class E>
Options example_of(const Wishes& wishes = {}) {
  Options options;
  Random random(E::spec.id.size() * 31 + static_cast<std::uint64_t>(E::spec.id[0]));
  for (const posenc::Field& f : E::fields) {
    if (f.kind == posenc::OptionKind::table) {
      if (!wants_table<E>(f)) continue;
      std::array<Index, 3> shape{};
      Index count = 1;
      for (std::size_t axis = 0; axis < static_cast<std::size_t>(f.rank); ++axis)
        count *= shape[axis] = extent_of<E>(f.shape[axis], wishes);
      // Larger than a usual initialisation, so that the term is seen against the noise.
      options.table(f.name, random.floats(count, 0.5), shape, f.rank);
    } else if (f.is_required || wishes.contains(f.name)) {
      const double value = number_of<E>(f.name, wishes);
      if (f.kind == posenc::OptionKind::integer || f.kind == posenc::OptionKind::number)
        options.number(f.name, value);
      if (f.kind == posenc::OptionKind::boolean) options.flag(f.name, value != 0);
      if (f.kind == posenc::OptionKind::choice || f.kind == posenc::OptionKind::names)
        options.text(f.name, f.choices[static_cast<std::size_t>(value)]);
      if (f.kind == posenc::OptionKind::list) {
        Array<double> values(extent_of<E>(f.shape[0], wishes), value);
        std::copy(f.example_list.begin(), f.example_list.end(), values.data());
        options.list(f.name, std::move(values));
      }
    }
  }
  return options;
}

/// Positions at which every encoding of that kind is defined, first among them `first`.
inline Array<double> places(posenc::PositionKind kind, Index n, double first) {
  return counted(n, kind == posenc::PositionKind::index ? std::abs(first) : first);
}

/// Calls f.template operator()<E>() for every registered encoding.
template <class F>
void for_each_encoding(F&& f) {
  posenc::any_encoding(posenc::Encodings{}, [&]<class E>() {
    SCOPED_TRACE(std::string(E::spec.id));
    f.template operator()<E>();
    return false;
  });
}

}  // namespace reference

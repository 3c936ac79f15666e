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

/// Every required option, every wished one, and every table, filled at random.
template <class E>
Options example_of(const Wishes& wishes = {}) {
  Options options;
  Random random(E::spec.id.size() * 31 + static_cast<std::uint64_t>(E::spec.id[0]));
  for (const posenc::Field& f : E::fields) {
    if (f.kind == posenc::OptionKind::table) {
      std::array<Index, 3> shape{};
      Index count = 1;
      for (std::size_t axis = 0; axis < static_cast<std::size_t>(f.rank); ++axis) {
        const posenc::Dim& d = f.shape[axis];
        const auto free = wishes.find(d.free);
        shape[axis] = !d.option.empty()
                          ? static_cast<Index>(number_of<E>(d.option, wishes)) * d.times + d.plus
                      : free != wishes.end() ? static_cast<Index>(free->second)
                                             : static_cast<Index>(d.example);
        count *= shape[axis];
      }
      // Larger than a usual initialisation, so that the term is seen against the noise.
      options.table(f.name, random.floats(count, 0.5), shape, f.rank);
    } else if (f.is_required || wishes.contains(f.name)) {
      const double value = number_of<E>(f.name, wishes);
      if (f.kind == posenc::OptionKind::integer || f.kind == posenc::OptionKind::number)
        options.number(f.name, value);
      if (f.kind == posenc::OptionKind::boolean) options.flag(f.name, value != 0);
      if (f.kind == posenc::OptionKind::choice)
        options.text(f.name, f.choices[static_cast<std::size_t>(value)]);
      if (f.kind == posenc::OptionKind::list)
        options.list(
            f.name,
            Array<double>(static_cast<Index>(number_of<E>(f.shape[0].option, wishes)), value));
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

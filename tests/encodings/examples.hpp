// SPDX-License-Identifier: Apache-2.0
/// An example of any registered encoding, built from what its fields say and nothing else. Types
/// are erased at once, so that a generic test compiles once and not once per encoding.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "posenc/encodings/registry.hpp"
#include "reference/options.hpp"
#include "support/at_width.hpp"

namespace reference {

using posenc::Field;
using posenc::OptionKind;

/// One entry of the registry.
struct Registered {
  const posenc::Spec& spec;
  std::span<const Field> fields;
  double (*initial)(const Field&);  ///< the default value of a field; NaN where there is none
};

inline std::vector<Registered> registered() {
  std::vector<Registered> all;
  posenc::any_encoding(posenc::Encodings{}, [&]<class E>() {
    all.push_back({E::spec, E::fields, [](const Field& f) {
                     const typename E::Options defaults{};
                     return f.read(&defaults);
                   }});
    return false;
  });
  return all;
}

/// Scalar options by name, used wherever an encoding has an option of that name.
using Wishes = std::map<std::string, double, std::less<>>;

/// The number that an option takes: the wish, else the example, else the default.
inline double number_of(const Registered& r, std::string_view name, const Wishes& wishes) {
  const auto wish = wishes.find(name);
  if (wish != wishes.end()) return wish->second;
  for (const Field& f : r.fields)
    if (f.name == name) {
      const double own = f.is_required ? f.example_value : r.initial(f);
      const bool elsewhere = std::isnan(own) && !f.default_from.empty();
      return elsewhere ? number_of(r, f.default_from, wishes) : own;
    }
  return std::numeric_limits<double>::quiet_NaN();
}

/// What an extent comes to.
inline Index extent_of(const Registered& r, const posenc::Dim& d, const Wishes& wishes) {
  if (!d.option.empty())
    return static_cast<Index>(number_of(r, d.option, wishes)) * d.times / d.over + d.plus;
  if (d.free.empty()) return d.plus;
  const auto wish = wishes.find(d.free);
  return wish != wishes.end() ? static_cast<Index>(wish->second) : static_cast<Index>(d.example);
}

/// The example of a list, repeated or cut to the length it must have.
inline Array<double> list_of(const Field& f, Index length) {
  Array<double> list(length, f.example_value);
  const Index given = std::min(length, static_cast<Index>(f.example_list.size()));
  std::copy_n(f.example_list.begin(), given, list.data());
  return list;
}

/// Whether an example has this table: all do, unless some stand in for others.
inline bool wants_table(const Registered& r, const Field& f) {
  for (const Field& other : r.fields)
    if (other.is_usual) return f.is_required || f.is_usual;
  return true;
}

/// Every required option, every wished one, and every table, filled at random.
inline Options example_of(const Registered& r, const Wishes& wishes = {}) {
  Options options;
  Random random(r.spec.id.size() * 31 + static_cast<std::uint64_t>(r.spec.id[0]));
  for (const Field& f : r.fields) {
    if (f.kind == OptionKind::table) {
      if (!wants_table(r, f)) continue;
      std::array<Index, 3> shape{};
      Index count = 1;
      for (std::size_t axis = 0; axis < static_cast<std::size_t>(f.rank); ++axis)
        count *= shape[axis] = extent_of(r, f.shape[axis], wishes);
      // Larger than a usual initialisation, so that the term is seen against the noise.
      options.table(f.name, random.floats(count, 0.5), shape, f.rank);
      continue;
    }
    if (!f.is_required && !wishes.contains(f.name)) continue;
    const double value = number_of(r, f.name, wishes);
    switch (f.kind) {
      case OptionKind::boolean:
        options.flag(f.name, value != 0);
        break;
      case OptionKind::choice:
      case OptionKind::names:
        options.text(f.name, f.choices[static_cast<std::size_t>(value)]);
        break;
      case OptionKind::list:
        options.list(f.name, list_of(f, extent_of(r, f.shape[0], wishes)));
        break;
      default:
        options.number(f.name, value);
    }
  }
  return options;
}

/// The example itself, which must come about.
template <class Arch = xsimd::default_arch>
posenc::Encoding made_example(const Registered& r, const Wishes& wishes = {}) {
  auto made = make_encoding<Arch>(r.spec.id, example_of(r, wishes).bag());
  EXPECT_TRUE(succeeds(made)) << r.spec.id;
  return std::move(*made);
}

}  // namespace reference

// SPDX-License-Identifier: Apache-2.0
/// The example of an encoding, each of whose options can be moved a little.
#pragma once

#include <span>
#include <string>

#include "encodings/examples.hpp"
#include "reference/errors.hpp"

namespace reference {

using posenc::Encoding;
using posenc::Field;
using posenc::OptionBag;
using posenc::OptionKind;
using posenc::OptionValue;

/// What the examples are made with, unless they have several axes.
inline const Wishes small_wishes{
    {"heads", 4}, {"headDim", 6}, {"valueDim", 5}, {"reach", 4}, {"maxPositions", 6}};

/// Options that can be moved, and the encoding made from them.
struct Movable {
  const Registered& registered;
  Wishes numbers;
  Options options;

  Movable(const Registered& r, const Wishes& extra)
      : registered(r), numbers(r.spec.axes == 1 ? small_wishes : Wishes{}) {
    for (const auto& [name, value] : extra) numbers[name] = value;
    options = example_of(r, numbers);
    // Lists without an example hold zeros, where nothing moves.
    for (const auto& entry : options.bag().entries())
      for (double& x : list(entry.name)) x = x == 0 ? 0.3 : x;
  }
  const OptionBag::Entry* find(std::string_view name) const {
    for (const auto& entry : options.bag().entries())
      if (entry.name == name) return &entry;
    return nullptr;
  }
  std::span<double> list(std::string_view name) const {
    const auto* entry = find(name);
    if (entry == nullptr || entry->value.kind != OptionValue::Kind::list) return {};
    return {const_cast<double*>(entry->value.list.data()), entry->value.list.size()};
  }
  Index size(std::string_view name) const {
    const auto* entry = find(name);
    if (entry == nullptr) return is_number(name) ? 1 : 0;
    if (entry->value.kind == OptionValue::Kind::number) return 1;
    if (entry->value.kind == OptionValue::Kind::list) return static_cast<Index>(list(name).size());
    Index count = 1;
    for (std::size_t a = 0; a < static_cast<std::size_t>(entry->value.rank); ++a)
      count *= entry->value.shape[a];
    return count;
  }
  bool is_number(std::string_view name) const {
    for (const Field& f : registered.fields)
      if (f.name == name) return f.kind == OptionKind::number;
    return false;
  }
  /// option += step * direction
  void move(std::string_view name, const Array<float>& direction, double step) {
    if (is_number(name)) {
      numbers[std::string(name)] = number_of(registered, name, numbers) + step * direction[0];
      options = example_of(registered, numbers);
      return;
    }
    const auto* entry = find(name);
    for (Index i = 0; i < direction.size(); ++i)
      if (entry->value.kind == OptionValue::Kind::list)
        list(name)[static_cast<std::size_t>(i)] += step * direction[i];
      else
        const_cast<float*>(entry->value.table)[i] += static_cast<float>(step) * direction[i];
  }
  Encoding make() const {
    auto made = make_encoding(registered.spec.id, options.bag());
    EXPECT_TRUE(succeeds(made)) << registered.spec.id;
    return std::move(*made);
  }
};

/// Options other than those of the example, which have a way of their own.
struct Variant {
  std::string_view id;
  Wishes extra;
};
inline const std::vector<Variant>& variants() {
  static const std::vector<Variant> all{
      {"alibi", {{"slopes", 1}}},
      {"alibi", {{"slopes", 1}, {"form", 2}, {"slopeScale", 0.5}}},
      {"t5", {{"bidirectional", 0}}},
      {"kerple", {{"kind", 1}}},
      {"kerple", {{"symmetric", 1}, {"w1", 1}, {"w2", 1}}},
      {"cope", {{"scaleLogits", 0}}},
      {"fire", {{"l", 20}, {"multiplier", -0.8}, {"c", -0.3}}},
      {"forgetting", {{"form", 1}}},
      {"deberta", {{"buckets", 6}, {"maxDistance", 12}}},
      {"dynamic-bias", {{"logDistance", 1}, {"activation", 1}}},
      {"learned", {}},
      {"transformer-xl", {{"clamp", 5}}}};
  return all;
}

}  // namespace reference

// SPDX-License-Identifier: Apache-2.0
/// For tests and benches that name the instruction set; everyone else calls make_encoding.
#pragma once

#include <algorithm>
#include <cstddef>

#include "posenc/core/option_rules.hpp"
#include "posenc/encodings/registry.hpp"

namespace posenc {

/// How one encoding comes about, its types erased: what is the same for all of them, choosing,
/// decoding and reporting, is compiled once and not inlined into one function for each.
struct Recipe {
  std::string_view id;
  std::span<const std::uint8_t> rules;
  void (*begin)(void* options);
  Result<Encoding> (*finish)(void* options);
  void (*end)(void* options);
};

template <class Arch, class E>
inline constexpr Recipe recipe_of{
    .id = E::spec.id,
    .rules = option_rules<E>,
    .begin = [](void* options) { new (options) typename E::Options(); },
    .finish = [](void* options) -> Result<Encoding> {
      return Encoding::make<Arch, E>(std::move(*static_cast<typename E::Options*>(options)));
    },
    .end =
        [](void* options) {
          using Options = typename E::Options;
          static_cast<Options*>(options)->~Options();
        }};

template <class Arch, class... E>
constexpr std::array<Recipe, sizeof...(E)> recipes_of(TypeList<E...>) {
  return {recipe_of<Arch, E>...};
}
template <class... E>
constexpr std::size_t largest_options(TypeList<E...>) {
  return std::max({sizeof(typename E::Options)...});
}

template <class Arch>
Result<Encoding> make_encoding_for(std::string_view id, const OptionBag& bag) {
  static constexpr auto recipes = recipes_of<Arch>(Encodings{});
  const auto recipe =
      std::find_if(recipes.begin(), recipes.end(), [&](const Recipe& r) { return r.id == id; });
  if (recipe == recipes.end()) return fault(Errc::unknown_encoding, id, "the id of an encoding");
  alignas(std::max_align_t) std::byte options[largest_options(Encodings{})];
  recipe->begin(options);
  const Status decoded = decode_options(recipe->rules, options, bag);
  Result<Encoding> made = decoded ? recipe->finish(options) : Result<Encoding>(decoded.error());
  recipe->end(options);
  return made;
}

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
/// The definitions behind at_width.hpp; each emulated width includes them in a file of its own.
#pragma once

#include "posenc/attention/sequences.hpp"
#include "posenc/encodings/make_encoding_for.hpp"
#include "support/at_width.hpp"

namespace reference {

template <class Arch>
posenc::Status attend_at(const posenc::AttentionArguments& arguments) {
  if (posenc::Status checked = posenc::check(arguments); !checked) return checked;
  return posenc::attend<Arch>(arguments);
}

template <class Arch>
posenc::Result<posenc::Encoding> make_encoding(std::string_view id, const posenc::OptionBag& bag) {
  return posenc::make_encoding_for<Arch>(id, bag);
}

}  // namespace reference

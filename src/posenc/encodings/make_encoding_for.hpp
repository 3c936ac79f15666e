// SPDX-License-Identifier: Apache-2.0
/// For tests and benches that name the instruction set; everyone else calls make_encoding.
#pragma once

#include "posenc/encodings/registry.hpp"

namespace posenc {

template <class Arch>
Result<Encoding> make_encoding_for(std::string_view id, const OptionBag& bag) {
  Result<Encoding> made =
      Error{.code = Errc::unknown_encoding, .field = id, .expected = "the id of an encoding"};
  any_encoding(Encodings{}, [&]<class E>() {
    if (E::spec.id != id) return false;
    typename E::Options options;
    if (Status s = decode_options(option_rules<E>, &options, bag); !s) {
      made = s.error();
    } else if (Result<E> encoding = E::make(std::move(options)); !encoding) {
      made = encoding.error();
    } else {
      made = Encoding::of<Arch>(std::move(*encoding));
    }
    return true;
  });
  return made;
}

}  // namespace posenc

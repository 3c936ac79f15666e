// SPDX-License-Identifier: Apache-2.0
/// From a public name and a bag of options to an encoding. Includes none of them: their headers are
/// half of what a file that only makes encodings would have to read.
#pragma once

#include "posenc/core/encoding.hpp"
#include "posenc/core/option_bag.hpp"

namespace posenc {

/// Errors: UNKNOWN_ENCODING; whatever the decoder finds in the options; whatever the encoding itself
/// requires of them together; OUT_OF_MEMORY.
Result<Encoding> make_encoding(std::string_view id, const OptionBag& bag);

}  // namespace posenc

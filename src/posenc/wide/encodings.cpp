// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/make_encoding_for.hpp"
#include "posenc/wide/kernels.hpp"

namespace posenc::POSENC_WIDE {

Result<Encoding> make_encoding(std::string_view id, const OptionBag& bag) {
  return make_encoding_for<Arch>(id, bag);
}

}  // namespace posenc::POSENC_WIDE

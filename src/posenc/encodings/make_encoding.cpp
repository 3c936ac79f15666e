// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/make_encoding.hpp"

#include "posenc/core/wide_kernels.hpp"
#include "posenc/encodings/make_encoding_for.hpp"

namespace posenc {

Result<Encoding> make_encoding(std::string_view id, const OptionBag& bag) {
  if (const WideKernels* wide = wide_kernels()) return wide->make_encoding(id, bag);
  return make_encoding_for<xsimd::default_arch>(id, bag);
}

}  // namespace posenc

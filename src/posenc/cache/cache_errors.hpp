// SPDX-License-Identifier: Apache-2.0
/// How a cache says that a number is not what it can be.
#pragma once

#include "posenc/core/result.hpp"
#include "posenc/core/view.hpp"

namespace posenc {

inline Error wrong_number(Errc code, std::string_view field, std::string_view expected,
                          Index received) {
  return {.code = code,
          .field = field,
          .expected = expected,
          .received = static_cast<double>(received)};
}

}  // namespace posenc

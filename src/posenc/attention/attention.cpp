// SPDX-License-Identifier: Apache-2.0
#include "posenc/attention/sequences.hpp"

namespace posenc {

Status attention(const AttentionArguments& arguments) {
  if (Status checked = check(arguments); !checked) return checked;
  return attend<xsimd::default_arch>(arguments);
}

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
#include "posenc/attention/attend.hpp"

namespace posenc {

Status attention(const AttentionArguments& arguments) {
  if (Status checked = check(arguments); !checked) return checked;
  return Attend<xsimd::default_arch>(arguments).run();
}

}  // namespace posenc

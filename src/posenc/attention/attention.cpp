// SPDX-License-Identifier: Apache-2.0
#include "posenc/attention/sequences.hpp"
#include "posenc/core/wide_kernels.hpp"

namespace posenc {

Status attention(const AttentionArguments& arguments) {
  if (Status checked = check(arguments); !checked) return checked;
  // Shapes without elements may name any number of heads and rows, which need not be walked.
  const AttentionShape& s = arguments.shape;
  const bool silent = arguments.weights == nullptr && arguments.log_sum_exp == nullptr;
  if (s.batch == 0 || s.queries == 0 || (s.value_dim == 0 && silent)) {
    arguments.ready();
    return {};
  }
  if (const WideKernels* wide = wide_kernels()) return wide->attend(arguments);
  return attend<xsimd::default_arch>(arguments);
}

}  // namespace posenc

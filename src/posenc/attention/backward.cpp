// SPDX-License-Identifier: Apache-2.0
#include "posenc/attention/backward_sequences.hpp"
#include "posenc/core/wide_kernels.hpp"

namespace posenc {

Status attention_backward(const BackwardArguments& arguments) {
  if (Status checked = check(arguments.forward); !checked) return checked;
  if (arguments.forward.paged_k || arguments.forward.paged_v || arguments.forward.keys_rotated)
    return fault(Errc::unsupported, "k", "a tensor and not a cache");
  for (const Encoding* e : arguments.forward.encodings)
    if (!e->differentiable())
      return fault(Errc::unsupported, e->traits().id, "an encoding with a way back");
  if (const WideKernels* wide = wide_kernels()) return wide->attend_backward(arguments);
  return attend_backward<xsimd::default_arch>(arguments);
}

}  // namespace posenc

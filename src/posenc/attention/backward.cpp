// SPDX-License-Identifier: Apache-2.0
#include "posenc/attention/backward_sequences.hpp"

namespace posenc {

Status attention_backward(const BackwardArguments& arguments) {
  if (Status checked = check(arguments.forward); !checked) return checked;
  for (const auto& [norm, field] :
       {std::pair{arguments.forward.q_norm, "qNorm"}, {arguments.forward.k_norm, "kNorm"}})
    if (norm.kind != HeadNorm::Kind::none)
      return Error{.code = Errc::unsupported,
                   .field = field,
                   .expected = "left out: normalise q and k before, and take that step back after"};
  for (const Encoding* e : arguments.forward.encodings)
    if (!e->differentiable())
      return Error{.code = Errc::unsupported,
                   .field = e->traits().id,
                   .expected = "an encoding with a way back"};
  return attend_backward<xsimd::default_arch>(arguments);
}

}  // namespace posenc

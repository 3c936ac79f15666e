// SPDX-License-Identifier: Apache-2.0
#include "posenc/attention/backward_sequences.hpp"
#include "posenc/wide/kernels.hpp"

namespace posenc::POSENC_WIDE {

Status attend_backward(const BackwardArguments& arguments) {
  return posenc::attend_backward<Arch>(arguments);
}

}  // namespace posenc::POSENC_WIDE

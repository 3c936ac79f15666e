// SPDX-License-Identifier: Apache-2.0
#include "posenc/attention/sequences.hpp"
#include "posenc/core/rotation.hpp"
#include "posenc/wide/kernels.hpp"

namespace posenc::POSENC_WIDE {

Status attend(const AttentionArguments& arguments) { return posenc::attend<Arch>(arguments); }

const WideKernels kernels{
    .attend = attend,
    .attend_backward = attend_backward,
    .make_encoding = make_encoding,
    .rotate_rows = [](const Rotation& r, View2<const float> from, View2<float> to,
                      View2<const float> table,
                      bool inverse) { posenc::rotate_rows<Arch>(r, from, to, table, inverse); }};

}  // namespace posenc::POSENC_WIDE

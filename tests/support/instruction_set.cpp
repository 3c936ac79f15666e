// SPDX-License-Identifier: Apache-2.0
// Tests begin with the kernels that round as every build does, since many compare bits with what a test computes itself. With
// POSENC_ARCH in the environment they run on the wider ones.
#include "posenc/core/instruction_set.hpp"

#include <cstdlib>

namespace {

[[maybe_unused]] const bool begun = std::getenv("POSENC_ARCH") != nullptr ||
                                    posenc::use_instruction_set(posenc::InstructionSet::baseline);

}  // namespace

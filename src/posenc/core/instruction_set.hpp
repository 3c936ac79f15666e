// SPDX-License-Identifier: Apache-2.0
/// Which of the instruction sets that the library was compiled for is in use.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace posenc {

/// `baseline` is what the compiler was told to build for: SSE2 on x86-64. The others fuse a
/// multiplication and an addition into one rounding, so their results differ from it in last bits.
enum class InstructionSet : std::uint8_t { baseline, avx2, avx512 };
inline constexpr std::array<std::string_view, 3> instruction_set_names{"baseline", "avx2",
                                                                       "avx512"};

/// The widest that this library has kernels for and this machine runs, or the one that the
/// environment variable POSENC_ARCH names; the baseline if that name is unknown or does not run here.
/// Chosen once, at the first call.
InstructionSet instruction_set();

/// Uses another from now on; encodings made before keep theirs. False, and nothing changes, where
/// there are no such kernels or the machine does not run them. Not while another thread computes.
bool use_instruction_set(InstructionSet wanted);

}  // namespace posenc

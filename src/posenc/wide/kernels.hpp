// SPDX-License-Identifier: Apache-2.0
/// The kernels of one instruction set: the files of this folder are compiled once for each, with its
/// flags and with POSENC_WIDE as the name of its namespace. cmake/dispatch.cmake says how they are
/// kept from reaching code that must run everywhere.
#pragma once

#include <xsimd/xsimd.hpp>

#include "posenc/core/wide_kernels.hpp"

namespace posenc::POSENC_WIDE {

/// As wide as the flags of this file allow.
using Arch = xsimd::default_arch;

Status attend(const AttentionArguments& arguments);
Status attend_backward(const BackwardArguments& arguments);
Result<Encoding> make_encoding(std::string_view id, const OptionBag& bag);

extern const WideKernels kernels;

}  // namespace posenc::POSENC_WIDE

// SPDX-License-Identifier: Apache-2.0
/// What tests at every width have in common, compiled once for each: instantiated in every test that
/// uses it, attention and the encodings took nine tenths of the time to build the tests.
#pragma once

#include <xsimd/xsimd.hpp>

#include "posenc/attention/arguments.hpp"
#include "posenc/encodings/make_encoding.hpp"

namespace reference {

/// Attention at the width of Arch, arguments checked. Defined for the widths of tests/arches.hpp.
template <class Arch>
posenc::Status attend_at(const posenc::AttentionArguments& arguments);

/// A registered encoding whose sites work at the width of Arch.
template <class Arch>
posenc::Result<posenc::Encoding> make_encoding(std::string_view id, const posenc::OptionBag& bag);

// This machine's own width is the library itself, as users link it.
template <>
inline posenc::Status attend_at<xsimd::default_arch>(const posenc::AttentionArguments& arguments) {
  return posenc::attention(arguments);
}
template <>
inline posenc::Result<posenc::Encoding> make_encoding<xsimd::default_arch>(
    std::string_view id, const posenc::OptionBag& bag) {
  return posenc::make_encoding(id, bag);
}

}  // namespace reference

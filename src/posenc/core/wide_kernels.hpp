// SPDX-License-Identifier: Apache-2.0
/// The kernels compiled once more for each wider instruction set, as tables of functions.
#pragma once

#include <string_view>

#include "posenc/core/result.hpp"
#include "posenc/core/view.hpp"

namespace posenc {

struct AttentionArguments;
struct BackwardArguments;
struct Rotation;
class Encoding;
class OptionBag;

/// What depends on the width of vectors and takes long enough to matter.
struct WideKernels {
  Status (*attend)(const AttentionArguments&);
  Status (*attend_backward)(const BackwardArguments&);
  Result<Encoding> (*make_encoding)(std::string_view, const OptionBag&);
  void (*rotate_rows)(const Rotation&, View2<const float>, View2<float>, View2<const float>,
                      bool inverse);
};

/// Those of the instruction set in use; null: the caller's own, compiled with the rest.
#ifdef POSENC_DISPATCH
const WideKernels* wide_kernels();
#else
constexpr const WideKernels* wide_kernels() { return nullptr; }
#endif

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
// Which build this is. A file of its own: the rest of the boundary is compiled once for both.
#include <emscripten/bind.h>

#include "posenc/core/machine.hpp"

namespace {
bool fuses() { return posenc::fuses; }
}  // namespace

EMSCRIPTEN_BINDINGS(posenc_build) { emscripten::function("fuses", &fuses); }

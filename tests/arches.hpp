// SPDX-License-Identifier: Apache-2.0
/// The vector widths that kernels are tested at, all in one binary: this machine's, and two that
/// xsimd emulates. Results may differ in the last bit between them, never within one.
#pragma once

#include <gtest/gtest.h>

#include <xsimd/xsimd.hpp>

#include "posenc/core/lanes.hpp"
#include "reference/numbers.hpp"

// Emulated 128 bits have the four lanes of SSE2 and of WebAssembly, hence the same loops, tails and
// addresses. What they add is arithmetic without intrinsics, and one build is enough for that:
// elsewhere they took a third of the time and could find nothing new.
#if defined(POSENC_FEWER_WIDTHS)
using Arches = ::testing::Types<xsimd::default_arch, xsimd::emulated<256>>;
#else
using Arches = ::testing::Types<xsimd::default_arch, xsimd::emulated<128>, xsimd::emulated<256>>;
#endif

/// Fixture of a suite that runs at every width.
template <class A>
class AtEveryWidth : public ::testing::Test {
 protected:
  using Arch = A;
  static constexpr posenc::Index lanes = posenc::lanes<A>;
  /// Whole vectors, their tails, and one element more.
  static constexpr posenc::Index most = 3 * lanes + 1;
};

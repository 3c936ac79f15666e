// SPDX-License-Identifier: Apache-2.0
/// Numbers to compute with: the same ones at every run.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "posenc/posenc.hpp"

namespace bench {

using posenc::Index;

/// Sums of four uniform numbers, of mean 0 and standard deviation 1.
inline std::vector<float> numbers(Index count, std::uint64_t seed) {
  std::vector<float> made(static_cast<std::size_t>(count));
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (float& x : made) {
    double sum = 0;
    for (int i = 0; i < 4; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      sum += static_cast<double>(state >> 40) * 0x1p-24 - 0.5;
    }
    x = static_cast<float>(sum * 1.7320508);
  }
  return made;
}

/// An encoding that must exist, or the bench is wrong.
inline posenc::Encoding encoding(std::string_view id, const posenc::OptionBag& options) {
  auto made = posenc::make_encoding(id, options);
  if (!made) std::abort();
  return std::move(*made);
}

}  // namespace bench

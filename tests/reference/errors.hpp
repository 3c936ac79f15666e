// SPDX-License-Identifier: Apache-2.0
/// Expectations about errors: the code and the field, both.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "posenc/core/memory.hpp"
#include "posenc/core/result.hpp"

namespace reference {

inline std::string describe(const posenc::Error& error) {
  return std::string(posenc::info(error.code).name) + " in \"" +
         std::string(std::string_view(error.field)) + "\"";
}

/// Of a Status or a Result.
template <class Outcome>
::testing::AssertionResult succeeds(const Outcome& outcome) {
  if (outcome) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "failed with " << describe(outcome.error());
}

template <class Outcome>
::testing::AssertionResult fails_with(const Outcome& outcome, posenc::Errc code,
                                      std::string_view field) {
  if (outcome) return ::testing::AssertionFailure() << "succeeded";
  const posenc::Error& error = outcome.error();
  if (error.code == code && std::string_view(error.field) == field)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "failed with " << describe(error) << ", not "
                                       << posenc::info(code).name << " in \"" << field << '"';
}

/// While it lives, only `successes` further allocations of the library pass.
class AllocationsFailAfter {
 public:
  explicit AllocationsFailAfter(long successes) { posenc::fail_allocations_after(successes); }
  ~AllocationsFailAfter() { posenc::fail_allocations_after(-1); }
  AllocationsFailAfter(const AllocationsFailAfter&) = delete;
  AllocationsFailAfter& operator=(const AllocationsFailAfter&) = delete;
};

}  // namespace reference

namespace posenc {
inline bool operator==(const MemoryUse& a, const MemoryUse& b) {
  return a.bytes == b.bytes && a.blocks == b.blocks;
}
inline void PrintTo(Errc code, std::ostream* out) { *out << info(code).name; }
}  // namespace posenc

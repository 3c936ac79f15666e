// SPDX-License-Identifier: Apache-2.0
// How numbers from JavaScript become what the library takes, and errors what JavaScript reads.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "posenc/attention/arguments.hpp"
#include "posenc/cache/kv_cache.hpp"
#include "posenc/core/options.hpp"

using posenc::Encoding;
using posenc::Index;
using Address = std::uintptr_t;

/// Why the last call failed.
inline posenc::Error last_error;

/// One number of a block that JavaScript writes: whatever arithmetic type it is meant as.
struct Passed {
  double value;
  template <class T>
    requires std::is_arithmetic_v<T>
  operator T() const {  // NOLINT(google-explicit-constructor)
    return static_cast<T>(value);
  }
};

/// What a call is given beside a few numbers, and what a failure tells: in the order in which the
/// structures read it, which raw.ts lists too. Through Embind's objects each field had a name, a getter
/// and a setter, 2 KB of the module, and a crossing of its own.
inline std::array<Passed, 64> passed;
template <class Call>
const Call& passed_as() {
  static_assert(sizeof(Call) % sizeof(Passed) == 0 && sizeof(Call) <= sizeof passed);
  return *reinterpret_cast<const Call*>(passed.data());
}

template <class T>
T* at(Address address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr): that is what crosses
}
/// Where it is made a cache stays: moving it took half a kilobyte of the module.
using HeldCache = posenc::Result<posenc::KVCache>;
inline posenc::KVCache& cache(Address handle) { return **at<HeldCache>(handle); }
inline std::string_view text(Address address, int length) {
  return {at<const char>(address), static_cast<std::size_t>(length)};
}

/// 0 for success.
inline int report(const posenc::Status& status) {
  if (status) return 0;
  last_error = status.error();
  return 1;
}

template <class T>
posenc::Tensor4<T> tensor(Address data, int layout, int heads, int rows, int width) {
  return layout == 0 ? posenc::Tensor4<T>::bhnd(at<T>(data), heads, rows, width)
                     : posenc::Tensor4<T>::bnhd(at<T>(data), heads, rows, width);
}

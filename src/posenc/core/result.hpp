// SPDX-License-Identifier: Apache-2.0
/// Errors as values: what can go wrong, its public name and kind, and the Result that carries it.
/// One table serves C++, the manifest and, through it, the TypeScript error type.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace posenc {

enum class Errc : std::uint8_t {
  ok,
  not_finite,
  out_of_range,
  not_even,
  not_integer,
  wrong_type,
  missing_option,
  unknown_option,
  option_not_applicable,
  unknown_encoding,
  unsupported,
  position_out_of_table,
  heads_not_divisible,
  shape_mismatch,
  bad_shape,
  shape_overflow,
  wrong_dtype,
  detached,
  stale_view,
  bad_out,
  overlap,
  misaligned,
  bad_mask,
  not_on_cpu,
  not_a_config,
  unknown_rope_type,
  missing_key,
  conflict,
  too_complex,
  inconsistent,
  bad_header,
  bad_tensor,
  duplicate_name,
  unsupported_dtype,
  truncated,
  disposed,
  foreign_handle,
  reentrant,
  cache_stale,
  not_ready,
  instance_dead,
  worker_lost,
  out_of_memory,
  too_large,
  cache_full,
  already_loaded,
  no_wasm,
  no_simd,
  csp_blocked,
  fetch_blocked,
  fetch_failed,
  not_wasm,
  version_mismatch,
  compile_forbidden,
  trap,
  internal,
};

struct ErrcInfo {
  Errc code;
  std::string_view name;  ///< the `code` of a PosencError
  std::string_view kind;  ///< the `kind` of a PosencError
};

inline constexpr std::array errc_table{
    ErrcInfo{Errc::ok, "OK", "none"},
    ErrcInfo{Errc::not_finite, "NOT_FINITE", "argument"},
    ErrcInfo{Errc::out_of_range, "OUT_OF_RANGE", "argument"},
    ErrcInfo{Errc::not_even, "NOT_EVEN", "argument"},
    ErrcInfo{Errc::not_integer, "NOT_INTEGER", "argument"},
    ErrcInfo{Errc::wrong_type, "WRONG_TYPE", "argument"},
    ErrcInfo{Errc::missing_option, "MISSING_OPTION", "argument"},
    ErrcInfo{Errc::unknown_option, "UNKNOWN_OPTION", "argument"},
    ErrcInfo{Errc::option_not_applicable, "OPTION_NOT_APPLICABLE", "argument"},
    ErrcInfo{Errc::unknown_encoding, "UNKNOWN_ENCODING", "argument"},
    ErrcInfo{Errc::unsupported, "UNSUPPORTED", "argument"},
    ErrcInfo{Errc::position_out_of_table, "POSITION_OUT_OF_TABLE", "argument"},
    ErrcInfo{Errc::heads_not_divisible, "HEADS_NOT_DIVISIBLE", "argument"},
    ErrcInfo{Errc::shape_mismatch, "SHAPE_MISMATCH", "argument"},
    ErrcInfo{Errc::bad_shape, "BAD_SHAPE", "argument"},
    ErrcInfo{Errc::shape_overflow, "SHAPE_OVERFLOW", "argument"},
    ErrcInfo{Errc::wrong_dtype, "WRONG_DTYPE", "argument"},
    ErrcInfo{Errc::detached, "DETACHED", "argument"},
    ErrcInfo{Errc::stale_view, "STALE_VIEW", "argument"},
    ErrcInfo{Errc::bad_out, "BAD_OUT", "argument"},
    ErrcInfo{Errc::overlap, "OVERLAP", "argument"},
    ErrcInfo{Errc::misaligned, "MISALIGNED", "argument"},
    ErrcInfo{Errc::bad_mask, "BAD_MASK", "argument"},
    ErrcInfo{Errc::not_on_cpu, "NOT_ON_CPU", "argument"},
    ErrcInfo{Errc::not_a_config, "NOT_A_CONFIG", "config"},
    ErrcInfo{Errc::unknown_rope_type, "UNKNOWN_ROPE_TYPE", "config"},
    ErrcInfo{Errc::missing_key, "MISSING_KEY", "config"},
    ErrcInfo{Errc::conflict, "CONFLICT", "config"},
    ErrcInfo{Errc::too_complex, "TOO_COMPLEX", "config"},
    ErrcInfo{Errc::inconsistent, "INCONSISTENT", "config"},
    ErrcInfo{Errc::bad_header, "BAD_HEADER", "format"},
    ErrcInfo{Errc::bad_tensor, "BAD_TENSOR", "format"},
    ErrcInfo{Errc::duplicate_name, "DUPLICATE_NAME", "format"},
    ErrcInfo{Errc::unsupported_dtype, "UNSUPPORTED_DTYPE", "format"},
    ErrcInfo{Errc::truncated, "TRUNCATED", "format"},
    ErrcInfo{Errc::disposed, "DISPOSED", "state"},
    ErrcInfo{Errc::foreign_handle, "FOREIGN_HANDLE", "state"},
    ErrcInfo{Errc::reentrant, "REENTRANT", "state"},
    ErrcInfo{Errc::cache_stale, "CACHE_STALE", "state"},
    ErrcInfo{Errc::not_ready, "NOT_READY", "state"},
    ErrcInfo{Errc::instance_dead, "INSTANCE_DEAD", "state"},
    ErrcInfo{Errc::worker_lost, "WORKER_LOST", "state"},
    ErrcInfo{Errc::out_of_memory, "OUT_OF_MEMORY", "resource"},
    ErrcInfo{Errc::too_large, "TOO_LARGE", "resource"},
    ErrcInfo{Errc::cache_full, "CACHE_FULL", "resource"},
    ErrcInfo{Errc::already_loaded, "ALREADY_LOADED", "init"},
    ErrcInfo{Errc::no_wasm, "NO_WASM", "init"},
    ErrcInfo{Errc::no_simd, "NO_SIMD", "init"},
    ErrcInfo{Errc::csp_blocked, "CSP_BLOCKED", "init"},
    ErrcInfo{Errc::fetch_blocked, "FETCH_BLOCKED", "init"},
    ErrcInfo{Errc::fetch_failed, "FETCH_FAILED", "init"},
    ErrcInfo{Errc::not_wasm, "NOT_WASM", "init"},
    ErrcInfo{Errc::version_mismatch, "VERSION_MISMATCH", "init"},
    ErrcInfo{Errc::compile_forbidden, "COMPILE_FORBIDDEN", "init"},
    ErrcInfo{Errc::trap, "TRAP", "internal"},
    ErrcInfo{Errc::internal, "INTERNAL", "internal"},
};

static_assert(
    [] {
      for (std::size_t i = 0; i < errc_table.size(); ++i)
        if (static_cast<std::size_t>(errc_table[i].code) != i) return false;
      return true;
    }(),
    "errc_table must list every code in the order of the enum");

constexpr const ErrcInfo& info(Errc code) { return errc_table[static_cast<std::size_t>(code)]; }

struct Error {
  Errc code = Errc::internal;
  /// The option, tensor or argument at fault. Static text, except a name that nothing here knows:
  /// that one is the caller's own text, and lives as long as it.
  std::string_view field{};
  std::string_view expected{};  ///< a noun phrase: "an integer from 1 to 4096"; static storage
  double received = std::numeric_limits<double>::quiet_NaN();  ///< NaN when it was not a number
  double index = -1;  ///< of the offending element, -1 when there is none
  /// The allowed interval where there is one, else NaN.
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
};

inline constexpr Error no_error{.code = Errc::ok};

/// Success, or the reason why not.
class [[nodiscard]] Status {
 public:
  constexpr Status() : failed_(false) {}
  constexpr Status(const Error& error)  // NOLINT(google-explicit-constructor)
      : failed_(true), error_(error) {}
  constexpr Status(const Status& other) : failed_(other.failed_) {
    if (failed_) std::construct_at(&error_, other.error_);
  }
  constexpr Status& operator=(const Status& other) {
    failed_ = other.failed_;
    if (failed_) std::construct_at(&error_, other.error_);
    return *this;
  }
  constexpr explicit operator bool() const { return !failed_; }
  constexpr const Error& error() const { return failed_ ? error_ : no_error; }
  /// The same, but a failure is one of `field`, whose elements are counted from `first`.
  Status at(const char* field, std::ptrdiff_t first) const;

 private:
  bool failed_;
  // Only of a failure: an error's defaults are four numbers, which every success would have to store.
  union {
    Error error_;
  };
};

// Failures. Functions that are called, and texts by their address alone: written out where each of 150
// checks fails, the members of an error took 4 KB of the WebAssembly module.
Status fault(Errc code, const char* field, const char* expected);
Status fault(Errc code, std::string_view field, const char* expected);
Status fault(Errc code, const char* field, const char* expected, double received);
/// `index`: of the element that was received.
Status fault(Errc code, const char* field, const char* expected, double received, double index);
/// A count or an extent that is not what it can be.
Status wrong_number(Errc code, const char* field, const char* expected, std::ptrdiff_t received);
/// Not between low and high.
Status outside(Errc code, const char* field, const char* expected, double received, double low,
               double high);
Status outside(Errc code, const char* field, const char* expected, double received, double low,
               double high, double index);

/// A value, or the reason why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T&& value)  // NOLINT(google-explicit-constructor)
      : failed_(false), value_(std::move(value)) {}
  [[gnu::noinline]] Result(const Error& error)  // NOLINT(google-explicit-constructor)
      : failed_(true), error_(error) {}
  /// Of a failure.
  [[gnu::noinline]] Result(const Status& status)  // NOLINT(google-explicit-constructor)
      : Result(status.error()) {}
  Result(Result&& other) noexcept : failed_(other.failed_) {
    if (failed_)
      std::construct_at(&error_, other.error_);
    else
      std::construct_at(&value_, std::move(other.value_));
  }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  ~Result() {
    if (!failed_) value_.~T();
  }
  explicit operator bool() const { return !failed_; }
  T& operator*() { return value_; }
  const T& operator*() const { return value_; }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }
  const Error& error() const { return failed_ ? error_ : no_error; }

 private:
  bool failed_;  ///< first, so that what looks at it is the same code for every T
  // One or the other, as above.
  union {
    T value_;
    Error error_;
  };
};

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
// memcpy, memmove and memset with vectors. Linking for size, which makes the module 7 KB smaller to
// download, would bring versions that move one byte at a time.
#include <wasm_simd128.h>

#include <cstddef>
#include <cstdint>

namespace {

using Byte = unsigned char;
constexpr std::size_t vector = 16;

// What is left are 15 bytes at most. The compiler would unroll these loops and make vectors of them.
#define POSENC_FEW_TURNS _Pragma("clang loop vectorize(disable) unroll(disable)")

/// From the front; right for overlapping memory too where `d` is before `s`, since a vector is read
/// whole before it is written.
inline void copy_forwards(Byte* d, const Byte* s, std::size_t count) {
  for (; count >= vector; count -= vector, d += vector, s += vector)
    wasm_v128_store(d, wasm_v128_load(s));
  POSENC_FEW_TURNS
  for (; count > 0; --count) *d++ = *s++;
}

}  // namespace

extern "C" {

void* memcpy(void* __restrict to, const void* __restrict from, std::size_t count) {
  copy_forwards(static_cast<Byte*>(to), static_cast<const Byte*>(from), count);
  return to;
}

void* memmove(void* to, const void* from, std::size_t count) {
  auto* d = static_cast<Byte*>(to);
  const auto* s = static_cast<const Byte*>(from);
  // Backwards only where the front would overwrite what is still to be read.
  if (reinterpret_cast<std::uintptr_t>(d) - reinterpret_cast<std::uintptr_t>(s) >= count) {
    copy_forwards(d, s, count);
    return to;
  }
  for (; count >= vector; count -= vector)
    wasm_v128_store(d + count - vector, wasm_v128_load(s + count - vector));
  POSENC_FEW_TURNS
  while (count > 0) --count, d[count] = s[count];
  return to;
}

void* memset(void* to, int value, std::size_t count) {
  auto* d = static_cast<Byte*>(to);
  const v128_t filled = wasm_i8x16_splat(static_cast<std::int8_t>(value));
  for (; count >= vector; count -= vector, d += vector) wasm_v128_store(d, filled);
  POSENC_FEW_TURNS
  for (; count > 0; --count) *d++ = static_cast<Byte>(value);
  return to;
}

}  // extern "C"

// SPDX-License-Identifier: Apache-2.0
// Small stand-ins for what Embind pulls out of the standard libraries. Their own versions format
// messages: 14 KB of printf in a module whose whole attention kernel is 18 KB.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>

// Embind allocates objects of a few bytes; the library itself never uses operator new.
void* operator new(std::size_t bytes) {
  void* block = std::malloc(bytes);
  if (block == nullptr) __builtin_trap();
  return block;
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }

// Embind names a C++ type it was not told of by printing its address. Every type here is bound, and
// a test calls every function, so the name is never shown; the compiler picks either spelling.
extern "C" {
int siprintf(char* text, const char*, ...) {
  text[0] = '?';
  text[1] = 0;
  return 1;
}
int sprintf(char* text, const char*, ...) { return siprintf(text, ""); }
}

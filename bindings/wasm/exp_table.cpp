// SPDX-License-Identifier: Apache-2.0
// The table of exp and exp2 of Emscripten's libc, computed when the module starts: 2 KB that no
// compression makes smaller, and here 127 products. Names, layout and coefficients are those of musl
// (src/math/exp_data.h), whose functions take this as their own. Its entries are musl's to the bit but
// for what 2^(k/128) has beyond double precision: that is within 2^-100 of it, and the functions add it
// to numbers whose last bit is 2^-62 or more.
#include <array>
#include <bit>
#include <cstdint>

#include "pairs.hpp"

extern "C" {

struct ExpData {
  double invln2N = 0x1.71547652b82fep0 * 128, shift = 0x1.8p52, negln2hiN = -0x1.62e42fefa0000p-8,
         negln2loN = -0x1.cf79abc9e3b3ap-47;
  std::array<double, 4> poly{0x1.ffffffffffdbdp-2, 0x1.555555555543cp-3, 0x1.55555cf172b91p-5,
                             0x1.1111167a4d017p-7};
  double exp2_shift = 0x1.8p52 / 128;
  std::array<double, 5> exp2_poly{0x1.62e42fefa39efp-1, 0x1.ebfbdff82c424p-3, 0x1.c6b08d70cf4b5p-5,
                                  0x1.3b2abd24650ccp-7, 0x1.5d7e09b4e3a84p-10};
  /// For 2^(k/128) = h (1 + t): the bits of t, and those of h less k / 128 as exponent.
  struct {
    double t;
    std::uint64_t h;
  } tab[128]{};
} __exp_data;

__attribute__((constructor)) void posenc_fill_exp_table() {
  constexpr Pair root{0x1.0163da9fb3335p+0, 0x1.b61299ab8cdb7p-54};  // 2^(1/128)
  // Or the compiler would run this function itself and put what it makes into the module.
  volatile double one = 1;
  Pair power{one, 0};
  std::uint64_t less = 0;
  for (auto& entry : __exp_data.tab) {
    entry = {power.lo / power.hi, std::bit_cast<std::uint64_t>(power.hi) - less};
    less += std::uint64_t{1} << 45;
    power = power * root;
  }
}

}  // extern "C"

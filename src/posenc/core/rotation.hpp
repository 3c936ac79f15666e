// SPDX-License-Identifier: Apache-2.0
/// The only rotation kernel. Every rotary encoding, however it scales its frequencies, reduces to a
/// table of cosines and sines per position; what differs is how the table is filled.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "posenc/core/exp.hpp"
#include "posenc/core/lanes.hpp"

namespace posenc {

/// Which channels form a pair. Mixing the two up is the most common RoPE fault in the field: text
/// stays fluent and is wrong from the second token on.
///   half         [a0 a1 a2 | b0 b1 b2]   GPT-NeoX and every Hugging Face Llama port
///   interleaved  [a0 b0  a1 b1  a2 b2]   RoFormer, GPT-J, Meta's own Llama checkpoints
enum class Layout : std::uint8_t { half, interleaved };
inline constexpr std::array<std::string_view, 2> layout_names{"half", "interleaved"};

struct Rotation {
  Layout layout = Layout::half;
  Index pairs = 0;    ///< pairs that rotate; channels that belong to none pass through
  Index partner = 0;  ///< half layout: channels from a to b of a pair
  /// Half layout, and a row is nothing but its pairs: only a is given, b is made. The length of the
  /// pair is softplus(a), so that its direction says where the token stands and nothing else.
  bool polar = false;
  constexpr Index table_width() const { return 2 * pairs; }
  /// Channels by which a row grows.
  constexpr Index growth() const { return polar ? pairs : 0; }
};

namespace rotation_detail {

/// The lane order 1 0 3 2 …, spelled out because xsimd's generator helper changed its signature
/// between releases.
template <class Arch, std::size_t... I>
constexpr auto swap_neighbours(std::index_sequence<I...>) {
  return xsimd::batch_constant<std::uint32_t, Arch, static_cast<std::uint32_t>(I ^ 1u)...>{};
}

/// Rotates `lanes` interleaved pairs at x: y = x * (c c ..) + swap(x) * (-s s ..).
template <class Arch>
inline void rotate_interleaved(float* x, const float* cos, const float* sin,
                               xsimd::batch<float, Arch> sign) {
  using V = xsimd::batch<float, Arch>;
  constexpr auto swap = swap_neighbours<Arch>(std::make_index_sequence<V::size>{});
  const V c = V::load_unaligned(cos), s = V::load_unaligned(sin);
  const V low = V::load_unaligned(x), high = V::load_unaligned(x + lanes<Arch>);
  const V low_turned = xsimd::swizzle(low, swap) * (xsimd::zip_lo(s, s) * sign);
  const V high_turned = xsimd::swizzle(high, swap) * (xsimd::zip_hi(s, s) * sign);
  (low * xsimd::zip_lo(c, c) + low_turned).store_unaligned(x);
  (high * xsimd::zip_hi(c, c) + high_turned).store_unaligned(x + lanes<Arch>);
}

}  // namespace rotation_detail

/// Turns magnitudes into vectors at the angles of `table`: a' = softplus(a) cos, b' = softplus(a) sin.
template <class Arch>
void rotate_polar(const Rotation& r, View2<float> rows, View2<const float> table) {
  for (Index t = 0; t < rows.rows; ++t) {
    float *a = rows.row(t), *b = a + r.partner;
    const float *cos = table.row(t), *sin = cos + r.pairs;
    for_each_vector<Arch>(r.pairs, [&](Index i, auto io) {
      const auto length = softplus<Arch>(io.load(a + i));
      io.store(length * io.load(cos + i), a + i);
      io.store(length * io.load(sin + i), b + i);
    });
  }
}

/// The way back: turns the gradient of such vectors into that of `given`, in its first channels.
inline void rotate_polar_back(const Rotation& r, View2<const float> given, View2<float> gradient,
                              View2<const float> table) {
  for (Index t = 0; t < given.rows; ++t) {
    float *a = gradient.row(t), *b = a + r.partner;
    const float *cos = table.row(t), *sin = cos + r.pairs;
    for (Index i = 0; i < r.pairs; ++i) {
      const float along = a[i] * cos[i] + b[i] * sin[i];
      // The slope of softplus; a key that is hidden has no part in it, whatever it holds.
      a[i] = along == 0 ? 0.0f : along / (1 + std::exp(-given.row(t)[i]));
    }
  }
}

/// Rotates each row in place by its row of `table`: [cos of every pair | sin of every pair].
/// `inverse` negates the angle. a' = a cos - b sin, b' = b cos + a sin, rounded alike in both
/// layouts. A row of `rows` must have room for what it grows by; nothing undoes that growth.
template <class Arch>
void rotate_rows(const Rotation& r, View2<float> rows, View2<const float> table, bool inverse) {
  using V = xsimd::batch<float, Arch>;
  constexpr Index width = lanes<Arch>;
  if (r.polar) return rotate_polar<Arch>(r, rows, table);
  const float direction = inverse ? -1.0f : 1.0f;
  if (r.layout == Layout::half) {
    const V flip(direction);
    for (Index t = 0; t < rows.rows; ++t) {
      float *a = rows.row(t), *b = a + r.partner;
      const float *cos = table.row(t), *sin = cos + r.pairs;
      for_each_vector<Arch>(r.pairs, [&](Index i, auto io) {
        const V x = io.load(a + i), y = io.load(b + i);
        const V c = io.load(cos + i), s = io.load(sin + i) * flip;
        io.store(x * c - y * s, a + i);
        io.store(y * c + x * s, b + i);
      });
    }
    return;
  }
  alignas(V) float signs[static_cast<std::size_t>(width)];
  for (Index i = 0; i < width; ++i) signs[i] = i % 2 == 0 ? -direction : direction;
  const V sign = V::load_aligned(signs);
  const Index whole = r.pairs / width * width, rest = r.pairs - whole;
  for (Index t = 0; t < rows.rows; ++t) {
    float* x = rows.row(t);
    const float *cos = table.row(t), *sin = cos + r.pairs;
    for (Index i = 0; i < whole; i += width)
      rotation_detail::rotate_interleaved<Arch>(x + 2 * i, cos + i, sin + i, sign);
    if (rest > 0) {
      float xs[static_cast<std::size_t>(2 * width)] = {};
      float cs[static_cast<std::size_t>(width)] = {}, ss[static_cast<std::size_t>(width)] = {};
      std::copy_n(x + 2 * whole, 2 * rest, xs);
      std::copy_n(cos + whole, rest, cs);
      std::copy_n(sin + whole, rest, ss);
      rotation_detail::rotate_interleaved<Arch>(xs, cs, ss, sign);
      std::copy_n(xs, 2 * rest, x + 2 * whole);
    }
  }
}

}  // namespace posenc

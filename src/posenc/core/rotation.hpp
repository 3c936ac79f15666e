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
#include "posenc/core/powers.hpp"

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

/// Rotates `lanes` interleaved pairs from x to y; `direction` is 1 or -1 in every lane.
template <class Arch>
inline void rotate_interleaved(const float* x, float* y, const float* cos, const float* sin,
                               xsimd::batch<float, Arch> direction) {
  using V = xsimd::batch<float, Arch>;
  const V c = V::load_unaligned(cos), s = V::load_unaligned(sin) * direction;
  const V low = V::load_unaligned(x), high = V::load_unaligned(x + lanes<Arch>);
  if constexpr (lanes<Arch> == 4) {
    // Pairs apart and together again are four shuffles where spreading c and s over neighbours is six.
    const V a = xsimd::shuffle(low, high, xsimd::batch_constant<std::uint32_t, Arch, 0, 2, 4, 6>{});
    const V b = xsimd::shuffle(low, high, xsimd::batch_constant<std::uint32_t, Arch, 1, 3, 5, 7>{});
    const V turned_a = a * c - b * s, turned_b = b * c + a * s;
    xsimd::zip_lo(turned_a, turned_b).store_unaligned(y);
    xsimd::zip_hi(turned_a, turned_b).store_unaligned(y + lanes<Arch>);
  } else {
    // y = x * (c c ..) + swap(x) * (-s s ..).
    constexpr auto swap = swap_neighbours<Arch>(std::make_index_sequence<V::size>{});
    (low * xsimd::zip_lo(c, c) + xsimd::swizzle(low, swap) * xsimd::zip_lo(-s, s))
        .store_unaligned(y);
    (high * xsimd::zip_hi(c, c) + xsimd::swizzle(high, swap) * xsimd::zip_hi(-s, s))
        .store_unaligned(y + lanes<Arch>);
  }
}

/// The pairs (a, b) turned: a cos - b sin, b cos + a sin.
template <class V>
inline void store_turned(V a, V b, V c, V s, float* turned_a, float* turned_b) {
  (a * c - b * s).store_unaligned(turned_a);
  (b * c + a * s).store_unaligned(turned_b);
}

/// Channels that belong to no pair.
inline void pass_through(const Rotation& r, Index width, const float* x, float* y) {
  Index behind = 2 * r.pairs;
  if (r.layout == Layout::half && r.pairs > 0) {
    std::copy_n(x + r.pairs, r.partner - r.pairs, y + r.pairs);
    behind = r.partner + r.pairs;
  }
  std::copy_n(x + behind, width - behind, y + behind);
}

}  // namespace rotation_detail

/// Turns magnitudes into vectors at the angles of `table`: a' = softplus(a) cos, b' = softplus(a) sin.
template <class Arch>
void rotate_polar(const Rotation& r, View2<const float> from, View2<float> to,
                  View2<const float> table) {
  for (Index t = 0; t < from.rows; ++t) {
    const float* given = from.row(t);
    float *a = to.row(t), *b = a + r.partner;
    const float *cos = table.row(t), *sin = cos + r.pairs;
    for_each_vector<Arch>(r.pairs, [&](Index i, auto io) {
      const auto length = softplus<Arch>(io.load(given + i));
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
      a[i] = along == 0 ? 0.0f : static_cast<float>(along / (1 + exponential(-given.row(t)[i])));
    }
  }
}

// The loops below go through all rows for whole vectors first, and then for the rest: that is copied by
// calls, and V8 keeps on the stack whatever lives across a call, every pointer of the loop before it
// too. In one loop 12 x 512 x 64 took 1.5 times as long.

namespace rotation_detail {

template <class Arch>
void rotate_halves(const Rotation& r, const View2<const float>& from, const View2<float>& to,
                   const View2<const float>& table, bool inverse) {
  using V = xsimd::batch<float, Arch>;
  constexpr Index width = lanes<Arch>, step = 2 * width;
  // Turning (b, a) forwards is turning (a, b) back, with the same roundings.
  const Index pairs = r.pairs, first = inverse ? r.partner : 0, second = r.partner - first;
  const Index whole = pairs / step * step, rest = pairs - whole;
  for (Index t = 0; t < from.rows; ++t) {
    const float *a = from.row(t) + first, *b = from.row(t) + second;
    float *turned_a = to.row(t) + first, *turned_b = to.row(t) + second;
    const float *cos = table.row(t), *sin = cos + pairs;
    // Two vectors at a time, since the steps of six pointers cost as much as the arithmetic.
    POSENC_DO_NOT_UNROLL
    for (Index left = whole; left > 0; left -= step) {
      const V x0 = V::load_unaligned(a), x1 = V::load_unaligned(a + width);
      const V y0 = V::load_unaligned(b), y1 = V::load_unaligned(b + width);
      const V c0 = V::load_unaligned(cos), c1 = V::load_unaligned(cos + width);
      const V s0 = V::load_unaligned(sin), s1 = V::load_unaligned(sin + width);
      store_turned(x0, y0, c0, s0, turned_a, turned_b);
      store_turned(x1, y1, c1, s1, turned_a + width, turned_b + width);
      for (const float** at : {&a, &b, &cos, &sin}) *at += step;
      turned_a += step;
      turned_b += step;
    }
  }
  for (Index t = 0; rest > 0 && t < from.rows; ++t) {
    const float *a = from.row(t) + first + whole, *b = from.row(t) + second + whole;
    float *turned_a = to.row(t) + first + whole, *turned_b = to.row(t) + second + whole;
    const float *cos = table.row(t) + whole, *sin = cos + pairs;
    for_each_vector<Arch>(rest, [&](Index i, auto io) {
      const V x = io.load(a + i), y = io.load(b + i), c = io.load(cos + i), s = io.load(sin + i);
      io.store(x * c - y * s, turned_a + i);
      io.store(y * c + x * s, turned_b + i);
    });
  }
}

template <class Arch>
void rotate_neighbours(const Rotation& r, const View2<const float>& from, const View2<float>& to,
                       const View2<const float>& table, bool inverse) {
  using V = xsimd::batch<float, Arch>;
  constexpr Index width = lanes<Arch>;
  const V direction(inverse ? -1.0f : 1.0f);
  const Index pairs = r.pairs, whole = pairs / width * width, rest = pairs - whole;
  for (Index t = 0; t < from.rows; ++t) {
    const float *x = from.row(t), *cos = table.row(t), *sin = cos + pairs;
    float* y = to.row(t);
    POSENC_DO_NOT_UNROLL
    for (Index left = whole; left > 0; left -= width) {
      rotate_interleaved<Arch>(x, y, cos, sin, direction);
      cos += width;
      sin += width;
      x += 2 * width;
      y += 2 * width;
    }
  }
  for (Index t = 0; rest > 0 && t < from.rows; ++t) {
    const float* cos = table.row(t) + whole;
    float xs[static_cast<std::size_t>(2 * width)] = {};
    float cs[static_cast<std::size_t>(width)] = {}, ss[static_cast<std::size_t>(width)] = {};
    std::copy_n(from.row(t) + 2 * whole, 2 * rest, xs);
    std::copy_n(cos, rest, cs);
    std::copy_n(cos + pairs, rest, ss);
    rotate_interleaved<Arch>(xs, xs, cs, ss, direction);
    std::copy_n(xs, 2 * rest, to.row(t) + 2 * whole);
  }
}

}  // namespace rotation_detail

/// Rotates each row of `from` by its row of `table`, [cos of every pair | sin of every pair], into
/// `to`, which may be `from` itself. `inverse` negates the angle. a' = a cos - b sin,
/// b' = b cos + a sin, rounded alike in both layouts. A row of `to` must have room for what it grows
/// by; nothing undoes that growth.
template <class Arch>
void rotate_rows(const Rotation& r, View2<const float> from, View2<float> to,
                 View2<const float> table, bool inverse) {
  if (r.polar) return rotate_polar<Arch>(r, from, to, table);
  if (r.layout == Layout::half)
    rotation_detail::rotate_halves<Arch>(r, from, to, table, inverse);
  else
    rotation_detail::rotate_neighbours<Arch>(r, from, to, table, inverse);
  if (from.data == to.data || from.cols == 2 * r.pairs) return;
  for (Index t = 0; t < from.rows; ++t)
    rotation_detail::pass_through(r, from.cols, from.row(t), to.row(t));
}

/// Whether rows of two heads can share what they load of the table: whole vectors of pairs and nothing else.
template <class Arch>
constexpr bool turns_two(const Rotation& r, Index width) {
  return !r.polar && width == 2 * r.pairs && r.pairs % lanes<Arch> == 0 &&
         (r.layout == Layout::interleaved || r.partner == r.pairs);
}

/// rotate_rows of `from` and of the rows `apart` floats on, to `to` and as far on, with the same bits.
template <class Arch>
void rotate_two(const Rotation& r, View2<const float> from, View2<float> to,
                View2<const float> table, bool inverse, Index apart) {
  using V = xsimd::batch<float, Arch>;
  constexpr Index width = lanes<Arch>;
  const Index pairs = r.pairs;
  const V direction(inverse ? -1.0f : 1.0f);
  for (Index t = 0; t < from.rows; ++t) {
    const float *x = from.row(t), *cos = table.row(t);
    float* y = to.row(t);
    if (r.layout == Layout::interleaved) {
      for (Index i = 0; i < pairs; i += width)
        for (Index head : {Index{0}, apart})
          rotation_detail::rotate_interleaved<Arch>(x + 2 * i + head, y + 2 * i + head, cos + i,
                                                    cos + pairs + i, direction);
      continue;
    }
    for (Index i = 0; i < pairs; i += width) {
      const V c = V::load_unaligned(cos + i), s = V::load_unaligned(cos + pairs + i) * direction;
      for (Index head : {i, apart + i}) {
        const V a = V::load_unaligned(x + head), b = V::load_unaligned(x + head + pairs);
        rotation_detail::store_turned(a, b, c, s, y + head, y + head + pairs);
      }
    }
  }
}

/// In place.
template <class Arch>
void rotate_rows(const Rotation& r, View2<float> rows, View2<const float> table, bool inverse) {
  rotate_rows<Arch>(r, rows, rows, table, inverse);
}

POSENC_KERNEL(void rotate_rows<xsimd::default_arch>(const Rotation&, View2<const float>,
                                                    View2<float>, View2<const float>, bool));
POSENC_KERNEL(void rotate_two<xsimd::default_arch>(const Rotation&, View2<const float>,
                                                   View2<float>, View2<const float>, bool, Index));

}  // namespace posenc

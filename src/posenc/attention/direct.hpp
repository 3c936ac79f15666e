// SPDX-License-Identifier: Apache-2.0
/// The two products of attention for a few query rows. Packing keys and values costs more than it
/// saves there, so both kernels read row-major rows as they lie, each from memory once: one token of
/// 32 heads on 8 against 8192 keys of width 128 took 23 ms packed, where the 67 MB are read in 4.
#pragma once

#include <algorithm>
#include <span>
#include <type_traits>

#include "posenc/core/arena.hpp"
#include "posenc/core/register_tile.hpp"

namespace posenc {

namespace direct_detail {

/// Query rows that the kernels take at once: 4 of them, and of what is left 2 or 1. Three make a group with
/// a row of nothing, since two and one take longer.
inline constexpr Index direct_group = 4;
constexpr Index group_of(Index left) { return left >= 3 ? direct_group : left; }

/// Keys of a step of the first product: 8 accumulators for 4 and for 2 query rows, for one row 4, whose
/// sums of lanes leave as one vector. With 4 rows each key is loaded once: 39 GFLOP/s where 2 rows x
/// 4 keys reached 32.
template <Index Rows>
inline constexpr Index step_keys = Rows == direct_group ? 2 : 4;
/// Values of a step of the second one, whose weights stay in 8 registers or 4.
template <Index Rows>
inline constexpr Index step_values = Rows == direct_group ? 2 : 4;

/// Rows are read as streams that lie apart: the first row of each half or quarter of a run, then the
/// second of each. Processors fetch ahead of a stream by themselves, but not of two that meet in one
/// page of 4 KB: 8192 keys of 128 floats took 5.5 ms as neighbours, 4.2 with lines touched before their
/// turn, and take 3.3.
constexpr Index stream_length(Index rows, Index streams) { return (rows + streams - 1) / streams; }

/// sums[i] = the sum of the lanes of vector i. In which order must not depend on how many there are, or a
/// row would have other bits alone than among others.
template <class Arch, Index Count>
void sum_lanes(const xsimd::batch<float, Arch>* vectors, float* sums) {
  if constexpr (lanes<Arch> == 4 && Count % 4 == 0)
    for (Index i = 0; i < Count; i += 4) xsimd::haddp(vectors + i).store_unaligned(sums + i);
  else
    for (Index i = 0; i < Count; ++i) sums[i] = xsimd::reduce_add(vectors[i]);
}

/// sums[j][r] = q[r] · k[j] for `Rows` queries, of which vector i begins at q + i * Rows, and step_keys
/// keys; `k` may repeat a row.
template <class Arch, Index Rows>
void dot_step(const float* q, const float* const* k, Index depth, float* sums) {
  using V = xsimd::batch<float, Arch>;
  constexpr Index keys = step_keys<Rows>;
  V products[keys * Rows];
  for (V& sum : products) sum = V(0.0f);
  // What is less than a vector comes first: it is copied by a call, and V8 stores whatever lives
  // across a call on the stack whenever that changes, which for sums is in every turn of the loop.
  const Index rest = depth % lanes<Arch>;
  if (rest > 0) {
    const Index whole = depth - rest;
    V key[keys];
    for (Index j = 0; j < keys; ++j) key[j] = PartVector<Arch>{rest}.load(k[j] + whole);
    for (Index r = 0; r < Rows; ++r)
      for (Index j = 0; j < keys; ++j)
        products[j * Rows + r] = V::load_unaligned(q + whole * Rows + r * lanes<Arch>) * key[j];
  }
  const float* at[keys];
  for (Index j = 0; j < keys; ++j) at[j] = k[j];
  POSENC_DO_NOT_UNROLL
  for (Index left = depth; left >= lanes<Arch>; left -= lanes<Arch>) {
    V key[keys];
    for (Index j = 0; j < keys; ++j) key[j] = V::load_unaligned(at[j]);
    for (Index r = 0; r < Rows; ++r) {
      const V x = V::load_unaligned(q + r * lanes<Arch>);
      for (Index j = 0; j < keys; ++j)
        products[j * Rows + r] = multiply_add<Arch>(x, key[j], products[j * Rows + r]);
    }
    // Pointers that step cost an addition each; what V8 makes of indices costs three.
    q += Rows * lanes<Arch>;
    for (Index j = 0; j < keys; ++j) at[j] += lanes<Arch>;
  }
  sum_lanes<Arch, keys * Rows>(products, sums);
}

/// out[r][j] for `Rows` queries and all keys, which are read as `step_keys` streams.
template <class Arch, Index Rows>
void dot_group(const float* q, const View2<const float>& k, float* out, Index out_stride) {
  constexpr Index step = step_keys<Rows>;
  const Index apart = stream_length(k.rows, step);
  for (Index j = 0; j < apart; ++j) {
    const float* keys[step];
    for (Index n = 0; n < step; ++n) keys[n] = k.row(std::min(j + n * apart, k.rows - 1));
    float sums[step * Rows];
    dot_step<Arch, Rows>(q, keys, k.cols, sums);
    for (Index n = 0; n < step && j + n * apart < k.rows; ++n)
      for (Index r = 0; r < Rows; ++r) out[r * out_stride + j + n * apart] = sums[n * Rows + r];
  }
}

/// sums[c][r] += sum over j of w[r][rows[j]] v[rows[j]][c] for vectors c, `Rows` rows and `Values` values;
/// from one vector c to the next it is `step` floats.
template <class Arch, Index Rows, Index Values>
void add_values(const float* w, Index w_stride, const View2<const float>& v, const Index* rows,
                float* sums, Index step) {
  using V = xsimd::batch<float, Arch>;
  V weights[Values][Rows];
  for (Index j = 0; j < Values; ++j)
    for (Index r = 0; r < Rows; ++r) weights[j][r] = V(w[r * w_stride + rows[j]]);
  const float* at[Values];
  for (Index j = 0; j < Values; ++j) at[j] = v.row(rows[j]);
  const auto add = [&](auto io) POSENC_INLINE {
    V x[Values];
    for (Index j = 0; j < Values; ++j) x[j] = io.load(at[j]);
    for (Index r = 0; r < Rows; ++r) {
      float* to = sums + r * lanes<Arch>;
      V sum = V::load_unaligned(to);
      for (Index j = 0; j < Values; ++j) sum = multiply_add<Arch>(weights[j][r], x[j], sum);
      sum.store_unaligned(to);
    }
    sums += step;
    for (Index j = 0; j < Values; ++j) at[j] += lanes<Arch>;
  };
  POSENC_DO_NOT_UNROLL
  for (Index left = v.cols; left >= lanes<Arch>; left -= lanes<Arch>) add(WholeVector<Arch>{});
  if (v.cols % lanes<Arch> > 0) add(PartVector<Arch>{v.cols % lanes<Arch>});
}

template <class Arch, Index Rows>
void add_group(const float* w, Index w_stride, const View2<const float>& v,
               std::span<const Index> order, float* sums) {
  constexpr Index count = step_values<Rows>, step = Rows * lanes<Arch>;
  const Index* rows = order.data();
  Index left = static_cast<Index>(order.size());
  for (; left >= count; left -= count, rows += count)
    add_values<Arch, Rows, count>(w, w_stride, v, rows, sums, step);
  for (; left > 0; --left, ++rows)
    for (Index r = 0; r < Rows; ++r)
      add_values<Arch, 1, 1>(w + r * w_stride, 0, v, rows, sums + r * lanes<Arch>, step);
}

/// Calls `f(first, size)`, size a constant, for each group of rows.
template <class F>
void for_each_group(Index rows, F&& f) {
  using Full = std::integral_constant<Index, direct_group>;
  Index i = 0;
  for (; group_of(rows - i) == direct_group; i += direct_group) f(i, Full{});
  if (rows - i == 2) f(i, std::integral_constant<Index, 2>{});
  if (rows - i == 1) f(i, std::integral_constant<Index, 1>{});
}

/// Where the vectors of row i begin among `rows` that are interleaved, and how far they are apart.
template <class Arch>
struct Interleaved {
  Index first, step;
  Interleaved(Index i, Index rows, Index padded) {
    const Index group = i / direct_group * direct_group, size = group_of(rows - group);
    // Rows of no width may have no memory to point into.
    first = padded == 0 ? 0 : group * padded + (i - group) * lanes<Arch>;
    step = size * lanes<Arch>;
  }
};

}  // namespace direct_detail

/// Rows that the kernels read and write, those of nothing included.
constexpr Index direct_rows_of(Index rows) {
  return rows % direct_detail::direct_group == 3 ? rows + 1 : rows;
}
/// Floats that interleaved rows take.
template <class Arch>
constexpr Index interleaved_size(Index rows, Index cols) {
  return direct_rows_of(rows) * round_up(cols, lanes<Arch>);
}
/// Rows in groups of four, of each group vector by vector, so that one pointer reaches all four; two
/// or one that are left among themselves.
template <class Arch>
void interleave_rows(View2<const float> rows, float* out) {
  const Index padded = round_up(rows.cols, lanes<Arch>);
  std::fill_n(out, interleaved_size<Arch>(rows.rows, rows.cols), 0.0f);
  for (Index i = 0; i < rows.rows; ++i) {
    const direct_detail::Interleaved<Arch> to(i, rows.rows, padded);
    float* at = out + to.first;
    for_each_vector<Arch>(rows.cols, [&](Index c, auto io) {
      io.load(rows.row(i) + c).store_unaligned(at);
      at += to.step;
    });
  }
}
/// rows += what is interleaved.
template <class Arch>
void add_interleaved(const float* from, View2<float> rows) {
  const Index padded = round_up(rows.cols, lanes<Arch>);
  for (Index i = 0; i < rows.rows; ++i) {
    const direct_detail::Interleaved<Arch> own(i, rows.rows, padded);
    const float* at = from + own.first;
    for_each_vector<Arch>(rows.cols, [&](Index c, auto io) {
      io.store(io.load(rows.row(i) + c) + xsimd::batch<float, Arch>::load_unaligned(at),
               rows.row(i) + c);
      at += own.step;
    });
  }
}

/// out[i][j] = q[i] · k[j] for `rows` interleaved queries; `out` has direct_rows_of(rows) rows.
template <class Arch>
void dot_rows(const float* q, Index rows, View2<const float> k, float* out, Index out_stride) {
  using namespace direct_detail;
  const Index padded = round_up(k.cols, lanes<Arch>);
  for_each_group(rows, [&](Index i, auto size) {
    dot_group<Arch, size>(q + i * padded, k, out + i * out_stride, out_stride);
  });
}

/// The order in which rows of a run are summed: as streams, or one after the other where `streams` is 1
/// or the run short. Which of two comes first depends on the run alone, or hidden rows would change bits.
class SumOrder {
 public:
  void carve(Arena& arena, Index most, Index streams) {
    list_ = arena.take<Index>(most), streams_ = streams, run_ = 0;
  }

  /// Rows first .. last - 1 of a run of `run` rows; the same list as before costs nothing.
  std::span<const Index> of(Index run, Index first, Index last) {
    const std::span<const Index> list{list_, static_cast<std::size_t>(last - first)};
    if (run == run_ && first == first_ && last == last_) return list;
    run_ = run, first_ = first, last_ = last;
    constexpr Index shortest = 16;  // floats of 128 of them fit the nearest cache
    const Index apart = run > shortest ? direct_detail::stream_length(run, streams_) : 1;
    Index* to = list_;
    for (Index j = 0; j < apart; ++j)
      for (Index row = j; row < last; row += apart)
        if (row >= first) *to++ = row;
    return list;
  }

 private:
  Index* list_ = nullptr;
  Index streams_ = 1, run_ = 0, first_ = 0, last_ = 0;
};
constexpr Index sum_streams(Index rows) {
  using namespace direct_detail;
  return group_of(rows) == direct_group ? step_values<direct_group> : step_values<1>;
}

/// sums[i] += sum over j in `order` of w[i][j] v[j], for w [rows, v.rows] and interleaved sums. Behind w are
/// as many rows as make direct_rows_of(rows), whatever they hold.
template <class Arch>
void add_weighted_rows(View2<const float> w, View2<const float> v, std::span<const Index> order,
                       float* sums) {
  using namespace direct_detail;
  const Index padded = round_up(v.cols, lanes<Arch>);
  if (v.cols == 0) return;
  for_each_group(w.rows, [&](Index i, auto size) {
    add_group<Arch, size>(w.row(i), w.stride, v, order, sums + i * padded);
  });
}

/// The same of row i of `rows` alone, and of those values only that `visible(j)` names. Bits are those
/// of add_weighted_rows where the weights of the others are 0.
template <class Arch, class F>
void add_visible_rows(const float* w, Index i, Index rows, const View2<const float>& v,
                      std::span<const Index> order, float* sums, F&& visible) {
  using namespace direct_detail;
  const Interleaved<Arch> own(i, rows, round_up(v.cols, lanes<Arch>));
  for (const Index& j : order)
    if (visible(j)) add_values<Arch, 1, 1>(w, 0, v, &j, sums + own.first, own.step);
}

/// Whether no element is NaN or infinite.
template <class Arch>
bool all_finite(View2<const float> rows) {
  xsimd::batch<float, Arch> residue(0.0f);  // x * 0 is 0 for finite x and NaN for the rest
  for (Index i = 0; i < rows.rows; ++i)
    for_each_vector<Arch>(rows.cols, [&](Index c, auto io) {
      residue += io.load(rows.row(i) + c) * xsimd::batch<float, Arch>(0.0f);
    });
  return xsimd::reduce_add(residue) == 0.0f;
}

POSENC_KERNEL(void interleave_rows<xsimd::default_arch>(View2<const float>, float*));
POSENC_KERNEL(void dot_rows<xsimd::default_arch>(const float*, Index, View2<const float>, float*,
                                                 Index));
POSENC_KERNEL(void add_interleaved<xsimd::default_arch>(const float*, View2<float>));
POSENC_KERNEL(void add_weighted_rows<xsimd::default_arch>(View2<const float>, View2<const float>,
                                                          std::span<const Index>, float*));
POSENC_KERNEL(bool all_finite<xsimd::default_arch>(View2<const float>));

}  // namespace posenc

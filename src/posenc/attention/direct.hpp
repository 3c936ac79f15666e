// SPDX-License-Identifier: Apache-2.0
/// The two products of attention for a few query rows. Packing keys and values costs more than it
/// saves there, so both kernels read row-major rows as they lie, each from memory once: one token of
/// 32 heads on 8 against 8192 keys of width 128 took 23 ms packed and is bound by the 67 MB it reads.
#pragma once

#include <algorithm>

#include "posenc/core/register_tile.hpp"

namespace posenc {
namespace direct_detail {

/// Reads one float and drops it, so that the line is in the cache when its turn comes. Both kernels
/// walk a few rows at a time, and no prefetcher follows that: they read 5 GB/s of the 23 that one
/// plain sweep reads, and with the rows ahead touched in order 14. WebAssembly has no prefetch.
inline void touch(const float* line) {
  static_cast<void>(*static_cast<const volatile float*>(line));
}

/// Keys of a step of the first product: 2 query rows x 4 keys are 8 accumulators, and four sums of
/// lanes leave as one vector.
inline constexpr Index step_keys = 4;

template <class Arch>
void store_sums(const xsimd::batch<float, Arch>* sums, float* out) {
  if constexpr (lanes<Arch> == step_keys)
    xsimd::haddp(sums).store_unaligned(out);
  else
    for (Index j = 0; j < step_keys; ++j) out[j] = xsimd::reduce_add(sums[j]);
}

/// out[r][j] = q[r] · k[j] for `Rows` queries and step_keys keys; `k` may repeat a row. While it
/// goes through `depth` floats it touches `pace` times as many from `ahead` on.
template <class Arch, Index Rows>
void dot_step(const float* q, Index q_stride, const float* const* k, Index depth,
              const float* ahead, Index pace, float* out, Index out_stride) {
  using V = xsimd::batch<float, Arch>;
  V sums[Rows][step_keys];
  for (auto& row : sums)
    for (V& sum : row) sum = V(0.0f);
  const auto step = [&](Index i, auto io) {
    touch(ahead + i * pace);
    V keys[step_keys];
    for (Index j = 0; j < step_keys; ++j) keys[j] = io.load(k[j] + i);
    for (Index r = 0; r < Rows; ++r) {
      const V x = io.load(q + r * q_stride + i);
      for (Index j = 0; j < step_keys; ++j) sums[r][j] = multiply_add<Arch>(x, keys[j], sums[r][j]);
    }
  };
  Index i = 0;
  POSENC_DO_NOT_UNROLL
  for (; i + lanes<Arch> <= depth; i += lanes<Arch>) step(i, WholeVector<Arch>{});
  if (i < depth) step(i, PartVector<Arch>{depth - i});
  for (Index r = 0; r < Rows; ++r) store_sums<Arch>(sums[r], out + r * out_stride);
}

/// out[r][0 .. vectors) += sum over j of w[r][j] v[j], summed apart and added once. Touches `pace`
/// floats on from `ahead` per row.
template <class Arch, Index Rows, Index Vectors, class Io>
void weighted_columns(const float* w, Index w_stride, const float* v, Index v_stride, Index count,
                      const float* ahead, Index pace, float* out, Index out_stride, Io io) {
  using V = xsimd::batch<float, Arch>;
  V sums[Rows][Vectors];
  for (auto& row : sums)
    for (V& sum : row) sum = V(0.0f);
  POSENC_DO_NOT_UNROLL
  for (Index j = 0; j < count; ++j) {
    touch(ahead + j * pace);
    V values[Vectors];
    for (Index c = 0; c < Vectors; ++c) values[c] = io.load(v + c * lanes<Arch>);
    for (Index r = 0; r < Rows; ++r) {
      const V weight(w[r * w_stride + j]);
      for (Index c = 0; c < Vectors; ++c)
        sums[r][c] = multiply_add<Arch>(weight, values[c], sums[r][c]);
    }
    v += v_stride;
  }
  for (Index r = 0; r < Rows; ++r)
    for (Index c = 0; c < Vectors; ++c) {
      float* at = out + r * out_stride + c * lanes<Arch>;
      io.store(io.load(at) + sums[r][c], at);
    }
}

template <class Arch, Index Rows>
void add_weighted(const float* w, Index w_stride, const View2<const float>& v, const float* ahead,
                  float* out, Index out_stride) {
  constexpr Index vectors = 8 / Rows, width = vectors * lanes<Arch>;  // 8 accumulators
  const Index pace = ahead == v.data ? 0 : width;
  Index c = 0;
  for (; c + width <= v.cols; c += width)
    weighted_columns<Arch, Rows, vectors>(w, w_stride, v.data + c, v.stride, v.rows,
                                          ahead + c * v.rows * (pace != 0), pace, out + c,
                                          out_stride, WholeVector<Arch>{});
  for (; c + lanes<Arch> <= v.cols; c += lanes<Arch>)
    weighted_columns<Arch, Rows, 1>(w, w_stride, v.data + c, v.stride, v.rows, v.data, 0, out + c,
                                    out_stride, WholeVector<Arch>{});
  if (c < v.cols)
    weighted_columns<Arch, Rows, 1>(w, w_stride, v.data + c, v.stride, v.rows, v.data, 0, out + c,
                                    out_stride, PartVector<Arch>{v.cols - c});
}

}  // namespace direct_detail

/// Rows of one step of the second product: 16 rows of 128 floats are a quarter of a 32 KB L1.
inline constexpr Index weighted_rows_step = 16;

/// out[i][j] = q[i] · k[j].
template <class Arch>
void dot_rows(View2<const float> q, View2<const float> k, float* out, Index out_stride) {
  using namespace direct_detail;
  // Where rows lie one after the other, those of two steps on are touched; never past the end.
  const Index last_ahead = k.stride == k.cols ? k.rows - 3 * step_keys : -1;
  for (Index j = 0; j < k.rows; j += step_keys) {
    const float* keys[step_keys];
    for (Index n = 0; n < step_keys; ++n) keys[n] = k.row(std::min(j + n, k.rows - 1));
    const Index count = std::min(step_keys, k.rows - j);
    for (Index i = 0; i < q.rows; i += 2) {
      const bool both = i + 1 < q.rows, look = i == 0 && j <= last_ahead;
      const float* ahead = look ? keys[0] + 2 * step_keys * k.stride : keys[0];
      const Index pace = look ? step_keys : 0;
      float* to = out + i * out_stride + j;
      float line[2 * step_keys];
      float* at = count == step_keys ? to : line;
      const Index stride = count == step_keys ? out_stride : step_keys;
      if (both)
        dot_step<Arch, 2>(q.row(i), q.stride, keys, q.cols, ahead, pace, at, stride);
      else
        dot_step<Arch, 1>(q.row(i), q.stride, keys, q.cols, ahead, pace, at, stride);
      if (at == to) continue;
      std::copy_n(line, count, to);
      if (both) std::copy_n(line + step_keys, count, to + out_stride);
    }
  }
}

/// out[i] += sum over j of w[i][j] v[j], for w [rows, v.rows]. `ahead`: as many rows that will be
/// wanted next, or v's own.
template <class Arch>
void add_weighted_rows(View2<const float> w, View2<const float> v, const float* ahead, float* out,
                       Index out_stride) {
  using namespace direct_detail;
  Index i = 0;
  for (; i + 4 <= w.rows; i += 4, ahead = v.data)
    add_weighted<Arch, 4>(w.row(i), w.stride, v, ahead, out + i * out_stride, out_stride);
  for (; i < w.rows; ++i, ahead = v.data)
    add_weighted<Arch, 1>(w.row(i), w.stride, v, ahead, out + i * out_stride, out_stride);
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

POSENC_KERNEL(void dot_rows<xsimd::default_arch>(View2<const float>, View2<const float>, float*,
                                                 Index));
POSENC_KERNEL(void add_weighted_rows<xsimd::default_arch>(View2<const float>, View2<const float>,
                                                          const float*, float*, Index));
POSENC_KERNEL(bool all_finite<xsimd::default_arch>(View2<const float>));

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
/// Where the kernels read keys and values from: rows of one head, row-major, in runs that are
/// consecutive in memory. What packs, what reads directly and what encodings look at all come here.
#pragma once

#include <algorithm>

#include "posenc/attention/arguments.hpp"
#include "posenc/core/widen.hpp"

namespace posenc {

class KeyRows {
 public:
  /// `paged` wins where it is given.
  KeyRows(const Tensor4<const float>& rows, Index width, const PagedRows* paged)
      : rows_(rows), width_(width), paged_(paged) {}

  Index width() const { return width_; }
  /// Whether rows are widened on their way, and do not stay where they lie.
  bool widens() const { return paged_ != nullptr && paged_->dtype != Dtype::f32; }

  /// Floats that `scratch` must have room for: for runs, and for `count` rows together.
  Index run_scratch() const { return widens() ? widened_rows * width_ : 0; }
  Index scratch_size(Index count) const { return paged_ == nullptr ? 0 : count * width_; }

  /// Calls `f(i, rows)` for each run of the rows first .. first + count - 1; the run begins at row
  /// first + i. Rows may lie in `scratch` until `f` returns.
  template <class F>
  void for_each_run(Index b, Index g, Index first, Index count, float* scratch, F&& f) const {
    visit(b, g, first, count, scratch, 0, f);
  }

  /// The same rows as one view, copied to `scratch` where they lie apart.
  View2<const float> together(Index b, Index g, Index first, Index count, float* scratch) const {
    if (paged_ == nullptr) return {rows_.at(b, g, first), count, width_, rows_.row};
    View2<const float> whole{scratch, count, width_, width_};
    visit(b, g, first, count, scratch, width_, [&](Index i, const View2<const float>& run) {
      if (run.rows == count)
        whole = run;
      else if (run.data != scratch + i * width_)
        std::copy_n(run.data, run.rows * width_, scratch + i * width_);
    });
    return whole;
  }

 private:
  /// Numbers that are widened are read once or twice and soon: 16 rows of 128 floats are 8 KB, which stay
  /// in the nearest cache, where a page of them is all that cache.
  static constexpr Index widened_rows = 16;

  /// Row i of those that are widened goes to scratch + i * apart.
  template <class F>
  void visit(Index b, Index g, Index first, Index count, float* scratch, Index apart, F&& f) const {
    if (count <= 0) return;
    if (paged_ == nullptr)
      return f(Index{0}, View2<const float>{rows_.at(b, g, first), count, width_, rows_.row});
    const Index most = widens() ? widened_rows : count;
    Index at = first + paged_->first_row, done = 0;
    for (const PagedRows::Stretch& stretch : paged_->stretches) {
      for (; at < stretch.count && done < count;) {
        const Index slot = stretch.slot + at, row = slot % paged_->page_rows;
        const Index n = std::min({count - done, stretch.count - at, paged_->page_rows - row, most});
        const std::byte* page = paged_->pages[slot / paged_->page_rows];
        const Index plane = (b + paged_->first_batch) * paged_->heads + g;
        f(done, rows_of(page, plane * paged_->page_rows + row, n, scratch + done * apart));
        at += n;
        done += n;
      }
      if (done == count) return;
      at -= stretch.count;
    }
  }

  View2<const float> rows_of(const std::byte* page, Index row, Index count, float* scratch) const {
    const std::byte* data = page + paged_->data;
    const Index first = row * width_, elements = count * width_;
    switch (paged_->dtype) {
      case Dtype::f32:
        return {reinterpret_cast<const float*>(data) + first, count, width_, width_};
      case Dtype::f16: {
        const auto* from = reinterpret_cast<const std::uint16_t*>(data) + first;
        widen_halves<xsimd::default_arch>(from, elements, scratch);
        break;
      }
      case Dtype::i8: {
        const auto* from = reinterpret_cast<const std::int8_t*>(data) + first;
        const float* scales = reinterpret_cast<const float*>(page + paged_->scales) + row;
        for (Index r = 0; r < count; ++r)
          widen_bytes<xsimd::default_arch>(from + r * width_, scales[r], width_,
                                           scratch + r * width_);
        break;
      }
    }
    return {scratch, count, width_, width_};
  }

  Tensor4<const float> rows_;
  Index width_;
  const PagedRows* paged_;
};

}  // namespace posenc

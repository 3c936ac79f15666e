// SPDX-License-Identifier: Apache-2.0
/// Where the kernels read keys and values from: rows of one head, row-major, in runs that are
/// consecutive in memory. What packs, what reads directly and what encodings look at all come here.
#pragma once

#include <algorithm>

#include "posenc/attention/arguments.hpp"

namespace posenc {

class KeyRows {
 public:
  KeyRows(const Tensor4<const float>& rows, Index width) : rows_(rows), width_(width) {}

  Index width() const { return width_; }

  /// Floats that `scratch` must have room for, where up to `count` rows are read at once.
  Index scratch_size(Index /*count*/) const { return 0; }

  /// Calls `f(i, rows)` for each run of the rows first .. first + count - 1; the run begins at row
  /// first + i. Rows may lie in `scratch` until the next call.
  template <class F>
  void for_each_run(Index b, Index g, Index first, Index count, float* /*scratch*/, F&& f) const {
    if (count > 0) f(Index{0}, View2<const float>{rows_.at(b, g, first), count, width_, rows_.row});
  }

  /// The same rows as one view, copied to `scratch` where they lie apart.
  View2<const float> together(Index b, Index g, Index first, Index count,
                              float* /*scratch*/) const {
    return {rows_.at(b, g, first), count, width_, rows_.row};
  }

 private:
  Tensor4<const float> rows_;
  Index width_;
};

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
/// Keys (rotated) and values of one key head, packed for the register tiles: once for all query heads
/// of the group and all blocks of queries.
#pragma once

#include "posenc/attention/key_rows.hpp"
#include "posenc/attention/products.hpp"
#include "posenc/attention/rotations.hpp"

namespace posenc {

/// What keys go through before the product, into `staged`: normalised before or after they turn.
/// `turn(from)` takes them from where they lie to `staged`; without `turns` they stay.
template <class F>
void stage_keys(const HeadNorm& norm, Index head, const View2<const float>& rows,
                const View2<float>& staged, bool turns, F&& turn) {
  View2<const float> from = rows;
  if (!turns || norm.before()) {
    for (Index j = 0; j < rows.rows; ++j) {
      std::copy_n(rows.row(j), rows.cols, staged.row(j));
      if (norm.before()) norm.apply(staged.row(j), rows.cols, head);
    }
    from = {staged.data, rows.rows, rows.cols, staged.stride};
  }
  if (turns) turn(from);
  if (norm.after())
    for (Index j = 0; j < rows.rows; ++j) norm.apply(staged.row(j), rows.cols, head);
}

template <class Arch>
class Panels {
 public:
  static constexpr Index width = panel_width<Arch>;

  explicit Panels(const AttentionArguments& a)
      : a_(a),
        padded_keys(round_up(a.shape.keys, width)),
        padded_value(round_up(a.shape.value_dim, width)),
        tile_keys(std::clamp(round_up(std::max<Index>(1, a.tiles.keys), width), width,
                             std::max(width, padded_keys))) {}

 private:
  const AttentionArguments& a_;

 public:
  const Index padded_keys;   ///< S rounded up to whole panels
  const Index padded_value;  ///< the value width rounded up
  const Index tile_keys;     ///< keys per tile, whole panels

  void carve(Arena& arena, const KeyRows& keys, const KeyRows& values,
             const Rotations<Arch>& rotations) {
    copies_ = rotations.key_copies();
    depth_ = rotations.width();
    keys_ = arena.take<float>(copies_ * padded_keys, depth_);
    values_ = arena.take<float>(padded_keys, padded_value);
    finite_ = arena.take<bool>(padded_keys / tile_keys + 1);
    staged_ = arena.take<float>(width, depth_);
    key_scratch_ = arena.take<float>(keys.scratch_size(width));
    value_scratch_ = arena.take<float>(values.scratch_size(tile_keys));
  }

  void pack(Index b, Index g, const KeyRows& keys, const KeyRows& values,
            const Rotations<Arch>& rotations) {
    const AttentionShape& s = a_.shape;
    for (Index copy = 0; copy < copies_; ++copy)
      for (Index j = 0; j < s.keys; j += width) {
        const Index n = std::min(width, s.keys - j);
        View2<const float> rows = keys.together(b, g, j, n, key_scratch_);
        if (rotations.turns_keys() || a_.k_norm.kind != HeadNorm::Kind::none)
          rows = stage(rows, j, copy, rotations, g);
        pack_columns<Arch>(rows.data, rows.stride, n, depth_, keys_ + copy * padded_keys * depth_,
                           j);
      }
    for (Index j = 0; j < s.keys; j += tile_keys) {
      bool finite = true;
      values.for_each_run(b, g, j, std::min(tile_keys, s.keys - j), value_scratch_,
                          [&](Index i, const View2<const float>& rows) {
                            finite = pack_rows<Arch>(rows.data, rows.stride, rows.rows, s.value_dim,
                                                     values_, padded_keys, j + i) &&
                                     finite;
                          });
      finite_[j / tile_keys] = finite;
    }
  }

  /// [depth][width]: the keys from j on, j a multiple of width.
  const float* keys(Index copy, Index j) const { return keys_ + (copy * padded_keys + j) * depth_; }
  /// [keys][width]: columns c .. of the values from key j on.
  const float* values(Index c, Index j) const { return values_ + c * padded_keys + j * width; }
  bool finite(Index j) const { return finite_[j / tile_keys]; }

 private:
  View2<float> stage(const View2<const float>& rows, Index first, Index copy,
                     const Rotations<Arch>& rotations, Index head) {
    const View2<float> staged{staged_, rows.rows, depth_, depth_};
    stage_keys(a_.k_norm, head, rows, staged, rotations.turns_keys(),
               [&](View2<const float> from) { rotations.rotate_keys(from, staged, first, copy); });
    return staged;
  }

  Index copies_ = 1;
  Index depth_ = 0;          ///< channels of a rotated key
  float* keys_ = nullptr;    ///< [copies][padded_keys / width][depth][width]
  float* values_ = nullptr;  ///< [padded_value / width][padded_keys][width]
  bool* finite_ = nullptr;   ///< per tile: no value is NaN or infinite
  float* staged_ = nullptr;  ///< [width, depth]
  float *key_scratch_ = nullptr, *value_scratch_ = nullptr;
};

}  // namespace posenc

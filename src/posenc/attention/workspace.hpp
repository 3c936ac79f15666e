// SPDX-License-Identifier: Apache-2.0
/// Everything attention needs besides its inputs and outputs: O((T + S) D) floats in one block.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/products.hpp"
#include "posenc/attention/online_softmax.hpp"
#include "posenc/core/arena.hpp"

namespace posenc {

/// Cosines and sines of one rotating encoding, for all queries and all keys of a sequence.
struct RotationTables {
  const Encoding* encoding = nullptr;
  Rotation rotation;
  View2<float> queries, keys;
};

template <class Arch>
class Workspace {
 public:
  // Shapes, after rounding up to whole tiles.
  Index block_rows = 0;    ///< query rows handled together, a multiple of tile_rows
  Index tile_keys = 0;     ///< keys per tile, a multiple of the panel width
  Index padded_keys = 0;   ///< S rounded up
  Index padded_value = 0;  ///< the value width rounded up

  float* key_panels = nullptr;    ///< [padded_keys / W][D][W]
  float* value_panels = nullptr;  ///< [padded_value / W][padded_keys][W]
  bool* finite_values = nullptr;  ///< per key tile
  float* staged_keys = nullptr;   ///< [W, D]: keys being rotated before they are packed
  View2<float> queries;           ///< [block_rows, D], rotated and scaled
  View2<float> scores;            ///< [block_rows, tile_keys]
  View2<float> sums;              ///< [block_rows, padded_value]: running weighted values
  RowState* states = nullptr;     ///< [block_rows]
  float* scratch = nullptr;       ///< for score hooks
  double* frequencies = nullptr;
  double* default_queries = nullptr;  ///< positions made up where none were given
  double* default_keys = nullptr;
  std::array<RotationTables, AttentionArguments::max_encodings> tables;
  std::size_t table_count = 0;

  /// The one place of an attention call that can fail for lack of memory.
  Status prepare(const AttentionArguments& a) {
    measure(a);
    carve(a);
    if (Status s = arena_.commit(); !s) return s;
    carve(a);
    return {};
  }

  std::span<RotationTables> rotations() { return {tables.data(), table_count}; }

 private:
  void measure(const AttentionArguments& a) {
    constexpr Index width = panel_width<Arch>;
    const AttentionShape& s = a.shape;
    const Index rows = std::max<Index>(1, std::min(a.tiles.queries, s.queries * s.group()));
    block_rows = round_up(rows, tile_rows);
    padded_keys = round_up(s.keys, width);
    tile_keys = std::max(width, std::min(round_up(std::max<Index>(1, a.tiles.keys), width), padded_keys));
    padded_value = round_up(s.value_dim, width);
    table_count = 0;
    for (const Encoding* e : a.encodings)
      if (e->traits().sites.rotate) tables[table_count++] = {e, e->rotation(), {}, {}};
  }

  void carve(const AttentionArguments& a) {
    constexpr Index width = panel_width<Arch>;
    const AttentionShape& s = a.shape;
    key_panels = arena_.take<float>(padded_keys, s.head_dim);
    value_panels = arena_.take<float>(padded_keys, padded_value);
    finite_values = arena_.take<bool>(padded_keys / tile_keys + 1);
    staged_keys = arena_.take<float>(width, s.head_dim);
    queries = take_rows(block_rows, s.head_dim);
    scores = take_rows(block_rows, tile_keys);
    sums = take_rows(block_rows, padded_value);
    states = arena_.take<RowState>(block_rows);
    Index scratch_size = 0, pairs = 0;
    for (const Encoding* e : a.encodings) {
      if (e->traits().sites.score) scratch_size = std::max(scratch_size, e->score_scratch(block_rows, tile_keys));
      pairs = std::max(pairs, e->rotation().pairs);
    }
    scratch = arena_.take<float>(scratch_size);
    frequencies = arena_.take<double>(pairs);
    default_queries = a.query_positions.data == nullptr ? arena_.take<double>(s.queries) : nullptr;
    default_keys = a.key_positions.data == nullptr ? arena_.take<double>(s.keys) : nullptr;
    for (RotationTables& t : rotations()) {
      t.queries = take_rows(s.queries, t.rotation.table_width());
      t.keys = take_rows(s.keys, t.rotation.table_width());
    }
  }

  View2<float> take_rows(Index rows, Index cols) { return {arena_.take<float>(rows, cols), rows, cols, cols}; }

  Arena arena_;
};

}  // namespace posenc

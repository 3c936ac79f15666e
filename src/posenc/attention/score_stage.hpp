// SPDX-License-Identifier: Apache-2.0
/// From a block of query rows and a tile of keys to masked scores: products, score sites, selection.
#pragma once

#include "posenc/attention/block.hpp"
#include "posenc/attention/direct.hpp"
#include "posenc/attention/panels.hpp"
#include "posenc/attention/visibility.hpp"

namespace posenc {

template <class Arch>
class ScoreStage {
 public:
  static constexpr Index width = panel_width<Arch>;
  /// So few rows share their keys that packing these would cost more than it saves.
  static constexpr Index direct_rows = 8;

  explicit ScoreStage(const AttentionArguments& a)
      : a_(a),
        visibility(a),
        placement(a),
        rotations(a),
        keys(a.k, a.shape.head_dim),
        values(a.v, a.shape.value_dim),
        panels(a),
        direct(a.shape.queries * a.shape.group() <= std::min(direct_rows, a.tiles.queries)),
        scale_(effective_scale(a)) {
    const Index wanted =
        std::max<Index>(1, std::min(a.tiles.queries, a.shape.queries * a.shape.group()));
    rows = round_up(wanted, tile_rows);
    for (const Encoding* e : a.encodings) {
      if (!e->traits().sites.score) continue;
      newest_first_ = newest_first_ || e->traits().cumulative;
      scratch_size_ = std::max(scratch_size_, e->score_scratch(rows, panels.tile_keys));
      carry_width_ += e->carry_width();
    }
  }

 private:
  const AttentionArguments& a_;

 public:
  Visibility visibility;
  Placement placement;
  Rotations<Arch> rotations;
  KeyRows keys, values;
  Panels<Arch> panels;
  bool direct;          ///< keys and values are read as they lie, and panels hold nothing
  Index rows = 0;       ///< rows of the largest block, a multiple of tile_rows
  View2<float> tile{};  ///< [rows, tile_keys]: the scores, then the weights
  float* value_scratch = nullptr;

  void carve(Arena& arena) {
    placement.carve(arena);
    rotations.carve(arena);
    if (!direct) panels.carve(arena, keys, values, rotations.key_copies());
    key_scratch_ = arena.take<float>(keys.scratch_size(panels.tile_keys));
    value_scratch = arena.take<float>(values.scratch_size(panels.tile_keys));
    staged_ =
        arena.take<float>(direct && rotations.any() ? panels.tile_keys : 0, a_.shape.head_dim);
    const Index dim = a_.shape.head_dim;
    queries_ = arena.take<float>(rotations.copies() * rows, dim);
    tile = {arena.take<float>(rows, panels.tile_keys), rows, panels.tile_keys, panels.tile_keys};
    others_ = arena.take<float>((rotations.copies() - 1) * rows, panels.tile_keys);
    chosen_ = arena.take<std::uint8_t>(panels.tile_keys);
    scratch_ = arena.take<float>(scratch_size_);
    carry_ = arena.take<float>(rows, carry_width_);
  }

  /// Before the blocks of a key head.
  void prepare(Index b, Index g) {
    if (!direct) panels.pack(b, g, keys, values, rotations);
  }

  /// Copies, rotates and scales the query rows of a block; rows beyond it are 0.
  void load(const Block& block) {
    for (Index copy = 0; copy < rotations.copies(); ++copy) {
      const View2<float> all = queries(copy);
      for (Index i = 0; i < block.heads; ++i) {
        const Segment seg = block.segment(i);
        const View2<float> part = all.slice(seg.first_row, seg.count);
        for (Index t = 0; t < seg.count; ++t)
          std::copy_n(a_.q.at(block.batch, seg.head, seg.first_query + t), all.cols, part.row(t));
        rotations.rotate_queries(part, seg.first_query, copy);
      }
      for (Index i = 0; i < block.rows(); ++i) {
        const xsimd::batch<float, Arch> scale(row_scale(block.query(i)));
        float* row = all.row(i);
        for_each_vector<Arch>(
            all.cols, [&](Index k, auto io) { io.store(io.load(row + k) * scale, row + k); });
      }
      std::fill(all.row(block.rows()), all.row(rows), 0.0f);
    }
    fresh_ = true;
  }

  /// Calls `f(tile)` for each tile that some query of the block may see.
  template <class F>
  void for_each_tile(const Block& block, F&& f) const {
    const KeyRange keys = range_of(block);
    if (keys.empty()) return;
    const Index size = panels.tile_keys, first = keys.first / size,
                end = (keys.last + size - 1) / size;
    for (Index i = 0; i < end - first; ++i) {
      const Index j = (newest_first_ ? end - 1 - i : first + i) * size;
      f(KeyTile{j, std::min(size, keys.last - j)});
    }
  }

  /// The columns of a tile that query t may see, before masks.
  std::pair<Index, Index> columns(Index t, const KeyTile& keys) const {
    const KeyRange r = visibility.range(t);
    return {std::clamp<Index>(r.first - keys.first, 0, keys.count),
            std::clamp<Index>(r.last - keys.first, 0, keys.count)};
  }

  Index key_head(const Block& block) const { return block.first_head / a_.shape.group(); }

  /// The last column that any of the tile_rows rows from `row` on may see.
  Index reach(const Block& block, Index row, const KeyTile& keys) const {
    Index last = 0;
    for (Index i = row; i < std::min(row + tile_rows, block.rows()); ++i)
      last = std::max(last, columns(block.query(i), keys).second);
    return last;
  }
  /// The last column that any row may see.
  Index reach(const Block& block, const KeyTile& keys) const {
    Index last = 0;
    for (Index i = 0; i < block.rows(); i += tile_rows)
      last = std::max(last, reach(block, i, keys));
    return last;
  }

  /// Whether some row of the block may not see some key of the tile.
  bool hides(const Block& block, const KeyTile& keys) const {
    if (visibility.has_mask()) return true;
    for (Index i = 0; i < block.rows(); ++i)
      if (columns(block.query(i), keys) != std::pair{Index{0}, keys.count}) return true;
    return false;
  }

  /// Fills `tile` for a block that was loaded.
  void compute(const Block& block, const KeyTile& keys) {
    multiply(block, keys);
    if (newest_first_) hide(block, keys);
    Index carry_at = 0;
    for (const Encoding* e : a_.encodings) {
      if (!e->traits().sites.score) continue;
      for (Index i = 0; i < block.heads; ++i)
        e->score(score_tile(block, block.segment(i), keys, carry_at, *e));
      carry_at += e->carry_width();
    }
    fresh_ = false;
    if (visibility.has_mask()) mask(block, keys);
  }

 private:
  View2<float> queries(Index copy) const {
    const Index dim = a_.shape.head_dim;
    return {queries_ + copy * rows * dim, rows, dim, dim};
  }

  float row_scale(Index t) const {
    double scale = scale_;
    for (const Encoding* e : a_.encodings) scale *= e->query_scale(placement.queries[t]);
    return static_cast<float>(scale);
  }

  KeyRange range_of(const Block& block) const {
    KeyRange all{a_.shape.keys, 0};
    for (Index t = block.first_query; t < block.first_query + block.count; ++t) {
      const KeyRange r = visibility.range(t);
      if (!r.empty()) all = {std::min(all.first, r.first), std::max(all.last, r.last)};
    }
    return all;
  }

  void multiply(const Block& block, const KeyTile& keys) {
    const Index copy = rotations.copy_of(placement.queries.slice(block.first_query, block.count),
                                         placement.keys.slice(keys.first, keys.count));
    if (copy >= 0) return product(block, keys, copy, tile.data);
    for (Index c = 0; c < rotations.copies(); ++c)
      product(block, keys, c, c == 0 ? tile.data : other(c));
    for (Index i = 0; i < block.rows(); ++i) {
      rotations.choose_row(placement.queries[block.query(i)],
                           placement.keys.slice(keys.first, keys.count), chosen_);
      float* row = tile.row(i);
      for (Index j = 0; j < keys.count; ++j)
        if (chosen_[j] != 0) row[j] = other(chosen_[j])[i * tile.stride + j];
    }
  }
  float* other(Index copy) const { return others_ + (copy - 1) * rows * tile.stride; }

  void product(const Block& block, const KeyTile& keys, Index copy, float* out) const {
    if (direct) return direct_product(block, keys, copy, out);
    const View2<float> q = queries(copy);
    for (Index i = 0; i < block.rows(); i += tile_rows) {
      const Index last = reach(block, i, keys);
      for (Index j = 0; j < last; j += width)
        RegisterTile<Arch>::product(q.row(i), q.stride,
                                    panels.keys(rotations.key_copy(copy), keys.first + j), q.cols)
            .store(out + i * tile.stride + j, tile.stride);
    }
  }

  void direct_product(const Block& block, const KeyTile& tile_keys, Index copy, float* out) const {
    const View2<const float> q = queries(copy).slice(0, block.rows());
    keys.for_each_run(block.batch, key_head(block), tile_keys.first, reach(block, tile_keys),
                      key_scratch_, [&](Index i, View2<const float> rows) {
                        if (rotations.any()) {
                          const View2<float> staged{staged_, rows.rows, rows.cols, rows.cols};
                          for (Index j = 0; j < rows.rows; ++j)
                            std::copy_n(rows.row(j), rows.cols, staged.row(j));
                          rotations.rotate_keys(staged, tile_keys.first + i,
                                                rotations.key_copy(copy));
                          rows = staged;
                        }
                        dot_rows<Arch>(q, rows, out + i, tile.stride);
                      });
  }

  ScoreTile score_tile(const Block& block, const Segment& seg, const KeyTile& keys, Index carry_at,
                       const Encoding& e) const {
    View2<float> scores = tile.slice(seg.first_row, seg.count);
    scores.cols = keys.count;
    return {.scores = scores,
            .q = queries(0).slice(seg.first_row, seg.count),
            .k = this->keys.together(block.batch, key_head(block), keys.first, keys.count,
                                     key_scratch_),
            .q_pos = placement.queries.slice(seg.first_query, seg.count),
            .k_pos = placement.keys.slice(keys.first, keys.count),
            .head = seg.head,
            .scale = static_cast<float>(scale_),
            .scratch = scratch_,
            .carry = {carry_ + seg.first_row * carry_width_ + carry_at, seg.count, e.carry_width(),
                      carry_width_},
            .first = fresh_};
  }

  /// Everything the rules hide becomes -infinity, for an encoding that sums over keys.
  void hide(const Block& block, const KeyTile& keys) {
    for (Index i = 0; i < block.rows(); ++i) {
      const auto [first, last] = columns(block.query(i), keys);
      std::fill_n(tile.row(i), first, -std::numeric_limits<float>::infinity());
      std::fill(tile.row(i) + last, tile.row(i) + keys.count,
                -std::numeric_limits<float>::infinity());
      visibility.hide_masked(block.batch, block.head(i), block.query(i), keys.first, tile.row(i),
                             keys.count);
    }
  }
  void mask(const Block& block, const KeyTile& keys) {
    for (Index i = 0; i < block.rows(); ++i) {
      const auto [first, last] = columns(block.query(i), keys);
      visibility.apply_mask(block.batch, block.head(i), block.query(i), keys.first + first,
                            tile.row(i) + first, last - first);
    }
  }

  double scale_;
  bool newest_first_ = false, fresh_ = true;
  Index scratch_size_ = 0, carry_width_ = 0;
  float* key_scratch_ = nullptr;
  float* staged_ = nullptr;         ///< [tile_keys, D]: rotated keys, where they are read directly
  float* queries_ = nullptr;        ///< [copies][rows, D], rotated and scaled
  float* others_ = nullptr;         ///< [copies - 1][rows, tile_keys]: scores of the other copies
  std::uint8_t* chosen_ = nullptr;  ///< [tile_keys]
  float* scratch_ = nullptr;
  float* carry_ = nullptr;  ///< [rows, carry_width]
};

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
/// From a block of query rows and a tile of keys to masked scores: products, score sites, selection.
#pragma once

#include "posenc/attention/block.hpp"
#include "posenc/attention/direct.hpp"
#include "posenc/attention/online_softmax.hpp"
#include "posenc/attention/panels.hpp"
#include "posenc/attention/score_sites.hpp"
#include "posenc/attention/visibility.hpp"
#include "posenc/core/tanh.hpp"

namespace posenc {

template <class Arch>
class ScoreStage {
 public:
  static constexpr Index width = panel_width<Arch>;
  /// So few rows share their keys that packing these would cost more than it saves.
  static constexpr Index direct_rows = 8;
  /// Keys that are turned before a product reads them: 16 rows of 128 floats stay in the first cache.
  static constexpr Index staged_rows = 16;

  /// `always_packs`: for who needs the panels, however few the rows.
  explicit ScoreStage(const AttentionArguments& a, bool always_packs = false)
      : a_(a),
        visibility(a),
        placement(a),
        rotations(a),
        keys(a.k, a.shape.head_dim, a.paged_k ? &*a.paged_k : nullptr),
        values(a.v, a.shape.value_dim, a.paged_v ? &*a.paged_v : nullptr),
        panels(a),
        direct(!always_packs &&
               a.shape.queries * a.shape.group() <= std::min(direct_rows, a.tiles.queries)),
        sites(a.encodings),
        scale_(effective_scale(a)) {
    const Index wanted =
        std::max<Index>(1, std::min(a.tiles.queries, a.shape.queries * a.shape.group()));
    rows = round_up(wanted, row_group);
    for (const SiteOrder::Entry& e : sites.all())
      scratch_size_ = std::max(scratch_size_, e.encoding->score_scratch(rows, panels.tile_keys));
  }

 private:
  const AttentionArguments& a_;

 public:
  Visibility visibility;
  Placement placement;
  Rotations<Arch> rotations;
  KeyRows keys, values;
  Panels<Arch> panels;
  bool direct;  ///< keys and values are read as they lie, and panels hold nothing
  SiteOrder sites;
  Index rows = 0;       ///< rows of the largest block, whole groups
  View2<float> tile{};  ///< [rows, tile_keys]: the scores, then the weights
  float* value_scratch = nullptr;

  void carve(Arena& arena) {
    placement.carve(arena);
    rotations.carve(arena);
    if (!direct) panels.carve(arena, keys, values, rotations);
    key_scratch_ = arena.take<float>(
        sites.of_content().empty() ? keys.run_scratch() : keys.scratch_size(panels.tile_keys));
    value_scratch = arena.take<float>(values.run_scratch());
    staged_ = arena.take<float>(direct && stages_keys() ? staged_rows : 0, rotations.width());
    normalised_ = arena.take<float>(
        sites.of_content().empty() || !normalises_keys() ? 0 : panels.tile_keys, a_.shape.head_dim);
    queries_ = arena.take<float>(rotations.copies() * rows, rotations.width());
    interleaved_ = arena.take<float>(direct ? rotations.copies() : 0, interleaved_width());
    tile = {arena.take<float>(rows, panels.tile_keys), rows, panels.tile_keys, panels.tile_keys};
    others_ = arena.take<float>((rotations.copies() - 1) * rows, panels.tile_keys);
    chosen_ = arena.take<std::uint8_t>(panels.tile_keys);
    scratch_ = arena.take<float>(scratch_size_);
    carry_ = arena.take<float>(rows, sites.carry_width());
    temperatures_ = arena.take<float>(rows);
    seen_ = arena.take<SeenKeys>(rows);
    hulls_ = arena.take<KeyRange>(rows);
    sites.carve(arena, a_.shape);
  }

  /// Before the blocks of a key head.
  void prepare(Index b, Index g) {
    if (b == 0 && g == 0) sites.forget();
    if (!direct) panels.pack(b, g, keys, values, rotations);
  }

  /// Copies, rotates and scales the query rows of a block; rows beyond it are 0.
  void load(const Block& block) {
    for (Index t = 0; t < block.count; ++t) {
      seen_[t] = visibility.seen(block.first_query + t);
      temperatures_[t] = static_cast<float>(temperature(block.first_query + t));
    }
    for (Index copy = 0; copy < rotations.copies(); ++copy) {
      const View2<float> all = queries(copy);
      for (Index i = 0; i < block.heads; ++i) {
        const Segment seg = block.segment(i);
        const View2<float> part = all.slice(seg.first_row, seg.count);
        for (Index t = 0; t < seg.count; ++t) {
          std::copy_n(a_.q.at(block.batch, seg.head, seg.first_query + t), a_.shape.head_dim,
                      part.row(t));
          if (a_.q_norm.before()) a_.q_norm.apply(part.row(t), a_.shape.head_dim, seg.head);
        }
        rotations.rotate_queries(part, seg.first_query, copy);
        if (a_.q_norm.after())
          for (Index t = 0; t < seg.count; ++t)
            a_.q_norm.apply(part.row(t), a_.shape.head_dim, seg.head);
      }
      for (Index i = 0; i < block.rows(); ++i) {
        scale_to<Arch>(all.row(i), row_scale(block.query(i)), all.row(i), all.cols);
      }
      std::fill(all.row(block.rows()), all.row(rows), 0.0f);
      if (direct)
        interleave_rows<Arch>(all.slice(0, block.rows()),
                              interleaved_ + copy * interleaved_width());
    }
    for (Index i = 0; i < block.rows(); ++i) hulls_[i] = seen(block, i).hull();
    fresh_ = true;
  }

  /// Calls `f(tile)` for each tile that some query of the block may see, or in the opposite order.
  template <class F>
  void for_each_tile(const Block& block, F&& f, bool backwards = false) const {
    const KeyRange keys = range_of(block);
    if (keys.empty()) return;
    const Index size = panels.tile_keys, first = keys.first / size,
                end = (keys.last + size - 1) / size;
    for (Index i = 0; i < end - first; ++i) {
      const Index j = (sites.newest_first() != backwards ? end - 1 - i : first + i) * size;
      const KeyTile tile{j, std::min(size, keys.last - j)};
      if (!hidden(block, tile)) f(tile);
    }
  }

  /// The columns of a tile from the first that row i may see to the last, before masks.
  std::pair<Index, Index> columns(Index i, const KeyTile& keys) const {
    const KeyRange& r = hulls_[i];
    return {std::clamp<Index>(r.first - keys.first, 0, keys.count),
            std::clamp<Index>(r.last - keys.first, 0, keys.count)};
  }

  Index key_head(const Block& block) const { return block.first_head / a_.shape.group(); }

  /// The columns that any row of the register tile from `row` on may see.
  std::pair<Index, Index> reach(const Block& block, Index row, const KeyTile& keys) const {
    Index first = keys.count, last = 0;
    for (Index i = row; i < std::min(row + tile_of<Arch>.rows, block.rows()); ++i) {
      const auto [from, to] = columns(i, keys);
      if (from >= to) continue;
      first = std::min(first, from);
      last = std::max(last, to);
    }
    return {first, last};
  }

  /// Whether row i may see key j.
  bool visible(const Block& block, Index i, Index j) const {
    return visibility.visible(block.batch, block.head(i), block.query(i), j);
  }
  /// The columns that any row may see.
  std::pair<Index, Index> reach(const Block& block, const KeyTile& keys) const {
    Index first = keys.count, last = 0;
    for (Index i = 0; i < block.rows(); i += tile_of<Arch>.rows) {
      const auto [from, to] = reach(block, i, keys);
      first = std::min(first, from);
      last = std::max(last, to);
    }
    return {first, last};
  }

  /// Whether some row of the block may not see some key of the tile.
  bool hides(const Block& block, const KeyTile& keys) const {
    if (visibility.has_mask() || visibility.has_gaps()) return true;
    for (Index i = 0; i < block.rows(); ++i)
      if (columns(i, keys) != std::pair{Index{0}, keys.count}) return true;
    return false;
  }

  /// Fills `tile` for a block that was loaded.
  void compute(const Block& block, const KeyTile& keys) {
    compute_before(sites.all().size(), block, keys);
    if (visibility.has_gaps()) hide_gaps(block, keys);
    if (visibility.has_mask()) mask(block, keys);
  }
  /// Fills it with what site `stop` is given, before anything but a sum over keys is hidden.
  void compute_before(std::size_t stop, const Block& block, const KeyTile& keys) {
    multiply(block, keys);
    const std::size_t content = sites.of_content().size();
    for (std::size_t i = 0; i < content && i <= stop; ++i) {
      const SiteOrder::Entry& e = sites.all()[i];
      if (e.encoding->traits().cumulative) hide(block, keys);
      if (i < stop) score(block, keys, e);
    }
    if (a_.softcap > 0 && stop >= content) cap(block, keys);
    for (std::size_t i = content; i < stop; ++i) score(block, keys, sites.all()[i]);
    fresh_ = false;
  }
  // For the way back, which meets the tiles of a block once more and in the opposite order.
  void keep_carry(float* to) const { std::copy_n(carry_, rows * sites.carry_width(), to); }
  void restore_carry(const float* from, bool first) {
    std::copy_n(from, rows * sites.carry_width(), carry_);
    fresh_ = first;
  }
  /// What the rows of query t were multiplied by.
  float row_scale(Index t) const { return static_cast<float>(scale_ * temperature(t)); }
  /// The one copy that the scores of a tile come from, or -1: then each pair chooses.
  Index copy_of(const Block& block, const KeyTile& keys) const {
    return rotations.copy_of(placement.queries.slice(block.first_query, block.count),
                             placement.keys.slice(keys.first, keys.count));
  }
  /// The query rows of the block, rotated and scaled.
  View2<float> queries(Index copy) const {
    const Index dim = rotations.width();
    return {queries_ + copy * rows * dim, rows, dim, dim};
  }

  /// What an encoding is given of one head's part of the block.
  ScoreTile score_tile(const Block& block, const Segment& seg, const KeyTile& keys,
                       const SiteOrder::Entry& e) const {
    View2<float> scores = tile.slice(seg.first_row, seg.count);
    scores.cols = keys.count;
    return {
        .scores = scores,
        .q = queries(0).slice(seg.first_row, seg.count),
        .k = e.encoding->traits().content_free ? View2<const float>{} : content_keys(block, keys),
        .q_pos =
            placement.seen_by(*e.encoding, placement.queries).slice(seg.first_query, seg.count),
        .k_pos = placement.seen_by(*e.encoding, placement.keys).slice(keys.first, keys.count),
        .head = seg.head,
        .scale = static_cast<float>(scale_),
        .scratch = scratch_,
        .carry = {carry_ + seg.first_row * sites.carry_width() + e.carry_at, seg.count,
                  e.encoding->carry_width(), sites.carry_width()},
        .first = fresh_,
        .temperatures = temperatures_,
        .kept = e.kept};
  }

 private:
  /// What query t is multiplied by for where it stands.
  double temperature(Index t) const {
    const double position = placement.queries[t];
    double product = a_.query_scale.at(position);
    for (const Encoding* e : a_.encodings) product *= e->query_scale(position);
    return product;
  }

  const SeenKeys& seen(const Block& block, Index i) const { return seen_[i % block.count]; }

  KeyRange range_of(const Block& block) const {
    KeyRange all{a_.shape.keys, 0};
    for (Index t = 0; t < block.count; ++t) {
      const KeyRange r = seen_[t].hull();
      if (!r.empty()) all = {std::min(all.first, r.first), std::max(all.last, r.last)};
    }
    return all;
  }

  /// Whether no query of the block sees any key of a tile. Leaving it out then changes no bit: a
  /// hidden score adds 0 to sums and leaves maxima alone.
  bool hidden(const Block& block, const KeyTile& keys) const {
    const auto leaves_some = [&](Index t) {
      return seen_[t].meets(keys.first, keys.first + keys.count);
    };
    if (visibility.has_gaps()) {
      Index t = 0;
      while (t < block.count && !leaves_some(t)) ++t;
      if (t == block.count) return true;
    }
    if (!visibility.has_mask()) return false;
    const Index rows =
        visibility.mask_ignores_query() ? std::min<Index>(1, block.count) : block.count;
    for (Index i = 0; i < block.heads; ++i)
      for (Index t = 0; t < rows; ++t)
        if (visibility.mask_leaves_some(block.batch, block.first_head + i, block.first_query + t,
                                        keys.first, keys.count))
          return false;
    return true;
  }

  void multiply(const Block& block, const KeyTile& keys) {
    const Index copy = copy_of(block, keys);
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
    for (Index i = 0; i < block.rows(); i += tile_of<Arch>.rows) {
      const auto [first, last] = reach(block, i, keys);
      multiply_columns<Arch>(rows_at<tile_of<Arch>>(i, block.rows()), q.row(i), q.stride,
                             panels.keys(rotations.key_copy(copy), keys.first), q.cols, first, last,
                             out + i * tile.stride, tile.stride);
    }
  }

  void direct_product(const Block& block, const KeyTile& tile_keys, Index copy, float* out) const {
    const float* q = interleaved_ + copy * interleaved_width();
    const auto [from, to] = reach(block, tile_keys);
    if (from >= to) return;
    keys.for_each_run(block.batch, key_head(block), tile_keys.first + from, to - from, key_scratch_,
                      [&, start = from](Index i, const View2<const float>& run) {
                        const Index most = stages_keys() ? staged_rows : run.rows;
                        for (Index j = 0; j < run.rows; j += most) {
                          const Index column = start + i + j;
                          View2<const float> rows = run.slice(j, std::min(most, run.rows - j));
                          if (stages_keys())
                            rows = stage(rows, tile_keys.first + column, copy, key_head(block));
                          dot_rows<Arch>(q, block.rows(), rows, out + column, tile.stride);
                        }
                      });
  }
  Index interleaved_width() const { return interleaved_size<Arch>(rows, rotations.width()); }
  View2<const float> stage(const View2<const float>& rows, Index first, Index copy,
                           Index head) const {
    const View2<float> staged{staged_, rows.rows, rotations.width(), rotations.width()};
    stage_keys(a_.k_norm, head, rows, staged, rotations.turns_keys(), [&](View2<const float> from) {
      rotations.rotate_keys(from, staged, first, rotations.key_copy(copy));
    });
    return staged;
  }
  bool normalises_keys() const { return a_.k_norm.kind != HeadNorm::Kind::none; }
  bool stages_keys() const { return rotations.turns_keys() || normalises_keys(); }

  /// The keys of a tile as content terms see them: normalised where that is asked, never rotated.
  View2<const float> content_keys(const Block& block, const KeyTile& tile_keys) const {
    const Index head = key_head(block);
    const View2<const float> rows =
        keys.together(block.batch, head, tile_keys.first, tile_keys.count, key_scratch_);
    if (!normalises_keys()) return rows;
    const View2<float> normalised{normalised_, rows.rows, rows.cols, rows.cols};
    stage_keys(a_.k_norm, head, rows, normalised, false, [](View2<const float>) {});
    return normalised;
  }

  void score(const Block& block, const KeyTile& keys, const SiteOrder::Entry& e) const {
    for (Index i = 0; i < block.heads; ++i)
      e.encoding->score(score_tile(block, block.segment(i), keys, e));
  }

  void cap(const Block& block, const KeyTile& keys) const {
    for (Index i = 0; i < block.rows(); ++i) {
      const auto [first, last] = columns(i, keys);
      if (first < last)
        soft_cap<Arch>(static_cast<float>(a_.softcap), tile.row(i) + first, last - first);
    }
  }

  /// Everything the rules hide becomes -infinity, for an encoding that sums over keys.
  void hide(const Block& block, const KeyTile& keys) const {
    for (Index i = 0; i < block.rows(); ++i) {
      const auto [first, last] = columns(i, keys);
      std::fill_n(tile.row(i), first, minus_infinity);
      std::fill(tile.row(i) + last, tile.row(i) + keys.count, minus_infinity);
      visibility.hide_masked(block.batch, block.head(i), block.query(i), keys.first, tile.row(i),
                             keys.count);
    }
    if (visibility.has_gaps()) hide_gaps(block, keys);
  }
  void hide_gaps(const Block& block, const KeyTile& keys) const {
    for (Index i = 0; i < block.rows(); ++i) {
      const SeenKeys& r = seen(block, i);
      if (r.head == 0) continue;
      const Index from = std::clamp<Index>(r.head - keys.first, 0, keys.count),
                  to = std::clamp<Index>(r.main.first - keys.first, 0, keys.count);
      std::fill(tile.row(i) + from, tile.row(i) + to, minus_infinity);
    }
  }
  void mask(const Block& block, const KeyTile& keys) const {
    for (Index i = 0; i < block.rows(); ++i) {
      const auto [first, last] = columns(i, keys);
      if (first < last)
        visibility.apply_mask(block.batch, block.head(i), block.query(i), keys.first + first,
                              tile.row(i) + first, last - first);
    }
  }

  double scale_;
  bool fresh_ = true;
  Index scratch_size_ = 0;
  float* key_scratch_ = nullptr;
  float* staged_ = nullptr;   ///< [staged_rows, depth]: rotated keys, where they are read directly
  float* queries_ = nullptr;  ///< [copies][rows, rotated width], rotated and scaled
  float* interleaved_ = nullptr;    ///< [copies]: the same for products without panels
  float* others_ = nullptr;         ///< [copies - 1][rows, tile_keys]: scores of the other copies
  std::uint8_t* chosen_ = nullptr;  ///< [tile_keys]
  float* scratch_ = nullptr;
  float* normalised_ = nullptr;    ///< [tile_keys, D], where content terms need it
  float* carry_ = nullptr;         ///< [rows, carry_width]
  float* temperatures_ = nullptr;  ///< [count of the block]
  SeenKeys* seen_ = nullptr;       ///< [count of the block]
  KeyRange* hulls_ = nullptr;      ///< [rows]: from the first key that one may see to the last
};

}  // namespace posenc

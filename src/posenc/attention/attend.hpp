// SPDX-License-Identifier: Apache-2.0
/// Tiled attention with an online softmax. Knows the four sites and no encoding; templated on the
/// instruction set so that tests run it at several widths.
///
/// For each batch and key head, keys (rotated) and values are packed once and serve every query head
/// of the group. Query rows go in blocks; a block of short sequences holds several heads of the
/// group. Key tiles that no row of a block may see are never computed.
#pragma once

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/online_softmax.hpp"
#include "posenc/attention/products.hpp"
#include "posenc/attention/visibility.hpp"
#include "posenc/attention/workspace.hpp"

namespace posenc {

template <class Arch>
class Attend {
 public:
  explicit Attend(const AttentionArguments& a)
      : a_(a), s_(a.shape), visibility_(a), scale_(static_cast<float>(effective_scale(a))) {}

  Status run() {
    if (Status checked = check(a_); !checked) return checked;
    if (Status ready = w_.prepare(a_); !ready) return ready;
    // All positions are checked before anything is written.
    for (Index b = 0; b < position_sets(); ++b)
      if (Status placed = place(b); !placed) return placed;
    for (Index b = 0; b < s_.batch; ++b) {
      if (b == 0 || position_sets() > 1) {
        if (Status placed = place(b); !placed) return placed;
        fill_tables();
      }
      for (Index g = 0; g < s_.kv_heads; ++g) {
        pack(b, g);
        for_each_block(b, g);
      }
    }
    return {};
  }

 private:
  /// Rows of one block that belong to one head: queries first_query .. + count of head `head`.
  struct Segment {
    Index head, first_query, count, first_row;
  };
  /// A block of query rows: `heads` heads with the same `count` queries each.
  struct Block {
    Index batch, first_head, heads, first_query, count;
    constexpr Index rows() const { return heads * count; }
    constexpr Segment segment(Index i) const { return {first_head + i, first_query, count, i * count}; }
    constexpr Index head(Index row) const { return first_head + row / count; }
    constexpr Index query(Index row) const { return first_query + row % count; }
  };
  struct KeyTile {
    Index first, count;
  };

  // --- positions and rotation -----------------------------------------------------------------

  Index position_sets() const {
    return std::max(a_.query_positions.rows, a_.key_positions.rows) > 1 ? s_.batch : 1;
  }

  static Positions given(const PositionRows& rows, Index b, Index count, Index axes) {
    return Positions::of(rows.data + (rows.rows > 1 ? b : 0) * axes * count, count, axes);
  }
  static Positions counted(double* storage, Index first, Index count) {
    for (Index i = 0; i < count; ++i) storage[i] = static_cast<double>(first + i);
    return Positions::of(storage, count);
  }

  Status place(Index b) {
    q_pos_ = a_.query_positions.data ? given(a_.query_positions, b, s_.queries, a_.axes)
                                     : counted(w_.default_queries, a_.first_query(), s_.queries);
    k_pos_ = a_.key_positions.data ? given(a_.key_positions, b, s_.keys, a_.axes)
                                   : counted(w_.default_keys, 0, s_.keys);
    for (const Encoding* e : a_.encodings) {
      if (!acts(*e)) continue;
      if (Status s = named(e->accepts(q_pos_), "queryPositions"); !s) return s;
      if (Status s = named(e->accepts(k_pos_), "keyPositions"); !s) return s;
    }
    return {};
  }
  /// An embedding is added before the projections, so attention asks nothing of its positions.
  static bool acts(const Encoding& e) {
    const Sites& s = e.traits().sites;
    return s.rotate || s.score || s.value;
  }
  static Status named(const Status& status, Name field) {
    if (status) return status;
    Error error = status.error();
    error.field = field;
    return error;
  }

  void fill_tables() {
    double length = 0;
    for (const Positions& p : {q_pos_, k_pos_})
      for (Index i = 0; i < p.count; ++i) length = std::max(length, p[i] + 1);
    for (RotationTables& t : w_.rotations()) {
      t.encoding->angles({.out = t.queries, .positions = q_pos_, .role = Role::query, .length = length,
                          .scratch = w_.frequencies});
      t.encoding->angles({.out = t.keys, .positions = k_pos_, .role = Role::key, .length = length,
                          .scratch = w_.frequencies});
    }
  }

  // --- packing --------------------------------------------------------------------------------

  void pack(Index b, Index g) {
    constexpr Index width = panel_width<Arch>;
    for (Index j = 0; j < s_.keys; j += width) {
      const Index n = std::min(width, s_.keys - j);
      const float* rows = a_.k.at(b, g, j);
      Index stride = a_.k.row;
      if (w_.table_count > 0) {
        for (Index i = 0; i < n; ++i)
          std::copy_n(rows + i * stride, s_.head_dim, w_.staged_keys + i * s_.head_dim);
        const View2<float> staged{w_.staged_keys, n, s_.head_dim, s_.head_dim};
        for (const RotationTables& t : w_.rotations())
          rotate_rows<Arch>(t.rotation, staged, t.keys.slice(j, n), false);
        rows = staged.data;
        stride = staged.stride;
      }
      pack_columns<Arch>(rows, stride, n, s_.head_dim, w_.key_panels, j);
    }
    for (Index j = 0; j < s_.keys; j += w_.tile_keys)
      w_.finite_values[j / w_.tile_keys] =
          pack_rows<Arch>(a_.v.at(b, g, j), a_.v.row, std::min(w_.tile_keys, s_.keys - j), s_.value_dim,
                          w_.value_panels, w_.padded_keys, j);
  }

  // --- blocks of queries ----------------------------------------------------------------------

  void for_each_block(Index b, Index g) {
    if (s_.queries == 0) return;
    const Index rows = std::max<Index>(1, a_.tiles.queries);
    const Index heads_at_once = std::clamp<Index>(rows / s_.queries, 1, s_.group());
    for (Index h = 0; h < s_.group(); h += heads_at_once)
      for (Index t = 0; t < s_.queries; t += rows)
        attend(Block{.batch = b,
                     .first_head = g * s_.group() + h,
                     .heads = std::min(heads_at_once, s_.group() - h),
                     .first_query = t,
                     .count = std::min(rows, s_.queries - t)});
  }

  void attend(const Block& block) {
    load_queries(block);
    std::fill_n(w_.states, block.rows(), RowState{});
    std::fill_n(w_.sums.data, w_.block_rows * w_.sums.stride, 0.0f);
    const KeyRange keys = union_of_ranges(block);
    for_each_tile(keys, [&](const KeyTile& tile) {
      score(block, tile);
      for (Index i = 0; i < block.rows(); ++i) {
        const auto [first, last] = columns(block.query(i), tile);
        const float factor =
            absorb<Arch>(w_.states[i], w_.scores.row(i), first, last, round_up(tile.count, panel_width<Arch>));
        if (factor != 1.0f) rescale(w_.sums.row(i), factor);
      }
      add_values(block, tile);
    });
    finish(block);
    if (a_.weights != nullptr) write_weights(block, keys);
  }

  void load_queries(const Block& block) {
    for (Index i = 0; i < block.heads; ++i) {
      const Segment seg = block.segment(i);
      const View2<float> rows = w_.queries.slice(seg.first_row, seg.count);
      for (Index t = 0; t < seg.count; ++t)
        std::copy_n(a_.q.at(block.batch, seg.head, seg.first_query + t), s_.head_dim, rows.row(t));
      for (const RotationTables& r : w_.rotations())
        rotate_rows<Arch>(r.rotation, rows, r.queries.slice(seg.first_query, seg.count), false);
    }
    for_each_vector<Arch>(block.rows() * s_.head_dim, [&](Index k, auto io) {
      io.store(io.load(w_.queries.data + k) * xsimd::batch<float, Arch>(scale_), w_.queries.data + k);
    });
    std::fill(w_.queries.row(block.rows()), w_.queries.row(w_.block_rows), 0.0f);
  }

  // --- tiles of keys --------------------------------------------------------------------------

  KeyRange union_of_ranges(const Block& block) const {
    KeyRange all{s_.keys, 0};
    for (Index t = block.first_query; t < block.first_query + block.count; ++t) {
      const KeyRange r = visibility_.range(t);
      if (r.empty()) continue;
      all = {std::min(all.first, r.first), std::max(all.last, r.last)};
    }
    return all;
  }

  template <class F>
  void for_each_tile(const KeyRange& keys, F&& f) const {
    if (keys.empty()) return;
    for (Index j = keys.first / w_.tile_keys * w_.tile_keys; j < keys.last; j += w_.tile_keys)
      f(KeyTile{j, std::min(w_.tile_keys, keys.last - j)});
  }

  /// The columns of the tile that query t may see, before masks.
  std::pair<Index, Index> columns(Index t, const KeyTile& tile) const {
    const KeyRange r = visibility_.range(t);
    return {std::clamp<Index>(r.first - tile.first, 0, tile.count),
            std::clamp<Index>(r.last - tile.first, 0, tile.count)};
  }

  /// The last column that any of the tile_rows rows from `row` may see.
  Index reach(const Block& block, Index row, const KeyTile& tile) const {
    Index last = 0;
    for (Index i = row; i < std::min(row + tile_rows, block.rows()); ++i)
      last = std::max(last, columns(block.query(i), tile).second);
    return last;
  }

  void score(const Block& block, const KeyTile& tile) {
    constexpr Index width = panel_width<Arch>;
    for (Index i = 0; i < block.rows(); i += tile_rows) {
      const Index last = reach(block, i, tile);
      for (Index j = 0; j < last; j += width)
        RegisterTile<Arch>::product(w_.queries.row(i), w_.queries.stride,
                                    w_.key_panels + (tile.first + j) * s_.head_dim, s_.head_dim)
            .store(w_.scores.row(i) + j, w_.scores.stride);
    }
    for (const Encoding* e : a_.encodings)
      if (e->traits().sites.score)
        for (Index i = 0; i < block.heads; ++i) e->score(score_tile(block, block.segment(i), tile));
    if (!visibility_.has_mask()) return;
    for (Index i = 0; i < block.rows(); ++i) {
      const auto [first, last] = columns(block.query(i), tile);
      visibility_.apply_mask(block.batch, block.head(i), block.query(i), tile.first + first,
                             w_.scores.row(i) + first, last - first);
    }
  }

  ScoreTile score_tile(const Block& block, const Segment& seg, const KeyTile& tile) {
    const Index g = seg.head / s_.group();
    View2<float> scores = w_.scores.slice(seg.first_row, seg.count);
    scores.cols = tile.count;
    return {.scores = scores,
            .q = w_.queries.slice(seg.first_row, seg.count),
            .k = {a_.k.at(block.batch, g, tile.first), tile.count, s_.head_dim, a_.k.row},
            .q_pos = q_pos_.slice(seg.first_query, seg.count),
            .k_pos = k_pos_.slice(tile.first, tile.count),
            .head = seg.head,
            .scale = scale_,
            .scratch = w_.scratch};
  }

  void add_values(const Block& block, const KeyTile& tile) {
    constexpr Index width = panel_width<Arch>;
    if (w_.finite_values[tile.first / w_.tile_keys]) {
      for (Index i = 0; i < block.rows(); i += tile_rows) {
        const Index last = reach(block, i, tile);
        for (Index c = 0; c < w_.padded_value; c += width)
          RegisterTile<Arch>::product(w_.scores.row(i), w_.scores.stride,
                                      w_.value_panels + c * w_.padded_keys + tile.first * width, last)
              .add_to(w_.sums.row(i) + c, w_.sums.stride);
      }
    } else {
      add_visible_values(block, tile);
    }
    for (const Encoding* e : a_.encodings)
      if (e->traits().sites.value)
        for (Index i = 0; i < block.heads; ++i) e->value(value_tile(block.segment(i), tile));
  }

  /// A NaN or infinite value times the weight 0 of a hidden key would spread as NaN. Tiles that hold
  /// one are summed key by key, over visible keys only.
  void add_visible_values(const Block& block, const KeyTile& tile) {
    constexpr Index width = panel_width<Arch>;
    for (Index i = 0; i < block.rows(); ++i)
      for (Index j = 0; j < tile.count; ++j) {
        if (!visibility_.visible(block.batch, block.head(i), block.query(i), tile.first + j)) continue;
        for (Index c = 0; c < w_.padded_value; c += width)
          add_scaled<Arch>(w_.scores.row(i)[j],
                           w_.value_panels + c * w_.padded_keys + (tile.first + j) * width,
                           w_.sums.row(i) + c, width);
      }
  }

  ValueTile value_tile(const Segment& seg, const KeyTile& tile) {
    View2<const float> weights = w_.scores.slice(seg.first_row, seg.count);
    weights.cols = tile.count;
    View2<float> out = w_.sums.slice(seg.first_row, seg.count);
    out.cols = s_.value_dim;
    return {.weights = weights,
            .out = out,
            .q_pos = q_pos_.slice(seg.first_query, seg.count),
            .k_pos = k_pos_.slice(tile.first, tile.count),
            .head = seg.head};
  }

  // --- results --------------------------------------------------------------------------------

  void rescale(float* row, float factor) {
    for_each_vector<Arch>(w_.padded_value, [&](Index c, auto io) {
      io.store(io.load(row + c) * xsimd::batch<float, Arch>(factor), row + c);
    });
  }

  void finish(const Block& block) {
    for (Index i = 0; i < block.rows(); ++i) {
      const Index h = block.head(i), t = block.query(i);
      const RowState& state = w_.states[i];
      const xsimd::batch<float, Arch> inverse(state.sum == 0.0f ? 0.0f : 1.0f / state.sum);
      float* out = a_.output.at(block.batch, h, t);
      const float* sums = w_.sums.row(i);
      for_each_vector<Arch>(s_.value_dim,
                            [&](Index c, auto io) { io.store(io.load(sums + c) * inverse, out + c); });
      if (a_.log_sum_exp != nullptr)
        a_.log_sum_exp[(block.batch * s_.heads + h) * s_.queries + t] = state.log_sum_exp();
    }
  }

  /// The scores are computed a second time, now that the sum of each row is known: the first pass
  /// does not know whether weights are wanted, so asking for them cannot change the output.
  void write_weights(const Block& block, const KeyRange& keys) {
    for (Index i = 0; i < block.rows(); ++i) std::fill_n(weights_row(block, i), s_.keys, 0.0f);
    for_each_tile(keys, [&](const KeyTile& tile) {
      score(block, tile);
      for (Index i = 0; i < block.rows(); ++i) {
        const auto [first, last] = columns(block.query(i), tile);
        float* scores = w_.scores.row(i);
        normalise<Arch>(w_.states[i], scores, first, last);
        std::copy(scores + first, scores + last, weights_row(block, i) + tile.first + first);
      }
    });
  }
  float* weights_row(const Block& block, Index i) const {
    return a_.weights + ((block.batch * s_.heads + block.head(i)) * s_.queries + block.query(i)) * s_.keys;
  }

  const AttentionArguments& a_;
  const AttentionShape& s_;
  Visibility visibility_;
  float scale_;
  Workspace<Arch> w_;
  Positions q_pos_, k_pos_;
};

}  // namespace posenc

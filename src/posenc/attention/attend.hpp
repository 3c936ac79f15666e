// SPDX-License-Identifier: Apache-2.0
/// Tiled attention with an online softmax. Knows the four sites and no encoding; templated on the
/// instruction set so that tests run it at several widths.
#pragma once

#include "posenc/attention/online_softmax.hpp"
#include "posenc/attention/score_stage.hpp"

namespace posenc {

template <class Arch>
class Attend {
 public:
  explicit Attend(const AttentionArguments& a) : a_(a), s_(a.shape), scores_(a) {}

  Status run() {
    if (Status placed = check_positions(); !placed) return placed;
    Arena arena;
    carve(arena);
    if (Status committed = arena.commit(); !committed) return committed;
    carve(arena);
    a_.ready();
    compute();
    return {};
  }

  // The steps of run(), for many sequences in one block of memory.
  Status check_positions() const { return scores_.placement.check(); }
  void carve(Arena& arena) {
    scores_.carve(arena);
    const Index width = scores_.panels.padded_value;
    sums_ = {arena.take<float>(scores_.rows, width), scores_.rows, width, width};
    states_ = arena.take<RowState>(scores_.rows);
    apart_ = arena.take<float>(scores_.direct ? apart_size() : 0);
    order_.carve(arena, scores_.direct ? scores_.panels.tile_keys : 0,
                 sum_streams(s_.queries * s_.group()));
  }
  void compute() {
    Placement& placement = scores_.placement;
    for (Index b = 0; b < s_.batch; ++b) {
      const bool moved = b == 0 || placement.sets() > 1;
      if (moved) placement.place(b);
      for (Index g = 0; g < s_.kv_heads; ++g) {
        if ((moved && g == 0) || scores_.rotations.per_head())
          scores_.rotations.fill(placement, g * s_.group());
        scores_.prepare(b, g);
        for_each_block(s_, std::max<Index>(1, a_.tiles.queries), b, g,
                       [&](const Block& block) { attend(block); });
      }
    }
  }

 private:
  void attend(const Block& block) {
    scores_.load(block);
    if (a_.weights != nullptr)
      for (Index i = 0; i < block.rows(); ++i) std::fill_n(weights_row(block, i), s_.keys, 0.0f);
    std::fill_n(states_, block.rows(), RowState{});
    std::fill_n(sums_.data, sums_.rows * sums_.stride, 0.0f);
    scores_.for_each_tile(block, [&](const KeyTile& keys) {
      scores_.compute(block, keys);
      if (a_.weights != nullptr) keep_scores(block, keys);
      const Index width = round_up(keys.count, panel_width<Arch>);
      for (Index i = 0; i < block.rows(); ++i) {
        const auto [first, last] = scores_.columns(i, keys);
        const float factor = absorb<Arch>(states_[i], scores_.tile.row(i), first, last, width);
        if (factor != 1.0f) scale_to<Arch>(sums_.row(i), factor, sums_.row(i), sums_.cols);
      }
      add_values(block, keys);
    });
    finish(block);
    if (a_.weights != nullptr) write_weights(block);
  }

  void add_values(const Block& block, const KeyTile& keys) {
    if (scores_.direct)
      add_values_directly(block, keys);
    else if (scores_.panels.finite(keys.first))
      multiply_values(block, keys);
    else
      for (Index c = 0; c < sums_.cols; c += panel_width<Arch>)
        add_visible_values(block, keys, c,
                           {scores_.panels.values(c, keys.first), keys.count, panel_width<Arch>,
                            panel_width<Arch>});
    for (const Encoding* e : a_.encodings)
      if (e->traits().sites.value)
        for (Index i = 0; i < block.heads; ++i) e->value(value_tile(*e, block.segment(i), keys));
  }

  void multiply_values(const Block& block, const KeyTile& keys) {
    const View2<float>& weights = scores_.tile;
    for (Index i = 0; i < block.rows(); i += tile_of<Arch>.rows) {
      const auto [first, last] = scores_.reach(block, i, keys);
      if (first >= last) continue;
      const Index rows = rows_at<tile_of<Arch>>(i, block.rows());
      View2<const float> part = weights.slice(i, rows);
      part.data += first;
      add_product<Arch>(part, scores_.panels.values(0, keys.first + first),
                        scores_.panels.padded_keys, last - first, true, sums_.slice(i, rows));
    }
  }

  /// What a tile adds is summed apart: of 8192 keys, 128 meet in one sum and 64 such sums in another.
  void add_values_directly(const Block& block, const KeyTile& keys) {
    const auto [from, to] = scores_.reach(block, keys);
    if (from >= to) return;
    const bool hides = scores_.hides(block, keys);
    std::fill_n(apart_, apart_size(), 0.0f);
    // Runs come whole, whichever of their rows are seen: see SumOrder.
    scores_.values.for_each_run(
        block.batch, scores_.key_head(block), keys.first,
        std::min(scores_.panels.tile_keys, s_.keys - keys.first), scores_.value_scratch,
        [&, from = from, to = to](Index column, const View2<const float>& run) {
          const Index first = std::max<Index>(from - column, 0),
                      last = std::min(to - column, run.rows);
          if (first >= last) return;
          const std::span<const Index> order = order_.of(run.rows, first, last);
          if (!hides || all_finite<Arch>(run.slice(first, last - first)))
            return add_weighted_rows<Arch>(
                {scores_.tile.data + column, block.rows(), run.rows, scores_.tile.stride}, run,
                order, apart_);
          for (Index r = 0; r < block.rows(); ++r)
            add_visible_rows<Arch>(
                scores_.tile.row(r) + column, r, block.rows(), run, order, apart_,
                [&](Index j) { return scores_.visible(block, r, keys.first + column + j); });
        });
    add_interleaved<Arch>(apart_, {sums_.data, block.rows(), s_.value_dim, sums_.stride});
  }
  Index apart_size() const { return interleaved_size<Arch>(scores_.rows, s_.value_dim); }

  /// A NaN or infinite value times the weight 0 of a hidden key would spread as NaN. Where there is
  /// one, values are summed key by key, over visible keys only: here columns c ..
  void add_visible_values(const Block& block, const KeyTile& keys, Index c,
                          const View2<const float>& values) {
    alignas(memory_alignment) float line[static_cast<std::size_t>(panel_width<Arch>)];
    for (Index i = 0; i < block.rows(); ++i) {
      // Summed apart and added once, as in the register tile: a hidden NaN changes no bit.
      std::fill_n(line, panel_width<Arch>, 0.0f);
      for (Index j = 0; j < values.rows; ++j)
        if (scores_.visible(block, i, keys.first + j))
          add_scaled<Arch>(scores_.tile.row(i)[j], values.row(j), line, values.cols);
      add_scaled<Arch>(1.0f, line, sums_.row(i) + c, values.cols);
    }
  }

  ValueTile value_tile(const Encoding& e, const Segment& seg, const KeyTile& keys) const {
    View2<const float> weights = scores_.tile.slice(seg.first_row, seg.count);
    weights.cols = keys.count;
    View2<float> out = sums_.slice(seg.first_row, seg.count);
    out.cols = s_.value_dim;
    const Placement& p = scores_.placement;
    return {.weights = weights,
            .out = out,
            .q_pos = p.seen_by(e, p.queries).slice(seg.first_query, seg.count),
            .k_pos = p.seen_by(e, p.keys).slice(keys.first, keys.count),
            .head = seg.head};
  }

  void finish(const Block& block) {
    for (Index i = 0; i < block.rows(); ++i) {
      const Index h = block.head(i), t = block.query(i);
      RowState& state = states_[i];
      const float sunk = a_.sinks == nullptr ? 1.0f : absorb_sink<Arch>(state, a_.sinks[h]);
      scale_to<Arch>(sums_.row(i), state.sum == 0.0f ? 0.0f : sunk / state.sum,
                     a_.output.at(block.batch, h, t), s_.value_dim);
      if (a_.log_sum_exp != nullptr)
        a_.log_sum_exp[a_.result_row(block.batch, h, t)] = state.log_sum_exp();
    }
  }

  /// Scores wait where the weights will stand until the sum of each row is known.
  void keep_scores(const Block& block, const KeyTile& keys) {
    for (Index i = 0; i < block.rows(); ++i) {
      const auto [first, last] = scores_.columns(i, keys);
      const float* row = scores_.tile.row(i);
      std::copy(row + first, row + last, weights_row(block, i) + keys.first + first);
    }
  }
  /// By way of the tile, since normalise() works on whole vectors and the caller's rows end where they end.
  void write_weights(const Block& block) {
    scores_.for_each_tile(block, [&](const KeyTile& keys) {
      for (Index i = 0; i < block.rows(); ++i) {
        const auto [first, last] = scores_.columns(i, keys);
        float* row = scores_.tile.row(i);
        float* kept = weights_row(block, i) + keys.first;
        std::copy(kept + first, kept + last, row + first);
        normalise<Arch>(states_[i], row, first, last);
        std::copy(row + first, row + last, kept + first);
      }
    });
  }
  float* weights_row(const Block& block, Index i) const {
    return a_.weights_row(block.batch, block.head(i), block.query(i));
  }

  const AttentionArguments& a_;
  const AttentionShape& s_;
  ScoreStage<Arch> scores_;
  View2<float> sums_;           ///< [rows, padded value width]: running weighted values
  RowState* states_ = nullptr;  ///< [rows]
  float* apart_ = nullptr;      ///< interleaved, where values are read directly
  SumOrder order_;              ///< of those values
};

}  // namespace posenc

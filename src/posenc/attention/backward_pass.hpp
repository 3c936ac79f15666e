// SPDX-License-Identifier: Apache-2.0
/// The gradients of attention, tile by tile: the weights are computed once more from the scores and
/// the log-sum-exp that the forward pass gave, so nothing of size T x S is kept.
///
///   P = exp(S - lse)          dV = P^T dO         dP = dO V^T (+ value terms)
///   dS = P (dP - dO·O)        dQ = dS K           dK = dS^T Q      (+ score terms)
///   d sink = - sum of exp(sink - lse) dO·O over the rows of its head
///
/// Templated on the instruction set so that tests run it at several widths.
#pragma once

#include "posenc/attention/backward.hpp"
#include "posenc/attention/online_softmax.hpp"
#include "posenc/attention/score_stage.hpp"
#include "posenc/core/powers.hpp"

namespace posenc {

template <class Arch>
class Backward {
 public:
  explicit Backward(const BackwardArguments& a)
      : a_(a), f_(a_.forward), s_(f_.shape), scores_(f_, true) {}

  // The steps: for one sequence after the other in one block of memory, which begins with sums over
  // all of them.
  Status check_positions() const { return scores_.placement.check(); }
  POSENC_COLD void carve(Arena& arena) {
    for (std::size_t e = 0; e < f_.encodings.size(); ++e)
      sums_[e] = arena.take<double>(f_.encodings[e]->gradient_size());
    sink_sums_ = arena.take<double>(a_.sink_gradient == nullptr ? 0 : s_.heads);
    norm_sums_[0] = arena.take<double>(weights_of(f_.q_norm));
    norm_sums_[1] = arena.take<double>(weights_of(f_.k_norm));
    scores_.carve(arena);
    carve_own(arena);
  }
  POSENC_COLD void compute() {
    // Shapes without elements may name any number of heads, which need not be walked.
    if (s_.queries == 0 && s_.keys == 0) return;
    Placement& placement = scores_.placement;
    for (Index b = 0; b < s_.batch; ++b) {
      const bool moved = b == 0 || placement.sets() > 1;
      if (moved) placement.place(b);
      for (Index g = 0; g < s_.kv_heads; ++g) {
        if ((moved && g == 0) || scores_.rotations.per_head())
          scores_.rotations.fill(placement, g * s_.group());
        scores_.prepare(b, g);
        pack(b, g);
        for_each_block(s_, std::max<Index>(1, f_.tiles.queries), b, g,
                       [&](const Block& block) { differentiate(block); });
        finish_keys(b, g);
      }
    }
  }
  POSENC_COLD void collect() {
    std::size_t at = 0;
    for (std::size_t e = 0; e < f_.encodings.size(); ++e) {
      const std::size_t count = f_.encodings[e]->gradients().size();
      if (count > 0) f_.encodings[e]->collect_gradients(sums_[e], a_.tables.data() + at);
      at += count;
    }
    if (a_.sink_gradient != nullptr)
      for (Index h = 0; h < s_.heads; ++h) a_.sink_gradient[h] = static_cast<float>(sink_sums_[h]);
    for (const auto& [norm, sums, to] : {std::tuple{&f_.q_norm, norm_sums_[0], a_.q_norm_gradient},
                                         {&f_.k_norm, norm_sums_[1], a_.k_norm_gradient}})
      for (Index i = 0; to != nullptr && i < weights_of(*norm); ++i)
        to[i] = static_cast<float>(sums[i]);
  }

 private:
  static constexpr Index width = panel_width<Arch>;

  POSENC_COLD void carve_own(Arena& arena) {
    const Index rows = scores_.rows, tile = scores_.panels.tile_keys,
                keys = scores_.panels.padded_keys, copies = scores_.rotations.copies(),
                key_copies = scores_.rotations.key_copies(),
                depth = round_up(scores_.queries(0).cols, width),
                value = round_up(s_.value_dim, width);
    const auto view = [&](Index n, Index cols) {
      return View2<float>{arena.take<float>(n, cols), n, cols, cols};
    };
    key_lines_ = view(key_copies * keys, depth);
    value_columns_ = arena.take<float>(keys, s_.value_dim);
    keys_finite_ = arena.take<bool>(key_copies * (keys / tile + 1));
    out_ = view(rows, s_.value_dim);
    out_lines_ = arena.take<float>(rows, value);
    query_lines_ = view(copies * rows, depth);
    delta_ = arena.take<float>(rows);
    log_sum_exp_ = arena.take<float>(rows);
    weights_ = view(rows, tile);
    gradient_ = view(rows, tile);
    part_ = view(copies > 1 ? rows : 0, tile);
    turned_ = view(round_up(tile, row_group), rows);
    chosen_ = arena.take<std::uint8_t>(tile);
    by_query_ = view(copies * rows, depth);
    by_key_ = view(key_copies * keys, depth);
    by_value_ = view(keys, value);
    by_given_key_ = view(has_content() ? s_.keys : 0, s_.head_dim);
    room_ = view(rows, scores_.queries(0).cols);
    prepared_ = view(rows, s_.head_dim);
    carry_ = view(carry_width() > 0 ? keys / tile + 1 : 0, rows * carry_width());
    by_carry_ = view(rows, carry_width());
  }

  /// The keys once more, as lines of channels, out of the panels that hold them rotated as columns;
  /// and the values as columns.
  POSENC_COLD void pack(Index b, Index g) {
    const Index depth = scores_.queries(0).cols, keys = scores_.panels.padded_keys,
                tile = scores_.panels.tile_keys;
    for (Index copy = 0; copy < scores_.rotations.key_copies(); ++copy) {
      float* lines = key_lines_.row(copy * keys);
      for (Index j = 0; j < keys; j += width) {
        const float* panel = scores_.panels.keys(copy, j);
        bool& finite = keys_finite_[copy * (keys / tile + 1) + j / tile];
        finite = j % tile == 0 || finite;  // in this order: at first it holds nothing
        for (Index k = 0; k < depth; ++k)
          for (Index c = 0; c < width; ++c) {
            const float x = panel[k * width + c];
            lines[(k / width * keys + j + c) * width + k % width] = x;
            finite = finite && std::isfinite(x);
          }
      }
    }
    for (Index j = 0; j < s_.keys; j += width)
      pack_columns<Arch>(f_.v.at(b, g, j), f_.v.row, std::min(width, s_.keys - j), s_.value_dim,
                         value_columns_, j);
    for (View2<float>* sum : {&by_key_, &by_value_, &by_given_key_}) clear(*sum);
  }

  POSENC_COLD void differentiate(const Block& block) {
    scores_.load(block);
    load(block);
    clear(by_query_);
    clear(by_carry_);
    if (carry_width() > 0)
      scores_.for_each_tile(block, [&](const KeyTile& keys) {
        const Index at = keys.first / scores_.panels.tile_keys;
        scores_.keep_carry(carry_.row(at));
        first_tile_ = first_tile_ < 0 ? at : first_tile_;
        scores_.compute(block, keys);
      });
    scores_.for_each_tile(
        block,
        [&](const KeyTile& keys) {
          restore_carry(keys);
          scores_.compute(block, keys);
          weigh(block, keys);
          differentiate_weights(block, keys);
          differentiate_scores(block, keys);
          add_products(block, keys);
        },
        scores_.sites.newest_first());
    first_tile_ = -1;
    finish_queries(block);
  }
  void restore_carry(const KeyTile& keys) {
    if (carry_width() == 0) return;
    const Index at = keys.first / scores_.panels.tile_keys;
    scores_.restore_carry(carry_.row(at), at == first_tile_);
  }

  /// The gradient of the block's output, and what each row's weights share. A row that sees nothing
  /// has no part in anything, whatever it holds.
  POSENC_COLD void load(const Block& block) {
    clear(out_);
    for (Index i = 0; i < scores_.rows; ++i) {
      delta_[i] = 0;
      log_sum_exp_[i] = minus_infinity;
      if (i >= block.rows()) continue;
      const Index h = block.head(i), t = block.query(i);
      log_sum_exp_[i] = f_.log_sum_exp[f_.result_row(block.batch, h, t)];
      if (log_sum_exp_[i] == minus_infinity) {
        for (Index copy = 0; copy < scores_.rotations.copies(); ++copy)
          std::fill_n(scores_.queries(copy).row(i), scores_.queries(copy).cols, 0.0f);
        continue;
      }
      const float* by = a_.output_gradient.at(block.batch, h, t);
      std::copy_n(by, s_.value_dim, out_.row(i));
      delta_[i] = dot<Arch>(by, f_.output.at(block.batch, h, t), s_.value_dim);
      if (a_.sink_gradient != nullptr)
        sink_sums_[h] -=
            exponential(static_cast<double>(f_.sinks[h]) - log_sum_exp_[i]) * delta_[i];
    }
    out_finite_ =
        pack_rows<Arch>(out_.data, out_.stride, out_.rows, out_.cols, out_lines_, out_.rows, 0);
    queries_finite_ = true;
    for (Index copy = 0; copy < scores_.rotations.copies(); ++copy) {
      const View2<float> q = scores_.queries(copy);
      queries_finite_ = pack_rows<Arch>(q.data, q.stride, q.rows, q.cols,
                                        query_lines_.row(copy * q.rows), q.rows, 0) &&
                        queries_finite_;
    }
  }

  /// The weights of the tile, 0 for hidden pairs.
  void weigh(const Block& block, const KeyTile& keys) {
    for (Index i = 0; i < round_up(block.rows(), row_group); ++i) {
      float* row = weights_.row(i);
      std::fill_n(row, weights_.cols, minus_infinity);
      if (log_sum_exp_[i] != minus_infinity) {
        const auto [first, last] = scores_.columns(i, keys);
        std::copy(scores_.tile.row(i) + first, scores_.tile.row(i) + std::max(first, last),
                  row + first);
      }
      final_weights<Arch>(row, weights_.cols, log_sum_exp_[i]);
    }
  }

  /// gradient_ = P (dP - delta), and exactly 0 where P is, whatever a hidden value holds.
  void differentiate_weights(const Block& block, const KeyTile& keys) {
    for (Index i = 0; i < block.rows(); i += tile_of<Arch>.rows)
      multiply_columns<Arch>(rows_at<tile_of<Arch>>(i, block.rows()), out_.row(i), out_.stride,
                             value_columns_ + keys.first * s_.value_dim, s_.value_dim, 0,
                             keys.count, gradient_.row(i), gradient_.stride);
    for (const Encoding* e : f_.encodings)
      for (Index i = 0; e->traits().sites.value && i < block.heads; ++i) {
        const Segment seg = block.segment(i);
        View2<float> weights = weights_.slice(seg.first_row, seg.count),
                     gradient = gradient_.slice(seg.first_row, seg.count);
        weights.cols = gradient.cols = keys.count;
        e->value_gradient({.tile = {.weights = weights,
                                    .out = out_.slice(seg.first_row, seg.count),
                                    .q_pos = queries_of(*e, seg),
                                    .k_pos = keys_of(*e, keys),
                                    .head = seg.head},
                           .weights = gradient,
                           .sums = sums_of(*e)});
      }
    for (Index i = 0; i < round_up(block.rows(), row_group); ++i)
      through_softmax<Arch>(weights_.row(i), delta_[i], gradient_.row(i), gradient_.cols);
  }

  /// From the masked scores back to the products: biases first, which were added last.
  void differentiate_scores(const Block& block, const KeyTile& keys) {
    if (a_.mask_gradient != nullptr) add_to_mask(block, keys);
    const std::size_t content = scores_.sites.of_content().size();
    for (std::size_t i = scores_.sites.all().size(); i > content; --i)
      differentiate_site(i - 1, block, keys);
    if (f_.softcap > 0) {
      restore_carry(keys);
      scores_.compute_before(content, block, keys);
      const double bound = f_.softcap;
      for (Index i = 0; i < block.rows(); ++i)
        for (Index j = 0; j < keys.count; ++j) {
          float& by = gradient_.row(i)[j];
          const double tanh = scores_.tile.row(i)[j] / bound;
          if (by != 0) by = static_cast<float>(by * (1 - tanh * tanh));
        }
    }
    for (std::size_t i = content; i > 0; --i) differentiate_site(i - 1, block, keys);
  }
  POSENC_COLD void differentiate_site(std::size_t site, const Block& block, const KeyTile& keys) {
    const SiteOrder::Entry& entry = scores_.sites.all()[site];
    const Encoding& e = *entry.encoding;
    if (e.needs_scores()) {
      restore_carry(keys);
      scores_.compute_before(site, block, keys);
    }
    restore_carry(keys);
    for (Index i = 0; i < block.heads; ++i) {
      const Segment seg = block.segment(i);
      View2<float> gradient = gradient_.slice(seg.first_row, seg.count),
                   q = by_query_.slice(seg.first_row, seg.count);
      gradient.cols = keys.count;
      q.cols = s_.head_dim;
      e.score_gradient(
          {.tile = scores_.score_tile(block, seg, keys, entry),
           .gradient = gradient,
           .q = q,
           .k = has_content() ? by_given_key_.slice(keys.first, keys.count) : View2<float>{},
           .sums = sums_of(e),
           .carry = {by_carry_.row(seg.first_row) + entry.carry_at, seg.count, e.carry_width(),
                     by_carry_.stride}});
    }
  }
  POSENC_COLD void add_to_mask(const Block& block, const KeyTile& keys) {
    for (Index i = 0; i < block.rows(); ++i)
      for (Index j = 0; j < keys.count; ++j)
        a_.mask_gradient[f_.mask.offset(block.batch, block.head(i), block.query(i),
                                        keys.first + j)] += gradient_.row(i)[j];
  }

  void add_products(const Block& block, const KeyTile& keys) {
    const Index rows = block.rows();
    add_product<Arch>(turned(weights_, rows, keys.count), out_lines_, scores_.rows, rows,
                      out_finite_, by_value_.slice(keys.first, keys.count));
    const Index copy = scores_.copy_of(block, keys);
    if (copy >= 0) return add_products(block, keys, copy, gradient_);
    for (Index c = 0; c < scores_.rotations.copies(); ++c) {
      for (Index i = 0; i < rows; ++i) {
        scores_.rotations.choose_row(scores_.placement.queries[block.query(i)],
                                     scores_.placement.keys.slice(keys.first, keys.count), chosen_);
        for (Index j = 0; j < keys.count; ++j)
          part_.row(i)[j] = chosen_[j] == c ? gradient_.row(i)[j] : 0.0f;
      }
      for (Index i = rows; i < round_up(rows, row_group); ++i)
        std::fill_n(part_.row(i), part_.cols, 0.0f);
      add_products(block, keys, c, part_);
    }
  }
  void add_products(const Block& block, const KeyTile& keys, Index copy,
                    const View2<float>& gradient) {
    const Index rows = block.rows(), padded = scores_.panels.padded_keys,
                key_copy = scores_.rotations.key_copy(copy);
    const bool finite = keys_finite_[key_copy * (padded / scores_.panels.tile_keys + 1) +
                                     keys.first / scores_.panels.tile_keys];
    for (Index i = 0; i < rows; i += tile_of<Arch>.rows) {
      const auto [first, last] = scores_.reach(block, i, keys);
      const Index high = rows_at<tile_of<Arch>>(i, rows);
      View2<const float> part = gradient.slice(i, high);
      part.data += first;
      add_product<Arch>(part, key_lines_.row(key_copy * padded) + (keys.first + first) * width,
                        padded, last - first, finite,
                        by_query_.slice(copy * scores_.rows + i, high));
    }
    add_product<Arch>(turned(gradient, rows, keys.count), query_lines_.row(copy * scores_.rows),
                      scores_.rows, rows, queries_finite_,
                      by_key_.slice(key_copy * padded + keys.first, keys.count));
  }

  /// The first `count` columns as rows, in whole groups.
  View2<const float> turned(const View2<float>& from, Index rows, Index count) {
    const Index all = round_up(count, row_group);
    for (Index j = 0; j < all; ++j)
      for (Index i = 0; i < rows; ++i) turned_.row(j)[i] = j < count ? from.row(i)[j] : 0.0f;
    return turned_.slice(0, all);
  }

  POSENC_COLD void finish_queries(const Block& block) {
    for (Index n = 0; n < block.heads; ++n) {
      const Segment seg = block.segment(n);
      const View2<const float> given{f_.q.at(block.batch, seg.head, seg.first_query), seg.count,
                                     s_.head_dim, f_.q.row};
      const Side side{Role::query, f_.q_norm, norm_sums_[0], seg.head, seg.head};
      for (Index copy = 0; copy < scores_.rotations.copies(); ++copy)
        for (Index i = 0; i < seg.count; ++i) {
          float* row = by_query_.row(copy * scores_.rows + seg.first_row + i);
          const float scale = scores_.row_scale(seg.first_query + i);
          for (Index k = 0; k < by_query_.cols; ++k) row[k] *= scale;
        }
      const View2<float> all =
          pull_back(side, given, seg.first_query, by_query_.slice(seg.first_row, seg.count),
                    scores_.rotations.copies(), scores_.rows, {});
      for (Index i = 0; i < seg.count; ++i)
        std::copy_n(all.row(i), s_.head_dim,
                    a_.q_gradient.at(block.batch, seg.head, seg.first_query + i));
    }
  }

  POSENC_COLD void finish_keys(Index b, Index g) {
    for (Index j = 0; j < s_.keys; j += scores_.rows) {
      const Index n = std::min(scores_.rows, s_.keys - j);
      const View2<const float> given{f_.k.at(b, g, j), n, s_.head_dim, f_.k.row};
      const Side side{Role::key, f_.k_norm, norm_sums_[1], g, g * s_.group()};
      const View2<float> all = pull_back(
          side, given, j, by_key_.slice(j, n), scores_.rotations.key_copies(),
          scores_.panels.padded_keys, has_content() ? by_given_key_.slice(j, n) : View2<float>{});
      for (Index i = 0; i < n; ++i) {
        add_or_set(all.row(i), s_.head_dim, !a_.accumulates, a_.k_gradient.at(b, g, j + i));
        add_or_set(by_value_.row(j + i), s_.value_dim, !a_.accumulates,
                   a_.v_gradient.at(b, g, j + i));
      }
    }
  }

  /// Queries or keys: what was done to each of their rows.
  struct Side {
    Role role;
    const HeadNorm& norm;
    double* norm_sums;
    Index head;        ///< whose weights normalise
    Index table_head;  ///< whose tables rotate
  };
  /// From the gradients of the rotated copies of rows, `step` rows apart, to that of the rows as they
  /// were given, in place of the first copy. `content`: that of rows that were not rotated, or null.
  POSENC_COLD View2<float> pull_back(const Side& side, View2<const float> given, Index first,
                                     const View2<float>& copies, Index count, Index step,
                                     const View2<float>& content) {
    const auto normalise_back = [&](const float* row, float* gradient) {
      side.norm.pull_back(row, gradient, s_.head_dim, side.head,
                          weights_of(side.norm) > 0 ? side.norm_sums : nullptr);
    };
    const View2<float> prepared = prepared_.slice(0, given.rows),
                       rotated = room_.slice(0, given.rows);
    for (Index i = 0; i < given.rows; ++i) {
      std::copy_n(given.row(i), given.cols, prepared.row(i));
      if (side.norm.before()) side.norm.apply(prepared.row(i), given.cols, side.head);
    }
    for (Index copy = 0; copy < count; ++copy) {
      View2<float> part = copies;
      part.data += copy * step * copies.stride;
      if (side.norm.after()) {
        for (Index i = 0; i < given.rows; ++i)
          std::copy_n(given.row(i), given.cols, rotated.row(i));
        if (side.role == Role::query)
          scores_.rotations.rotate_queries(rotated, first, copy);
        else
          scores_.rotations.rotate_keys(rotated, rotated, first, copy);
        for (Index i = 0; i < given.rows; ++i) normalise_back(rotated.row(i), part.row(i));
      }
      rotate_back(side, prepared, part, first, copy);
      for (Index i = 0; copy > 0 && i < given.rows; ++i)
        add_or_set(part.row(i), s_.head_dim, false, copies.row(i));
    }
    for (Index i = 0; i < given.rows; ++i) {
      if (content.data != nullptr) {
        if (side.norm.after()) normalise_back(given.row(i), content.row(i));
        add_or_set(content.row(i), s_.head_dim, false, copies.row(i));
      }
      if (side.norm.before()) normalise_back(given.row(i), copies.row(i));
    }
    return copies;
  }

  POSENC_COLD void rotate_back(const Side& side, View2<const float> given, View2<float> part,
                               Index first, Index copy) {
    scores_.rotations.rotate_back(
        side.role, given, part, first, copy, room_,
        [&](const Encoding& e, View2<const float> rows) {
          const Placement& p = scores_.placement;
          e.angle_gradient({.rows = rows.slice(0, part.rows),
                            .gradient = part,
                            .positions = p.seen_by(e, side.role == Role::query ? p.queries : p.keys)
                                             .slice(first, part.rows),
                            .role = side.role,
                            .head = side.table_head,
                            .sums = sums_of(e)});
        });
  }

  static void add_or_set(const float* from, Index n, bool set, float* to) {
    for (Index k = 0; k < n; ++k) to[k] = set ? from[k] : to[k] + from[k];
  }
  static void clear(const View2<float>& view) {
    std::fill_n(view.data, view.rows * view.stride, 0.0f);
  }
  Positions queries_of(const Encoding& e, const Segment& seg) const {
    const Placement& p = scores_.placement;
    return p.seen_by(e, p.queries).slice(seg.first_query, seg.count);
  }
  Positions keys_of(const Encoding& e, const KeyTile& keys) const {
    const Placement& p = scores_.placement;
    return p.seen_by(e, p.keys).slice(keys.first, keys.count);
  }
  double* sums_of(const Encoding& e) const {
    std::size_t i = 0;
    while (f_.encodings[i] != &e) ++i;
    return sums_[i];
  }
  Index weights_of(const HeadNorm& norm) const {
    return norm.kind == HeadNorm::Kind::none || norm.weight == nullptr
               ? 0
               : norm.weight_heads * s_.head_dim;
  }
  Index carry_width() const { return scores_.sites.carry_width(); }
  /// Whether some score term looks at queries or keys.
  bool has_content() const { return !scores_.sites.of_content().empty(); }

  const BackwardArguments& a_;
  const AttentionArguments& f_;
  const AttentionShape& s_;
  ScoreStage<Arch> scores_;
  bool out_finite_ = true, queries_finite_ = true;
  Index first_tile_ = -1;  ///< where a cumulative encoding begins

  // Of a key head.
  View2<float> key_lines_;          ///< [copies][depth / width][padded keys][width]: rotated
  float* value_columns_ = nullptr;  ///< [padded keys / width][value width][width]
  bool* keys_finite_ = nullptr;     ///< [copies][tiles]
  View2<float> by_key_, by_value_;  ///< [copies][padded keys, depth] and [padded keys, value]
  View2<float> by_given_key_;       ///< [keys, D]: of score terms, which see keys unrotated
  // Of a block.
  View2<float> out_;              ///< [rows, value width]: the gradient of the output
  float* out_lines_ = nullptr;    ///< the same, packed
  View2<float> query_lines_;      ///< [copies]: queries, packed
  float* delta_ = nullptr;        ///< [rows]: output times its gradient
  float* log_sum_exp_ = nullptr;  ///< [rows]
  View2<float> by_query_;         ///< [copies][rows, depth]
  View2<float> carry_;            ///< [tiles]: what cumulative encodings carried into each
  View2<float> by_carry_;
  View2<float> room_, prepared_;  ///< [rows]: rotated, and as they go into the rotation
  // Of a tile.
  View2<float> weights_, gradient_, part_;  ///< [rows, tile keys]
  View2<float> turned_;                     ///< [tile keys, rows]
  std::uint8_t* chosen_ = nullptr;
  // Of all sequences.
  std::array<double*, AttentionArguments::max_encodings> sums_{};
  double* sink_sums_ = nullptr;
  std::array<double*, 2> norm_sums_{};  ///< of the weights of q_norm and k_norm
};

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <limits>

#include "posenc/core/encoding.hpp"
#include "posenc/core/position_rules.hpp"
#include "posenc/core/tile_gradients.hpp"
#include "posenc/core/toeplitz.hpp"
#include "posenc/encodings/transformer_xl_vectors.hpp"

namespace posenc {

/// Transformer-XL: content and distance, each with a bias of its own on the query. Dai et al.,
/// 2019.
///
///   s(m, j) = ((q_m + u) · k_j + (q_m + v) · r_h(m - j)) / sqrt(D),   r_h(d) = relative[h] R(d)
///   R(d) = sin(d w_0), sin(d w_1), …, cos(d w_0), cos(d w_1), …,     w_i = base^(-2i/E)
///
/// The distance is used as it is, without the reference's shift of rows, so keys in the future are
/// right too (XLNet). `clamp` limits it on both sides. Vectors r(d) up to `reach` are computed
/// once, farther ones once in each call. `projected` gives r itself,
/// learned or computed elsewhere: row origin + d, and beyond the ends the last row.
class TransformerXl : public EncodingDefaults {
 public:
  struct Options {
    int heads = 0;
    int head_dim = 0;
    Table u, v, relative, projected;
    std::optional<int> clamp;
    int origin = 0;
    int reach = 512;
    double base = 10000;
  };
  static constexpr Spec spec{.id = "transformer-xl",
                             .title = "Transformer-XL",
                             .summary =
                                 "Projected sinusoids of the distance meet the query, with learned "
                                 "biases for content and position.",
                             .formula = "s(m, j) = ((qₘ + u)·kⱼ + (qₘ + v)·W_R R(m − j))/√d",
                             .paper = "Dai et al., 2019",
                             .url = "https://arxiv.org/abs/1901.02860",
                             .used_by = "Transformer-XL, XLNet",
                             .sites = {.score = true},
                             .positions = PositionKind::integer,
                             .relative = true};
  using F = FieldOf<Options>;
  static constexpr std::array fields{
      F::integer<&Options::heads>("heads", "Query heads.", 1, 65536).required(8),
      F::integer<&Options::head_dim>("headDim", "Width of one head.", 1, 4096).required(64),
      F::integer<&Options::clamp>("clamp", "Farther distances count as this one.", 1, 65536)
          .example(400),
      F::integer<&Options::origin>("origin", "The row of `projected` for distance 0.", 0, 1e6),
      F::integer<&Options::reach>("reach", "Distances whose vectors are computed once.", 0, 65536),
      F::number<&Options::base>("base", "Base of the wavelengths of R.", 1, 1e9)
          .exclusive_min()
          .logarithmic(),
      F::table<&Options::u>("u", "Added to queries that meet keys [heads, headDim].",
                            Dim::of("heads"), Dim::of("headDim"))
          .required(),
      F::table<&Options::v>("v", "Added to queries that meet distances [heads, headDim].",
                            Dim::of("heads"), Dim::of("headDim"))
          .required(),
      F::table<&Options::relative>("relative", "Projects R [heads, headDim, E], with an even E.",
                                   Dim::of("heads"), Dim::of("headDim"), Dim::any("E", 64))
          .usual(),
      F::table<&Options::projected>("projected",
                                    "The projected vectors instead [rows, heads, headDim].",
                                    Dim::any("rows", 64), Dim::of("heads"), Dim::of("headDim"))};

  static Result<TransformerXl> make(Options&& o) {
    if (o.relative.empty() == o.projected.empty())
      return fault(o.relative.empty() ? Errc::missing_option : Errc::option_not_applicable,
                   o.relative.empty() ? "relative" : "projected",
                   "given, or else the other of relative and projected");
    if (!o.relative.empty() && o.relative.shape[2] % 2 != 0)
      return fault(Errc::not_even, "relative", "of an even last extent",
                   static_cast<double>(o.relative.shape[2]));
    if (!o.projected.empty() && o.origin >= o.projected.shape[0])
      return outside(Errc::out_of_range, "origin", "less than the rows of projected",
                     static_cast<double>(o.origin), 0,
                     static_cast<double>(o.projected.shape[0] - 1));
    auto vectors = o.relative.empty()
                       ? RelativeVectors::given(o.projected, o.origin, o.clamp)
                       : RelativeVectors::projected(std::move(o.relative), o.base,
                                                    o.clamp.value_or(o.reach), o.clamp.has_value());
    if (!vectors) return vectors.error();
    o.projected.data = Buffer<float>();
    return TransformerXl(std::move(o), std::move(*vectors));
  }

  Index heads() const { return o_.heads; }
  Index head_dim() const { return o_.head_dim; }
  Index score_scratch(Index rows, Index cols) const {
    return row_group * (o_.head_dim + stride(rows, cols)) + vectors_.scratch();
  }
  BlockRoom kept_blocks(Index queries, Index keys) const {
    if (vectors_.bounded() || std::max(queries, keys) <= reach_) return {};
    BlockRoom room = BlockRoom::for_call(queries, keys, vectors_.depth());
    // Rows that are multiplied together need each block once, so a decoding step keeps but the last.
    if (queries <= row_group) room.count = 1;
    return room;
  }
  Status accepts(const Positions& positions) const { return check_integer_positions(positions); }

  template <class Arch>
  void score(Arch, const ScoreTile& t) const {
    if (t.scores.rows == 0 || t.scores.cols == 0) return;
    add_content<Arch>(t);
    const Range keys = range_of(t.k_pos, 0, t.k_pos.count),
                queries = range_of(t.q_pos, 0, t.q_pos.count);
    const double first = keys.least - queries.greatest, last = keys.greatest - queries.least;
    const double reach = static_cast<double>(reach_);
    const bool near = bounded_ || (first >= -reach && last <= reach);
    // As dense as consecutive positions, and no number of a column overflows.
    const bool dense = last - first < static_cast<double>(t.scores.rows + t.scores.cols) &&
                       std::max(-first, last) < 1 << 30;
    const bool kept = !near && dense && t.kept.any();
    for (Index i = 0; i < t.scores.rows; i += row_group) {
      const Range own = range_of(t.q_pos, i, std::min(row_group, t.scores.rows - i));
      const double from = keys.least - own.greatest, to = keys.greatest - own.least;
      if (kept)
        add_kept<Arch>(t, i, static_cast<Index>(from) + reach_,
                       static_cast<Index>(to) + reach_ + 1);
      else if (near)
        add_near<Arch>(t, i, vectors_.column(from), vectors_.column(to) + 1);
    }
    if (!near && !kept) add_scattered<Arch>(t);
  }

  static constexpr std::array<std::string_view, 4> gradients{"u", "v", "relative", "projected"};
  /// u, v, the vectors that are kept, the weights of the projection, then room for one R(d) and for
  /// the gradient of its r(d).
  Index gradient_size() const { return weights_at() + (all() + 1) * width() + o_.head_dim; }
  template <class Arch>
  void score_gradient(Arch, const ScoreGradient& g) const {
    const ScoreTile& t = g.tile;
    const Index dim = o_.head_dim;
    double *by_u = g.sums + t.head * dim, *by_v = by_u + all();
    for (Index j = 0; j < g.gradient.cols; ++j) {
      float sum = 0;
      for (Index i = 0; i < g.gradient.rows; ++i) sum += t.temperature(i) * g.gradient.row(i)[j];
      if (sum == 0) continue;
      add_row(sum * t.scale, t.k.row(j), by_u, dim);
      add_scaled<Arch>(sum * t.scale, o_.u.row(t.head), g.k.row(j), dim);
    }
    float* const weights = t.scratch;
    float* const own = weights + near().columns();
    float* const by_own = own + dim;
    std::fill_n(weights, near().columns(), 0.0f);
    for (Index i = 0; i < g.gradient.rows; ++i) {
      Index first = near().columns(), last = 0;
      std::fill_n(by_own, dim, 0.0f);
      std::copy_n(t.q.row(i), dim, own);
      const float scale = t.scale * t.temperature(i);
      add_scaled<Arch>(scale, o_.v.row(t.head), own, dim);
      for (Index j = 0; j < g.gradient.cols; ++j) {
        const float by = g.gradient.row(i)[j];
        const double relative = t.k_pos[j] - t.q_pos[i];
        if (by == 0 || is_far(relative)) continue;
        const Index c = vectors_.column(relative);
        weights[c] += by;
        first = std::min(first, c);
        last = std::max(last, c + 1);
      }
      near().pull_back<Arch>(own, 1.0f, weights, t.head, first, last, by_own, g.sums + 2 * all());
      add_scaled<Arch>(1.0f, by_own, g.q.row(i), dim);
      add_row(scale, by_own, by_v, dim);
    }
    if (!bounded_) far_gradient<Arch>(g, by_v);
  }
  void collect_gradients(double* sums, float* const* tables) const {
    const Index rows = o_.projected.shape[0];
    for (Index i = 0; i < 2; ++i) round_gradients(sums + i * all(), all(), tables[i]);
    for (Index relative = -reach_; relative <= reach_; ++relative) {
      vectors_.fill_waves(-static_cast<double>(relative), sums + waves_at());
      for (Index row = 0; row < all(); ++row) {
        const double by =
            sums[2 * all() + near().place(row / o_.head_dim, relative + reach_, row % o_.head_dim)];
        if (rows == 0)
          project_back(row, by, sums);
        else if (tables[3] != nullptr)
          tables[3][std::clamp<Index>(o_.origin - relative, 0, rows - 1) * all() + row] +=
              static_cast<float>(by);
      }
    }
    round_gradients(sums + weights_at(), all() * width(), tables[2]);
  }

 private:
  TransformerXl(Options&& o, RelativeVectors&& vectors)
      : o_(std::move(o)),
        vectors_(std::move(vectors)),
        reach_(vectors_.reach()),
        bounded_(vectors_.bounded()) {}

  struct Range {
    double least, greatest;
  };
  static Range range_of(const Positions& p, Index first, Index n) {
    if (p.consecutive) return {p[first], p[first + n - 1]};
    const auto [least, greatest] = std::minmax_element(p.data + first, p.data + first + n);
    return {*least, *greatest};
  }

  /// From the products of one row to those of the next, whole panels at both ends.
  Index stride(Index rows, Index cols) const {
    return std::max(near().columns(), rows + cols + 2 * vectors_in_block);
  }

  template <class Arch>
  void add_content(const ScoreTile& t) const {
    for (Index j = 0; j < t.scores.cols; ++j)
      t.scratch[j] = t.scale * dot<Arch>(o_.u.row(t.head), t.k.row(j), o_.head_dim);
    for (Index i = 0; i < t.scores.rows; ++i)
      add_scaled<Arch>(t.temperature(i), t.scratch, t.scores.row(i), t.scores.cols);
  }

  /// (q + v) of four rows, which is what they are multiplied with.
  template <class Arch>
  Index load_block(const ScoreTile& t, Index i, float* block) const {
    const Index count = load_rows<Arch>(t.q, i, 1.0f, block);
    for (Index r = 0; r < count; ++r)
      add_scaled<Arch>(t.scale * t.temperature(i + r), o_.v.row(t.head), block + r * o_.head_dim,
                       o_.head_dim);
    return count;
  }

  /// (q + v) · r for the columns first .. last - 1, wherever they are.
  template <class Arch>
  void add_kept(const ScoreTile& t, Index i, Index first, Index last) const {
    float* const block = t.scratch;
    float* const products = block + row_group * o_.head_dim;
    const Index step = stride(t.scores.rows, t.scores.cols);
    const Index count = load_block<Arch>(t, i, block);
    multiply_run<Arch>(block, o_.head_dim, first, last, products, step, [&](Index b) {
      const float* vectors = vectors_.near_block(t.head, b);
      if (vectors != nullptr) return vectors;
      return t.kept.get(t.head + 1, b, [&](float* out) {
        vectors_.fill_block<Arch>(t.head, b, products + row_group * step, out);
      });
    });
    for (Index r = 0; r < count; ++r) {
      const float* by_column = products + r * step - first_of_run<Arch>(first) + reach_;
      const auto at = [&](Index j) {
        return by_column + static_cast<Index>(t.k_pos[j] - t.q_pos[i + r]);
      };
      float* row = t.scores.row(i + r);
      if (t.k_pos.consecutive)
        add_scaled<Arch>(1.0f, at(0), row, t.scores.cols);
      else
        for (Index j = 0; j < t.scores.cols; ++j) row[j] += *at(j);
    }
  }

  /// Those within the table, which are all the rows need or all there are.
  template <class Arch>
  void add_near(const ScoreTile& t, Index i, Index first, Index last) const {
    float* const block = t.scratch;
    float* const products = block + row_group * o_.head_dim;
    const Index count = load_block<Arch>(t, i, block);
    near().products<Arch>(block, t.head, first, last, products);
    for (Index r = 0; r < count; ++r) {
      const ToeplitzRow row{products + r * near().columns(), reach_};
      add_toeplitz<Arch>(row, t.q_pos[i + r], t.k_pos, t.scores.row(i + r));
    }
  }

  /// Diagonal by diagonal, where neighbours have the same distance and share its vector.
  template <class Arch>
  void add_scattered(const ScoreTile& t) const {
    const Index rows = t.scores.rows, cols = t.scores.cols;
    float* const vector = t.scratch;
    double current = std::numeric_limits<double>::quiet_NaN();
    float own = 0;
    for (Index d = 1 - rows; d < cols; ++d)
      for (Index i = std::max<Index>(0, -d); i < rows && i + d < cols; ++i) {
        const double relative = t.k_pos[i + d] - t.q_pos[i];
        if (relative != current) {
          current = relative;
          vectors_.vector_at<Arch>(t.head, -relative, vector + o_.head_dim, vector);
          own = t.scale * dot<Arch>(o_.v.row(t.head), vector, o_.head_dim);
        }
        t.scores.row(i)[i + d] +=
            t.temperature(i) * own + dot<Arch>(t.q.row(i), vector, o_.head_dim);
      }
  }

  // Of the sums of gradients.
  Index all() const { return Index{o_.heads} * o_.head_dim; }
  Index width() const { return o_.relative.shape[2]; }
  const VectorTable& near() const { return vectors_.near(); }
  Index weights_at() const { return 2 * all() + near().size(); }
  Index waves_at() const { return weights_at() + all() * width(); }

  bool is_far(double relative) const {
    return !bounded_ && std::abs(relative) > static_cast<double>(reach_);
  }
  /// To the weights that made one element of r at the distance of the waves.
  void project_back(Index row, double by, double* sums) const {
    if (by == 0) return;
    double* weights = sums + weights_at() + row * width();
    for (Index e = 0; e < width(); ++e) weights[e] += by * sums[waves_at() + e];
  }
  /// Diagonal by diagonal, as add_scattered.
  template <class Arch>
  void far_gradient(const ScoreGradient& g, double* by_v) const {
    const ScoreTile& t = g.tile;
    const Index rows = g.gradient.rows, cols = g.gradient.cols, dim = o_.head_dim;
    float* const vector = t.scratch;
    const float* v = o_.v.row(t.head);
    double* const by_vector = g.sums + waves_at() + width();
    double current = std::numeric_limits<double>::quiet_NaN();
    const auto flush = [&] {
      for (Index k = 0; k < dim; ++k)
        project_back(t.head * dim + k, std::exchange(by_vector[k], 0.0), g.sums);
    };
    for (Index d = 1 - rows; d < cols; ++d)
      for (Index i = std::max<Index>(0, -d); i < rows && i + d < cols; ++i) {
        const double relative = t.k_pos[i + d] - t.q_pos[i];
        const float by = g.gradient.row(i)[i + d];
        if (by == 0 || !is_far(relative)) continue;
        if (relative != current) {
          flush();
          current = relative;
          vectors_.fill_waves(-relative, g.sums + waves_at());
          vectors_.vector_at<Arch>(t.head, -relative, vector + o_.head_dim, vector);
        }
        const float scale = t.scale * t.temperature(i);
        for (Index k = 0; k < dim; ++k)
          by_vector[k] += static_cast<double>(by) * (t.q.row(i)[k] + scale * v[k]);
        add_scaled<Arch>(by, vector, g.q.row(i), dim);
        add_row(by * scale, vector, by_v, dim);
      }
    flush();
  }

  Options o_;
  RelativeVectors vectors_;
  Index reach_;
  bool bounded_;
};

}  // namespace posenc

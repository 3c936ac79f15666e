// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "posenc/core/encoding.hpp"
#include "posenc/core/position_rules.hpp"
#include "posenc/core/toeplitz.hpp"
#include "posenc/core/transposed.hpp"
#include "posenc/core/vector_table.hpp"
#include "posenc/encodings/deberta_buckets.hpp"

namespace posenc {

/// Disentangled attention: content to position and position to content. He et al., 2021.
///
///   s(m, j) = (q_m · k_j + q_m · positionKey[i] + k_j · positionQuery[i]) / sqrt(D (1 + terms))
///   i = clip(bucket(m - j) + span, 0, 2 span - 1),   span = buckets, else maxDistance
///
/// Both terms use m - j: the paper writes j - m for the second, but the published weights do not.
/// `terms` says which there are. Tables are projected and may be shared by layers; without
/// `buckets` (v1) every distance below maxDistance has rows of its own. Hugging Face counts on
/// beyond maxDistance, so that far keys in the future get row 0; Microsoft's original limits the
/// distance first and gives row 1: `limit`.
class Deberta : public EncodingDefaults {
 public:
  enum Term : unsigned { c2p = 1, p2c = 2 };
  static constexpr std::array<std::string_view, 2> term_names{"c2p", "p2c"};

  struct Options {
    int heads = 0;
    int head_dim = 0;
    Table position_query, position_key;
    std::optional<int> buckets;
    int max_distance = 512;
    unsigned terms = c2p | p2c;
    bool limit = false;
  };
  static constexpr Spec spec{
      .id = "deberta",
      .title = "DeBERTa disentangled",
      .summary =
          "Queries meet the vector of the distance, and keys another one, in logarithmic buckets.",
      .formula = "s(m, j) = (qₘ·kⱼ + qₘ·Kʳ[δ] + kⱼ·Qʳ[δ])/√(3d), δ = bucket(m − j)",
      .paper = "He et al., 2021",
      .url = "https://arxiv.org/abs/2006.03654",
      .used_by = "DeBERTa, DeBERTa-v2, DeBERTa-v3",
      .sites = {.score = true},
      .positions = PositionKind::integer,
      .relative = true};
  using F = FieldOf<Options>;
  static constexpr std::array fields{
      F::integer<&Options::heads>("heads", "Query heads.", 1, 65536).required(8),
      F::integer<&Options::head_dim>("headDim", "Width of one head.", 1, 4096).required(64),
      F::integer<&Options::buckets>(
          "buckets", "Distances per side that have rows; logarithmic beyond half of them.", 4, 4096)
          .multiple_of(2)
          .falls_back_to("maxDistance"),
      F::integer<&Options::max_distance>("maxDistance", "The distance where the last bucket ends.",
                                         1, 65536)
          .logarithmic(),
      F::names<&Options::terms>("terms", "Content to position, position to content.", term_names),
      F::boolean<&Options::limit>(
          "limit", "Limit distances to maxDistance - 1 first, as the original code does."),
      F::table<&Options::position_query>(
          "positionQuery", "Meets keys, for p2c [2 buckets, heads, headDim].",
          Dim::of("buckets", 2), Dim::of("heads"), Dim::of("headDim"))
          .usual(),
      F::table<&Options::position_key>("positionKey",
                                       "Meets queries, for c2p [2 buckets, heads, headDim].",
                                       Dim::of("buckets", 2), Dim::of("heads"), Dim::of("headDim"))
          .usual()};

  static Result<Deberta> make(Options&& o) {
    for (const auto& [term, table, field] : {std::tuple{c2p, &o.position_key, "positionKey"},
                                             {p2c, &o.position_query, "positionQuery"}})
      if ((o.terms & term) != 0 && table->empty())
        return fault(Errc::missing_option, field, "given, since terms asks for it");
    const int half = o.buckets.value_or(0) / 2;
    if (o.buckets && half >= o.max_distance - 1)
      return outside(Errc::out_of_range, "maxDistance", "more than half of buckets plus 1",
                     static_cast<double>(o.max_distance), static_cast<double>(half + 2), 65536);
    auto rows = DebertaRows::make(o.buckets, o.max_distance, o.limit);
    if (!rows) return rows.error();
    Deberta made(o, std::move(*rows));
    for (const auto& [from, to] :
         {std::pair{&o.position_key, &made.keys_}, {&o.position_query, &made.queries_}})
      if (Status s = made.pack(*from, *to); !s) return s;
    return made;
  }

  Index heads() const { return heads_; }
  Index head_dim() const { return head_dim_; }
  std::optional<double> score_scale(Index head_dim) const {
    const double parts = 1 + ((terms_ & c2p) != 0 ? 1 : 0) + ((terms_ & p2c) != 0 ? 1 : 0);
    return 1 / std::sqrt(static_cast<double>(head_dim) * parts);
  }
  Index score_scratch(Index rows, Index cols) const {
    const Index aligned = row_group * head_dim_ + widest * (stride(rows, cols) + rows + widest);
    return std::max({keys_.scratch(), queries_.scratch(), aligned});
  }
  BlockRoom kept_blocks(Index queries, Index keys) const {
    if (queries < least_rows) return {};
    BlockRoom room = BlockRoom::for_call(queries, keys, head_dim_);
    room.count = 2 * std::min(room.count, (2 * rows_.reach() + 1) / distances_in_block + 1);
    return room;
  }
  Status accepts(const Positions& positions) const { return check_integer_positions(positions); }

  /// The row of the tables for a distance, query minus key.
  Index row(double distance) const { return rows_.at(distance); }

  template <class Arch>
  void score(Arch, const ScoreTile& t) const {
    if (t.scores.rows == 0 || t.scores.cols == 0) return;
    if (t.kept.any() && t.scores.rows >= least_rows && t.q_pos.consecutive && t.k_pos.consecutive) {
      if ((terms_ & c2p) != 0) add_by_query<Arch>(t);
      if ((terms_ & p2c) != 0) add_by_key<Arch>(t);
      return;
    }
    if ((terms_ & c2p) != 0) add_products<Arch>(t, t.q, 1.0f, keys_, t.q_pos, t.k_pos, 1);
    if ((terms_ & p2c) != 0) add_products<Arch>(t, t.k, t.scale, queries_, t.k_pos, t.q_pos, -1);
  }

  static constexpr std::array<std::string_view, 2> gradients{"positionQuery", "positionKey"};
  Index gradient_size() const { return queries_.size() + keys_.size(); }
  template <class Arch>
  void score_gradient(Arch, const ScoreGradient& g) const {
    const ScoreTile& t = g.tile;
    const auto term = [&](const View2<const float>& own, const View2<float>& own_gradient,
                          float factor, const VectorTable& table, double* sums, bool by_query) {
      std::fill_n(t.scratch, table.columns(), 0.0f);
      for (Index a = 0; a < own.rows; ++a) {
        Index first = table.columns(), last = 0;
        for (Index b = 0; b < (by_query ? g.gradient.cols : g.gradient.rows); ++b) {
          const Index i = by_query ? a : b, j = by_query ? b : a;
          const float by = g.gradient.row(i)[j];
          if (by == 0) continue;
          const Index c = row(t.q_pos[i] - t.k_pos[j]);
          t.scratch[c] += by_query ? by : by * t.temperature(i);
          first = std::min(first, c);
          last = std::max(last, c + 1);
        }
        table.pull_back<Arch>(own.row(a), factor, t.scratch, t.head, first, last,
                              own_gradient.row(a), sums);
      }
    };
    if ((terms_ & c2p) != 0) term(t.q, g.q, 1.0f, keys_, g.sums + queries_.size(), true);
    if ((terms_ & p2c) != 0) term(t.k, g.k, t.scale, queries_, g.sums, false);
  }
  void collect_gradients(double* sums, float* const* tables) const {
    queries_.collect(sums, heads_, rows_.count(), tables[0]);
    keys_.collect(sums + queries_.size(), heads_, rows_.count(), tables[1]);
  }

 private:
  Deberta(const Options& o, DebertaRows rows)
      : heads_(o.heads), head_dim_(o.head_dim), terms_(o.terms), rows_(std::move(rows)) {}

  // Where positions are consecutive a column is a distance and not a bucket: more products, and then
  // nothing is gathered, which WebAssembly does a float at a time.

  /// Fewer rows do not pay for writing out the vectors of distances.
  static constexpr Index least_rows = 8;
  /// Lanes of the widest instruction set.
  static constexpr Index widest = 16;
  static constexpr Index stride(Index rows, Index cols) {
    return rows + cols + 2 * vectors_in_block;
  }

  /// The products of four vectors with the table rows of the distances first, first + 1, … last, which
  /// are key minus query where `by_query`.
  template <class Arch>
  void multiply(const ScoreTile& t, const float* block, double first, double last, bool by_query,
                float* products) const {
    const Index step = stride(t.scores.rows, t.scores.cols);
    const VectorTable& table = by_query ? keys_ : queries_;
    multiply_run<Arch>(block, head_dim_, rows_.column(first), rows_.column(last) + 1, products,
                       step, [&](Index b) {
                         // Two terms, each with a half of the places.
                         const Index shift = by_query ? 0 : t.kept.room.count / 2;
                         const Index owner = 2 * t.head + (by_query ? 1 : 2);
                         return t.kept.get(owner, b + shift, [&](float* out) {
                           fill_block(table, t.head, b * distances_in_block, by_query, out);
                         });
                       });
  }
  void fill_block(const VectorTable& table, Index head, Index first, bool by_query,
                  float* out) const {
    for (Index c = 0; c < distances_in_block; ++c) {
      const Index place = std::min(first + c, 2 * rows_.reach());
      const Index row = rows_.in_column(by_query ? 2 * rows_.reach() - place : place);
      const float* vector = table.vector_at(head, row);
      for (Index k = 0; k < head_dim_; ++k)
        out[k * distances_in_block + c] = vector[k * vectors_in_block];
    }
  }
  /// `products` begin with the column of `first`.
  template <class Arch>
  ToeplitzRow row_of(const float* products, double first) const {
    return {products - first_of_run<Arch>(rows_.column(first)), rows_.reach()};
  }

  template <class Arch>
  void add_by_query(const ScoreTile& t) const {
    float* const block = t.scratch;
    float* const products = block + row_group * head_dim_;
    const Index step = stride(t.scores.rows, t.scores.cols);
    for (Index i = 0; i < t.scores.rows; i += row_group) {
      const Index count = load_rows<Arch>(t.q, i, 1.0f, block);
      const double first = t.k_pos[0] - t.q_pos[i + count - 1];
      multiply<Arch>(t, block, first, t.k_pos[t.k_pos.count - 1] - t.q_pos[i], true, products);
      for (Index r = 0; r < count; ++r)
        add_toeplitz<Arch>(row_of<Arch>(products + r * step, first), t.q_pos[i + r], t.k_pos,
                           t.scores.row(i + r));
    }
  }

  template <class Arch>
  void add_by_key(const ScoreTile& t) const {
    const Index rows = t.scores.rows, step = stride(rows, t.scores.cols), width = lanes<Arch>;
    float* const block = t.scratch;
    float* const products = block + row_group * head_dim_;  // [lanes][step]
    float* const by_key = products + width * step;          // [lanes][rows, whole vectors]
    const Index key_step = rows + width;
    for (Index j = 0; j < t.scores.cols; j += width) {
      const Index end = std::min(j + width, t.scores.cols);
      const double first = t.q_pos[0] - t.k_pos[end - 1], last = t.q_pos[rows - 1] - t.k_pos[j];
      for (Index k = j; k < end; k += row_group) {
        load_rows<Arch>(t.k, k, t.scale, block);
        multiply<Arch>(t, block, first, last, false, products + (k - j) * step);
      }
      View2<float> scores = t.scores;
      scores.data += j;
      scores.cols = end - j;
      const auto temperature = [&](Index i) { return t.temperature(i); };
      if (rows_.inside(first) && rows_.inside(last)) {
        // The next key has the same distance to the next query.
        const Index own = rows_.column(t.q_pos[0] - t.k_pos[j]);
        const float* from = products + own - first_of_run<Arch>(rows_.column(first));
        add_transposed<Arch>(from, step - 1, scores, temperature);
        continue;
      }
      std::fill_n(by_key, width * key_step, 0.0f);
      for (Index k = j; k < end; ++k)
        add_toeplitz<Arch>(row_of<Arch>(products + (k - j) * step, first), t.k_pos[k], t.q_pos,
                           by_key + (k - j) * key_step);
      add_transposed<Arch>(by_key, key_step, scores, temperature);
    }
  }

  /// Adds the products of each vector of `own` with the table rows of its distances to `others`;
  /// `sign` is 1 when own are the queries.
  template <class Arch>
  void add_products(const ScoreTile& t, const View2<const float>& own, float factor,
                    const VectorTable& table, const Positions& own_pos, const Positions& others,
                    int sign) const {
    float* const block = t.scratch;
    float* const products = block + row_group * head_dim_;
    const auto [least, greatest] = std::minmax_element(others.data, others.data + others.count);
    for (Index i = 0; i < own.rows; i += row_group) {
      const Index count = load_rows<Arch>(own, i, factor, block);
      const auto [low, high] = std::minmax_element(own_pos.data + i, own_pos.data + i + count);
      const Index first = row(sign > 0 ? *low - *greatest : *least - *high);
      const Index last = row(sign > 0 ? *high - *least : *greatest - *low);
      table.products<Arch>(block, t.head, first, last + 1, products);
      for (Index r = 0; r < count; ++r) {
        const float* product = products + r * table.columns();
        const DebertaRows::Walk walk = rows_.walk_from(own_pos[i + r], others, sign);
        for (Index j = 0; j < others.count; ++j) {
          const float term =
              product[walk.row != nullptr ? walk.row[j * walk.step]
                                          : row(sign * (own_pos[i + r] - others[j]))];
          if (sign > 0)
            t.scores.row(i + r)[j] += term;
          else
            t.scores.row(j)[i + r] += t.temperature(j) * term;
        }
      }
    }
  }

  Status pack(const Table& from, VectorTable& to) const {
    if (from.empty()) return {};
    if (Status s = to.allocate(heads_, from.shape[0], head_dim_); !s) return s;
    const float* next = from.data.data();
    for (Index i = 0; i < from.shape[0]; ++i)
      for (Index h = 0; h < heads_; ++h)
        for (Index k = 0; k < head_dim_; ++k) to.at(h, i, k) = *next++;
    return {};
  }

  Index heads_, head_dim_;
  unsigned terms_;
  VectorTable keys_, queries_;
  DebertaRows rows_;
};

}  // namespace posenc

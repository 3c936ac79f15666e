// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "posenc/core/encoding.hpp"
#include "posenc/core/position_rules.hpp"
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

  static Result<Deberta> make(Options o) {
    for (const auto& [term, table, field] : {std::tuple{c2p, &o.position_key, "positionKey"},
                                             {p2c, &o.position_query, "positionQuery"}})
      if ((o.terms & term) != 0 && table->empty())
        return Error{.code = Errc::missing_option,
                     .field = field,
                     .expected = "given, since terms asks for it"};
    const int half = o.buckets.value_or(0) / 2;
    if (o.buckets && half >= o.max_distance - 1)
      return Error{.code = Errc::out_of_range,
                   .field = "maxDistance",
                   .expected = "more than half of buckets plus 1",
                   .received = static_cast<double>(o.max_distance),
                   .low = static_cast<double>(half + 2),
                   .high = 65536};
    Deberta made(o);
    if (Status s = made.index_distances(o); !s) return s.error();
    for (const auto& [from, to] :
         {std::pair{&o.position_key, &made.keys_}, {&o.position_query, &made.queries_}})
      if (Status s = made.pack(*from, *to); !s) return s.error();
    return made;
  }

  Index heads() const { return heads_; }
  Index head_dim() const { return head_dim_; }
  std::optional<double> score_scale(Index head_dim) const {
    const double parts = 1 + ((terms_ & c2p) != 0 ? 1 : 0) + ((terms_ & p2c) != 0 ? 1 : 0);
    return 1 / std::sqrt(static_cast<double>(head_dim) * parts);
  }
  Index score_scratch(Index, Index) const { return std::max(keys_.scratch(), queries_.scratch()); }
  Status accepts(const Positions& positions) const { return check_integer_positions(positions); }

  /// The row of the tables for a distance, query minus key.
  Index row(double distance) const {
    const double reach = static_cast<double>(reach_);
    return rows_.data()[static_cast<Index>(std::clamp(distance, -reach, reach)) + reach_];
  }

  template <class Arch>
  void score(Arch, const ScoreTile& t) const {
    if (t.scores.rows == 0 || t.scores.cols == 0) return;
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
    queries_.collect(sums, heads_, count_, tables[0]);
    keys_.collect(sums + queries_.size(), heads_, count_, tables[1]);
  }

 private:
  explicit Deberta(const Options& o) : heads_(o.heads), head_dim_(o.head_dim), terms_(o.terms) {}

  /// Adds the products of each vector of `own` with the table rows of its distances to `others`;
  /// `sign` is 1 when own are the queries.
  template <class Arch>
  void add_products(const ScoreTile& t, const View2<const float>& own, float factor,
                    const VectorTable& table, const Positions& own_pos, const Positions& others,
                    int sign) const {
    float* const block = t.scratch;
    float* const products = block + tile_rows * head_dim_;
    const auto [least, greatest] = std::minmax_element(others.data, others.data + others.count);
    for (Index i = 0; i < own.rows; i += tile_rows) {
      const Index count = load_rows(own, i, factor, block);
      const auto [low, high] = std::minmax_element(own_pos.data + i, own_pos.data + i + count);
      const Index first = row(sign > 0 ? *low - *greatest : *least - *high);
      const Index last = row(sign > 0 ? *high - *least : *greatest - *low);
      table.products<Arch>(block, t.head, first, last + 1, products);
      for (Index r = 0; r < count; ++r) {
        const float* product = products + r * table.columns();
        const Walk walk = walk_from(own_pos[i + r], others, sign);
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

  /// The rows for consecutive others one after the other, where all of them have an entry.
  struct Walk {
    const std::int32_t* row;
    Index step;
  };
  Walk walk_from(double own, const Positions& others, int sign) const {
    const double first = sign * (own - others[0]), last = sign * (own - others[others.count - 1]);
    const double reach = static_cast<double>(reach_);
    if (!others.consecutive || std::max(std::abs(first), std::abs(last)) > reach)
      return {nullptr, 0};
    return {rows_.data() + static_cast<Index>(first) + reach_, -sign};
  }

  Status index_distances(const Options& o) {
    const Index span = o.buckets.value_or(o.max_distance);
    count_ = 2 * span;
    reach_ = o.limit ? o.max_distance - 1 : o.max_distance;
    auto rows = Buffer<std::int32_t>::make(static_cast<std::size_t>(2 * reach_ + 1));
    if (!rows) return rows.error();
    Buffer<Index> buckets;
    if (o.buckets) {
      auto made = deberta_buckets(*o.buckets, o.max_distance);
      if (!made) return made.error();
      buckets = std::move(*made);
    }
    for (Index d = -reach_; d <= reach_; ++d) {
      const Index size = d < 0 ? -d : d;
      const Index bucket = o.buckets ? buckets.data()[size] : size;
      rows->data()[d + reach_] = static_cast<std::int32_t>(
          std::clamp<Index>((d < 0 ? -bucket : bucket) + span, 0, 2 * span - 1));
    }
    rows_ = std::move(*rows);
    return {};
  }

  Status pack(const Table& from, VectorTable& to) const {
    if (from.empty()) return {};
    auto table = VectorTable::make(heads_, from.shape[0], head_dim_);
    if (!table) return table.error();
    const float* next = from.data.data();
    for (Index i = 0; i < from.shape[0]; ++i)
      for (Index h = 0; h < heads_; ++h)
        for (Index k = 0; k < head_dim_; ++k) table->at(h, i, k) = *next++;
    to = std::move(*table);
    return {};
  }

  Index heads_, head_dim_, count_ = 0;  ///< count: rows of each table
  unsigned terms_;
  VectorTable keys_, queries_;
  Index reach_ = 0;            ///< farther distances have the rows of this one
  Buffer<std::int32_t> rows_;  ///< [2 reach + 1]
};

}  // namespace posenc

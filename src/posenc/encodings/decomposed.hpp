// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "posenc/core/encoding.hpp"
#include "posenc/core/position_rules.hpp"
#include "posenc/core/vector_table.hpp"

namespace posenc {

/// Decomposed relative position: the query meets one vector for the offset of rows and one for that
/// of columns. Li et al., 2022 (MViTv2); SAM.
///
///   s(m, j) = q_m · k_j / sqrt(D) + q_m · relPosH[dh] + q_m · relPosW[dw]
///   d = m max(K/Q, 1) - j max(Q/K, 1) + (K - 1) max(Q/K, 1)
///
/// for Q query and K key positions along an axis. The query is not scaled in the new terms. A table
/// should have 2 max(Q, K) - 1 rows; one of another length is resized linearly, as the references
/// do when a picture is larger than those of training. Positions are (row, column) from 0.
class Decomposed : public EncodingDefaults {
 public:
  struct Options {
    int head_dim = 0;
    Buffer<double> size, key_size;
    Table height, width;
  };
  static constexpr Spec spec{.id = "decomposed",
                             .title = "Decomposed relative position",
                             .summary =
                                 "The query meets a learned vector for the offset of rows and "
                                 "another for that of columns.",
                             .formula = "s(m, j) = qₘ·kⱼ/√d + qₘ·Rʰ[Δh] + qₘ·Rʷ[Δw]",
                             .paper = "Li et al., 2022",
                             .url = "https://arxiv.org/abs/2112.01526",
                             .used_by = "SAM, MViTv2, ViTDet",
                             .sites = {.score = true},
                             .positions = PositionKind::index,
                             .axes = 2,
                             .relative = true};
  static constexpr std::array<double, 2> example_size{14, 14};
  using F = FieldOf<Options>;
  static constexpr std::array fields{
      F::integer<&Options::head_dim>("headDim", "Width of one head.", 1, 4096).required(64),
      F::list<&Options::size>("size", "Rows and columns of the queries.", 1, 4096, Dim::exactly(2))
          .required(14)
          .examples(example_size),
      F::list<&Options::key_size>("keySize",
                                  "Rows and columns of the keys, where pooled differently.", 1,
                                  4096, Dim::exactly(2)),
      F::table<&Options::height>("relPosH", "One vector per offset of rows [offsets, headDim].",
                                 Dim::any("rowOffsets", 27), Dim::of("headDim"))
          .required(),
      F::table<&Options::width>("relPosW", "One vector per offset of columns [offsets, headDim].",
                                Dim::any("columnOffsets", 27), Dim::of("headDim"))
          .required()};

  static Result<Decomposed> make(Options&& o) {
    Decomposed made;
    for (std::size_t a = 0; a < 2; ++a) {
      for (const auto& [list, field] : {std::pair{&o.size, "size"}, {&o.key_size, "keySize"}})
        if (!list->empty() && (*list)[a] != std::trunc((*list)[a]))
          return fault(Errc::not_integer, field, "integers", (*list)[a], static_cast<double>(a));
      const double queries = o.size[a], keys = o.key_size.empty() ? queries : o.key_size[a];
      Axis& axis = made.axes_[a];
      axis.largest = std::max(queries, keys);
      axis.query_step = std::max(keys / queries, 1.0);
      axis.key_step = std::max(queries / keys, 1.0);
      axis.origin = (keys - 1) * axis.key_step;
      if (Status s = axis.resize(a == 0 ? o.height : o.width, o.head_dim); !s) return s;
    }
    return made;
  }

  Index head_dim() const { return axes_[0].table.depth(); }
  Index score_scratch(Index, Index) const {
    return axes_[0].table.scratch() + axes_[1].table.scratch();
  }
  Status accepts(const Positions& positions) const {
    if (Status s = check_integer_positions(positions); !s) return s;
    for (Index a = 0; a < 2; ++a)
      if (Status s = check_inside(positions, a, 0, axes_[static_cast<std::size_t>(a)].largest - 1,
                                  "inside the grid");
          !s)
        return s;
    return {};
  }

  template <class Arch>
  void score(Arch, const ScoreTile& t) const {
    if (t.scores.rows == 0 || t.scores.cols == 0) return;
    const Axis &rows = axes_[0], &columns = axes_[1];
    const auto keys_by_row = span_of(t.k_pos.axis(0), t.scores.cols),
               keys_by_column = span_of(t.k_pos.axis(1), t.scores.cols);
    float* const block = t.scratch;
    float* const by_row = block + row_group * head_dim();
    float* const by_column = by_row + row_group * rows.table.columns();
    const float unscaled = t.scale == 0 ? 0.0f : 1 / t.scale;  // nothing is left of a query times 0
    for (Index i = 0; i < t.scores.rows; i += row_group) {
      const Index count = load_rows<Arch>(t.q, i, unscaled, block);
      rows.multiply<Arch>(block, span_of(t.q_pos.axis(0) + i, count), keys_by_row, by_row);
      columns.multiply<Arch>(block, span_of(t.q_pos.axis(1) + i, count), keys_by_column, by_column);
      for (Index j = 0, n = 0; j < t.scores.cols; j += n) {
        n = run_from(t.k_pos, j, t.scores.cols);
        for (Index r = 0; r < count; ++r)
          add_run<Arch>(t, i + r, j, n, by_row + r * rows.table.columns(),
                        by_column + r * columns.table.columns());
      }
    }
  }

  static constexpr std::array<std::string_view, 2> gradients{"relPosH", "relPosW"};
  Index gradient_size() const { return axes_[0].table.size() + axes_[1].table.size(); }
  template <class Arch>
  void score_gradient(Arch, const ScoreGradient& g) const {
    const ScoreTile& t = g.tile;
    const float unscaled = t.scale == 0 ? 0.0f : 1 / t.scale;
    double* sums = g.sums;
    for (Index a = 0; a < 2; ++a) {
      const Axis& axis = axes_[static_cast<std::size_t>(a)];
      std::fill_n(t.scratch, axis.table.columns(), 0.0f);
      for (Index i = 0; i < g.gradient.rows; ++i) {
        Index first = axis.table.columns(), last = 0;
        for (Index j = 0; j < g.gradient.cols; ++j) {
          const Index c = axis.offset(t.q_pos.axis(a)[i], t.k_pos.axis(a)[j]);
          t.scratch[c] += g.gradient.row(i)[j];
          first = std::min(first, c);
          last = std::max(last, c + 1);
        }
        axis.table.template pull_back<Arch>(t.q.row(i), unscaled, t.scratch, 0, first, last,
                                            g.q.row(i), sums);
      }
      sums += axis.table.size();
    }
  }
  void collect_gradients(double* sums, float* const* tables) const {
    for (std::size_t a = 0; a < 2; ++a) {
      if (tables[a] != nullptr) axes_[a].collect(sums, tables[a]);
      sums += axes_[a].table.size();
    }
  }

 private:
  struct Axis {
    VectorTable table;  ///< one vector per offset
    Index given = 0;    ///< rows before they were resized
    double query_step = 1, key_step = 1, origin = 0, largest = 0;

    /// The vector of an offset, the last row of the table first, so that it moves with the key;
    /// clamped, since a key may stand where only queries have a place.
    Index offset(double query, double key) const {
      const double at = query * query_step + origin - key * key_step;
      return last() - static_cast<Index>(std::clamp(at, 0.0, 2 * largest - 2));
    }
    Index last() const { return static_cast<Index>(2 * largest - 2); }

    /// The products of four rows with all vectors that their queries and keys can reach.
    template <class Arch>
    void multiply(const float* block, std::pair<double, double> queries,
                  std::pair<double, double> keys, float* out) const {
      table.template products<Arch>(block, 0, offset(queries.second, keys.first),
                                    offset(queries.first, keys.second) + 1, out);
    }

    /// Linear interpolation between the centres of rows, the ends held: calls `use(i, low, high, w)`
    /// for row i = (1 - w) given[low] + w given[high].
    template <class Use>
    void for_each_blend(Use&& use) const {
      const auto rows = static_cast<Index>(2 * largest - 1);
      const double ratio = static_cast<double>(given) / static_cast<double>(rows);
      for (Index i = 0; i < rows; ++i) {
        const double place = std::max((static_cast<double>(i) + 0.5) * ratio - 0.5, 0.0);
        const Index low = std::min(static_cast<Index>(place), given - 1);
        use(i, low, std::min(low + 1, given - 1), place - static_cast<double>(low));
      }
    }

    Status resize(const Table& from, Index dim) {
      const auto rows = static_cast<Index>(2 * largest - 1);
      given = from.shape[0];
      if (Status s = table.allocate(1, rows, dim); !s) return s;
      for_each_blend([&](Index i, Index low, Index high, double w) {
        for (Index k = 0; k < dim; ++k)
          table.at(0, rows - 1 - i, k) =
              static_cast<float>((1 - w) * from.row(low)[k] + w * from.row(high)[k]);
      });
      return {};
    }
    void collect(const double* sums, float* rows) const {
      for_each_blend([&](Index i, Index low, Index high, double w) {
        for (Index k = 0; k < table.depth(); ++k) {
          const double by = sums[table.place(0, last() - i, k)];
          rows[low * table.depth() + k] += static_cast<float>((1 - w) * by);
          rows[high * table.depth() + k] += static_cast<float>(w * by);
        }
      });
    }
  };

  Decomposed() = default;

  static std::pair<double, double> span_of(const double* positions, Index count) {
    const auto [least, greatest] = std::minmax_element(positions, positions + count);
    return {*least, *greatest};
  }
  /// How many keys from j on stand side by side in one row of the grid.
  static Index run_from(const Positions& keys, Index j, Index count) {
    const double *row = keys.axis(0), *column = keys.axis(1);
    Index end = j + 1;
    while (end < count && row[end] == row[j] && column[end] - column[end - 1] == 1) ++end;
    return end - j;
  }

  /// Such keys have one vector of rows, and those of columns follow one another.
  template <class Arch>
  void add_run(const ScoreTile& t, Index i, Index j, Index n, const float* by_row,
               const float* by_column) const {
    const auto column_of = [&](Index key) {
      return axes_[1].offset(t.q_pos.axis(1)[i], t.k_pos.axis(1)[key]);
    };
    const float own = by_row[axes_[0].offset(t.q_pos.axis(0)[i], t.k_pos.axis(0)[j])];
    float* const row = t.scores.row(i) + j;
    const Index first = column_of(j);
    if (column_of(j + n - 1) - first == n - 1)
      for_each_vector<Arch>(n, [&, v = xsimd::batch<float, Arch>(own)](Index c, auto io) {
        io.store(io.load(row + c) + (v + io.load(by_column + first + c)), row + c);
      });
    else  // pooled or at the edge
      for (Index c = 0; c < n; ++c) row[c] += own + by_column[column_of(j + c)];
  }

  std::array<Axis, 2> axes_;
};

}  // namespace posenc

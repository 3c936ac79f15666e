// SPDX-License-Identifier: Apache-2.0
/// Where the queries and the keys of one sequence stand, given or made up, and whether the
/// encodings are defined there.
#pragma once

#include <algorithm>

#include "posenc/attention/arguments.hpp"
#include "posenc/core/arena.hpp"

namespace posenc {

/// An embedding is added before the projections, so attention asks nothing of its positions.
inline bool acts_in_attention(const Encoding& e) {
  const Sites& s = e.traits().sites;
  return s.rotate || s.score || s.value;
}

class Placement {
 public:
  explicit Placement(const AttentionArguments& a) : a_(a) {
    for (const Encoding* e : a.encodings)
      if (acts_in_attention(*e)) {
        axes_ = std::max<Index>(axes_, e->traits().axes);
        text_axes_ = text_axes_ && (e->traits().axes == 1 || e->traits().text_axes);
      }
  }

  /// What an encoding sees of positions. Where others need several axes and all of those are the
  /// index of a text token, an encoding of one axis takes the first.
  Positions seen_by(const Encoding& e, const Positions& all) const {
    Positions seen = all;
    if (text_axes_ && e.traits().axes == 1 && all.axes == axes_) seen.axes = 1;
    return seen;
  }

  void carve(Arena& arena) {
    const AttentionShape& s = a_.shape;
    default_queries_ = a_.query_positions.data == nullptr ? arena.take<double>(s.queries) : nullptr;
    default_keys_ = a_.key_positions.data == nullptr ? arena.take<double>(s.keys) : nullptr;
  }

  /// 1 when all sequences of the batch stand alike, else B.
  Index sets() const {
    return std::max(a_.query_positions.rows, a_.key_positions.rows) > 1 ? a_.shape.batch : 1;
  }

  /// Whether all encodings are defined at all positions; allocates nothing.
  Status check() const {
    for (Index b = 0; b < sets(); ++b)
      for (const Encoding* e : a_.encodings) {
        if (!acts_in_attention(*e)) continue;
        if (Status s = check_side(*e, a_.query_positions, b, Place{a_.first_query()},
                                  a_.shape.queries, "queryPositions");
            !s)
          return s;
        if (Status s = check_side(*e, a_.key_positions, b, Place{0, a_.key_gap}, a_.shape.keys,
                                  "keyPositions");
            !s)
          return s;
      }
    return {};
  }

  /// Moves to the positions of batch entry b.
  void place(Index b) {
    const AttentionShape& s = a_.shape;
    queries = a_.query_positions.data
                  ? given(a_.query_positions, b, s.queries)
                  : counted(default_queries_, Place{a_.first_query()}, 0, s.queries);
    keys = a_.key_positions.data ? given(a_.key_positions, b, s.keys)
                                 : counted(default_keys_, Place{0, a_.key_gap}, 0, s.keys);
  }

  /// Tokens seen in all: one more than the greatest position.
  double length() const {
    double length = 0;
    for (const Positions& p : {queries, keys})
      for (Index a = 0; a < p.axes; ++a)
        for (Index i = 0; i < p.count; ++i) length = std::max(length, p.axis(a)[i] + 1);
    return length;
  }

  Positions queries, keys;

 private:
  /// Where token i stands when nobody says otherwise.
  struct Place {
    Index first = 0;
    KeyGap gap{};
    double of(Index i) const {
      const double gone = gap.by != 0 && i >= gap.at ? static_cast<double>(gap.by) : 0.0;
      return static_cast<double>(first) + static_cast<double>(i) + gone;
    }
    bool consecutive(Index from, Index count) const {
      return gap.by == 0 || gap.at <= from || gap.at >= from + count;
    }
  };

  static Index stride(const PositionRows& rows, Index count) {
    return rows.stride > 0 ? rows.stride : count;
  }
  Positions given(const PositionRows& rows, Index b, Index count) const {
    const Index step = stride(rows, count);
    return Positions::of(rows.data + (rows.rows > 1 ? b * a_.axes * step : 0), count, a_.axes,
                         step);
  }
  /// All axes read the same numbers.
  Positions counted(double* storage, const Place& place, Index from, Index count) const {
    for (Index i = 0; i < count; ++i) storage[i] = place.of(from + i);
    return {storage, count, axes_, 0, place.consecutive(from, count)};
  }

  Status check_side(const Encoding& e, const PositionRows& rows, Index b, const Place& place,
                    Index count, const char* field) const {
    if (rows.data != nullptr)
      return e.accepts(seen_by(e, given(rows, b, count)))
          .at(field, rows.origin + (rows.rows > 1 ? b * a_.axes * stride(rows, count) : 0));
    constexpr Index at_once = 256;  // 2 KB of stack
    double numbers[at_once];
    for (Index i = 0; i < count; i += at_once) {
      const Positions made = counted(numbers, place, i, std::min(at_once, count - i));
      if (Status s = e.accepts(seen_by(e, made)); !s) return s.at(field, rows.origin + i);
    }
    return {};
  }

  const AttentionArguments& a_;
  Index axes_ = 1;         ///< of positions that are made up: as many as some encoding has
  bool text_axes_ = true;  ///< of whatever has several, all are the index of a text token
  double* default_queries_ = nullptr;
  double* default_keys_ = nullptr;
};

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
/// Where the queries and the keys of one sequence stand, given or made up, and whether the
/// encodings are defined there.
#pragma once

#include <algorithm>

#include "posenc/attention/arguments.hpp"
#include "posenc/core/arena.hpp"

namespace posenc {

class Placement {
 public:
  explicit Placement(const AttentionArguments& a) : a_(a) {
    for (const Encoding* e : a.encodings)
      if (acts(*e)) counted_axes_ = std::max<Index>(counted_axes_, e->traits().axes);
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

  /// Moves to the positions of batch entry b.
  Status place(Index b) {
    const AttentionShape& s = a_.shape;
    queries = a_.query_positions.data ? given(a_.query_positions, b, s.queries)
                                      : counted(default_queries_, a_.first_query(), s.queries);
    keys = a_.key_positions.data ? given(a_.key_positions, b, s.keys)
                                 : counted(default_keys_, 0, s.keys);
    for (const Encoding* e : a_.encodings) {
      if (!acts(*e)) continue;
      if (Status q = at_fault(e->accepts(queries), "queryPositions",
                              first(a_.query_positions, b, s.queries));
          !q)
        return q;
      if (Status k = at_fault(e->accepts(keys), "keyPositions", first(a_.key_positions, b, s.keys));
          !k)
        return k;
    }
    return {};
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
  Positions given(const PositionRows& rows, Index b, Index count) const {
    return Positions::of(rows.data + first(rows, b, count) * a_.axes, count, a_.axes);
  }
  /// All axes read the same numbers.
  Positions counted(double* storage, Index first, Index count) const {
    for (Index i = 0; i < count; ++i)
      storage[i] = static_cast<double>(first) + static_cast<double>(i);
    Positions made = Positions::of(storage, count);
    made.axes = counted_axes_;
    made.axis_stride = 0;
    return made;
  }
  /// An embedding is added before the projections, so attention asks nothing of its positions.
  static bool acts(const Encoding& e) {
    const Sites& s = e.traits().sites;
    return s.rotate || s.score || s.value;
  }
  /// The element of [rows, count] at which the set of batch entry b begins.
  static Index first(const PositionRows& rows, Index b, Index count) {
    return rows.rows > 1 ? b * count : 0;
  }
  /// Names the tensor at fault, and counts the element over all of it.
  static Status at_fault(const Status& status, std::string_view field, Index first) {
    if (status) return status;
    Error error = status.error();
    error.field = field;
    if (error.index >= 0) error.index += static_cast<double>(first);
    return error;
  }

  const AttentionArguments& a_;
  Index counted_axes_ = 1;
  double* default_queries_ = nullptr;
  double* default_keys_ = nullptr;
};

}  // namespace posenc

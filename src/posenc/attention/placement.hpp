// SPDX-License-Identifier: Apache-2.0
/// Where the queries and the keys of one sequence stand, given or made up, and whether the encodings
/// are defined there.
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
    keys = a_.key_positions.data ? given(a_.key_positions, b, s.keys) : counted(default_keys_, 0, s.keys);
    for (const Encoding* e : a_.encodings) {
      if (!acts(*e)) continue;
      if (Status checked = named(e->accepts(queries), "queryPositions"); !checked) return checked;
      if (Status checked = named(e->accepts(keys), "keyPositions"); !checked) return checked;
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
    return Positions::of(rows.data + (rows.rows > 1 ? b : 0) * a_.axes * count, count, a_.axes);
  }
  /// All axes read the same numbers.
  Positions counted(double* storage, Index first, Index count) const {
    for (Index i = 0; i < count; ++i) storage[i] = static_cast<double>(first + i);
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
  static Status named(const Status& status, Name field) {
    if (status) return status;
    Error error = status.error();
    error.field = field;
    return error;
  }

  const AttentionArguments& a_;
  Index counted_axes_ = 1;
  double* default_queries_ = nullptr;
  double* default_keys_ = nullptr;
};

}  // namespace posenc

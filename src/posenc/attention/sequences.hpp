// SPDX-License-Identifier: Apache-2.0
/// Calls that consist of parts, such as sequences of their own lengths: each is attention of its own on
/// a part of the tensors, all in one block of memory.
#pragma once

#include "posenc/attention/attend.hpp"
#include "posenc/attention/part.hpp"

namespace posenc {

/// What every row gives that belongs to no sequence.
inline void clear_results(const AttentionArguments& a) {
  const AttentionShape& s = a.shape;
  for (Index b = 0; b < s.batch; ++b)
    for (Index h = 0; h < s.heads; ++h)
      for (Index t = 0; t < s.queries; ++t) {
        std::fill_n(a.output.at(b, h, t), s.value_dim, 0.0f);
        if (a.weights != nullptr) std::fill_n(a.weights_row(b, h, t), s.keys, 0.0f);
        if (a.log_sum_exp != nullptr) a.log_sum_exp[a.result_row(b, h, t)] = minus_infinity;
      }
}

/// Attention of arguments that `check` has passed.
template <class Arch>
Status attend(const AttentionArguments& a) {
  const Index count = a.parts.count > 0 ? a.parts.count : static_cast<Index>(a.sequences.size());
  if (count == 0) return Attend<Arch>(a).run();
  const auto part_at = [&](Index i) {
    if (a.parts.count == 0) return part_of(a, a.sequences[static_cast<std::size_t>(i)]);
    AttentionArguments part = a;
    a.parts.narrow(a.parts.on, i, part);
    return part;
  };
  Arena arena;
  for (Index i = 0; i < count; ++i) {
    const AttentionArguments part = part_at(i);
    Attend<Arch> one(part);
    if (Status placed = one.check_positions(); !placed) return placed;
    Arena measured;
    one.carve(measured);
    arena.hold(measured);
  }
  if (Status committed = arena.commit(); !committed) return committed;
  a.ready();
  clear_results(a);
  for (Index i = 0; i < count; ++i) {
    const AttentionArguments part = part_at(i);
    Attend<Arch> one(part);
    arena.rewind();
    one.carve(arena);
    one.compute();
  }
  return {};
}

}  // namespace posenc

// SPDX-License-Identifier: Apache-2.0
/// The backward pass of a call as a whole, or of each of its sequences in one block of memory.
#pragma once

#include "posenc/attention/backward_pass.hpp"
#include "posenc/attention/sequences.hpp"

namespace posenc {

/// The arguments of one sequence, as views of the whole.
inline BackwardArguments part_of(const BackwardArguments& a, const Sequence& s) {
  BackwardArguments part = a;
  part.forward = part_of(a.forward, s);
  part.output_gradient.data = a.output_gradient.at(s.batch, 0, s.first_query);
  part.q_gradient.data = a.q_gradient.at(s.batch, 0, s.first_query);
  part.k_gradient.data = a.k_gradient.at(s.batch, 0, s.first_key);
  part.v_gradient.data = a.v_gradient.at(s.batch, 0, s.first_key);
  if (a.mask_gradient != nullptr)
    part.mask_gradient += a.forward.mask.offset(s.batch, 0, s.first_query, s.first_key);
  part.accumulates = true;
  return part;
}

/// What rows of no sequence give.
inline void clear_gradients(const BackwardArguments& a) {
  const AttentionShape& s = a.forward.shape;
  const auto clear = [&](const Tensor4<float>& x, Index heads, Index rows, Index width) {
    for (Index b = 0; b < s.batch; ++b)
      for (Index h = 0; h < heads; ++h)
        for (Index i = 0; i < rows; ++i) std::fill_n(x.at(b, h, i), width, 0.0f);
  };
  clear(a.q_gradient, s.heads, s.queries, s.head_dim);
  clear(a.k_gradient, s.kv_heads, s.keys, s.head_dim);
  clear(a.v_gradient, s.kv_heads, s.keys, s.value_dim);
}

/// The gradients for arguments that have been checked.
template <class Arch>
Status attend_backward(const BackwardArguments& a) {
  const Sequence whole{};
  const bool one = a.forward.sequences.empty();
  const std::span<const Sequence> sequences =
      one ? std::span<const Sequence>(&whole, 1) : a.forward.sequences;
  const auto of = [&](const Sequence& s) { return one ? a : part_of(a, s); };
  Arena arena;
  for (const Sequence& s : sequences) {
    const BackwardArguments part = of(s);
    Backward<Arch> pass(part);
    if (Status placed = pass.check_positions(); !placed) return placed;
    Arena measured;
    pass.carve(measured);
    arena.hold(measured);
  }
  if (Status committed = arena.commit(); !committed) return committed;
  if (!one) clear_gradients(a);
  for (const Sequence& s : sequences) {
    const BackwardArguments part = of(s);
    Backward<Arch> pass(part);
    arena.rewind();
    pass.carve(arena);
    pass.compute();
    if (&s == &sequences.back()) pass.collect();
  }
  return {};
}

}  // namespace posenc

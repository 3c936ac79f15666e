// SPDX-License-Identifier: Apache-2.0
/// The softmax of a row that arrives in pieces: running maximum, running sum, and the one place that
/// knows what -infinity, NaN and a row without keys mean.
#pragma once

#include <cmath>
#include <limits>

#include "posenc/core/exp.hpp"
#include "posenc/core/powers.hpp"

namespace posenc {

inline constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

/// What a row has seen so far: its weights are exp(s - maximum), their sum is `sum`.
struct RowState {
  float maximum = minus_infinity;
  float sum = 0;

  float log_sum_exp() const {
    return sum == 0.0f ? minus_infinity : maximum + static_cast<float>(natural_log(sum));
  }
};

namespace softmax_detail {

/// The vectors that cover columns first .. last - 1, with the strays around them made -infinity.
template <class Arch>
struct Covered {
  Index from, to;
  Covered(float* row, Index first, Index last) {
    from = first / lanes<Arch> * lanes<Arch>;
    to = (last + lanes<Arch> - 1) / lanes<Arch> * lanes<Arch>;
    for (Index j = from; j < first; ++j) row[j] = minus_infinity;
    for (Index j = last; j < to; ++j) row[j] = minus_infinity;
  }
};

template <class Arch>
float exp_of(float x) {
  return exp_nonpositive<Arch>(xsimd::batch<float, Arch>(x)).get(0);
}

}  // namespace softmax_detail

/// Turns the scores row[first .. last) into weights relative to the new maximum, and every other
/// column of row[0 .. width) into 0. `width` is a multiple of the vector width. Returns the factor
/// by which everything summed before must be multiplied.
template <class Arch>
float absorb(RowState& state, float* row, Index first, Index last, Index width) {
  using V = xsimd::batch<float, Arch>;
  if (first >= last) {
    std::fill_n(row, width, 0.0f);
    return 1.0f;
  }
  const softmax_detail::Covered<Arch> span(row, first, last);
  V greatest(minus_infinity);
  for (Index j = span.from; j < span.to; j += lanes<Arch>)
    greatest = xsimd::max(greatest, V::load_unaligned(row + j));
  const float maximum = std::max(state.maximum, xsimd::reduce_max(greatest));
  // -infinity minus -infinity would be NaN: a row that has seen nothing yet is shifted by 0.
  const float shift = maximum == minus_infinity ? 0.0f : maximum;
  const float factor = softmax_detail::exp_of<Arch>(state.maximum - shift);
  // Before the sum lives: V8 stores what lives across a call at every turn of its loop.
  if (span.from > 0) std::fill_n(row, span.from, 0.0f);
  if (span.to < width) std::fill(row + span.to, row + width, 0.0f);
  const V offset(shift);
  V sum(0.0f);
  // Four vectors share the loads of 14 constants: 1.20 exponentials a nanosecond where one at a time are
  // 0.91.
  constexpr Index together = 4;
  Index j = span.from;
  POSENC_DO_NOT_UNROLL
  for (; j + together * lanes<Arch> <= span.to; j += together * lanes<Arch>) {
    V weights[together];
    for (Index i = 0; i < together; ++i)
      weights[i] = exp_nonpositive<Arch>(V::load_unaligned(row + j + i * lanes<Arch>) - offset);
    for (Index i = 0; i < together; ++i) {
      weights[i].store_unaligned(row + j + i * lanes<Arch>);
      sum += weights[i];
    }
  }
  POSENC_DO_NOT_UNROLL
  for (; j < span.to; j += lanes<Arch>) {
    const V weight = exp_nonpositive<Arch>(V::load_unaligned(row + j) - offset);
    weight.store_unaligned(row + j);
    sum += weight;
  }
  state.maximum = maximum;
  state.sum = state.sum * factor + xsimd::reduce_add(sum);
  return factor;
}

/// Counts one more logit in the denominator of a row that is complete, which has no value. A row that
/// saw no key stays as it is. Returns the factor by which everything summed before must be multiplied.
template <class Arch>
float absorb_sink(RowState& state, float logit) {
  if (state.sum == 0.0f || logit == minus_infinity) return 1.0f;
  const float maximum = std::max(state.maximum, logit);
  const float factor = softmax_detail::exp_of<Arch>(state.maximum - maximum);
  state.sum = state.sum * factor + softmax_detail::exp_of<Arch>(logit - maximum);
  state.maximum = maximum;
  return factor;
}

/// Turns the scores row[first .. last) into final weights, given the state of the whole row.
template <class Arch>
void normalise(const RowState& state, float* row, Index first, Index last) {
  using V = xsimd::batch<float, Arch>;
  if (first >= last) return;
  if (state.sum == 0.0f) {
    std::fill(row + first, row + last, 0.0f);
    return;
  }
  const softmax_detail::Covered<Arch> span(row, first, last);
  const V offset(state.maximum == minus_infinity ? 0.0f : state.maximum), inverse(1.0f / state.sum);
  for (Index j = span.from; j < span.to; j += lanes<Arch>)
    (exp_nonpositive<Arch>(V::load_unaligned(row + j) - offset) * inverse).store_unaligned(row + j);
}

/// The same from the logarithm of the sum, for `width` scores, a multiple of the vector width; a row
/// that saw nothing holds -infinity throughout.
template <class Arch>
void final_weights(float* row, Index width, float log_sum_exp) {
  using V = xsimd::batch<float, Arch>;
  const V shift(log_sum_exp == minus_infinity ? 0.0f : log_sum_exp);
  for (Index j = 0; j < width; j += lanes<Arch>) {
    // A score exceeds the logarithm of the sum by rounding at most.
    const V x = V::load_unaligned(row + j) - shift;
    exp_nonpositive<Arch>(xsimd::select(x > V(0.0f), V(0.0f), x)).store_unaligned(row + j);
  }
}

/// The gradient of the weights becomes that of the scores: p (g - delta), and exactly 0 where the
/// weight is, whatever a hidden value holds.
template <class Arch>
void through_softmax(const float* weights, float delta, float* gradient, Index width) {
  using V = xsimd::batch<float, Arch>;
  for (Index j = 0; j < width; j += lanes<Arch>) {
    const V p = V::load_unaligned(weights + j);
    xsimd::select(p == V(0.0f), V(0.0f), p * (V::load_unaligned(gradient + j) - V(delta)))
        .store_unaligned(gradient + j);
  }
}

POSENC_KERNEL(float absorb<xsimd::default_arch>(RowState&, float*, Index, Index, Index));
POSENC_KERNEL(void normalise<xsimd::default_arch>(const RowState&, float*, Index, Index));
POSENC_KERNEL(void final_weights<xsimd::default_arch>(float*, Index, float));
POSENC_KERNEL(void through_softmax<xsimd::default_arch>(const float*, float, float*, Index));

}  // namespace posenc

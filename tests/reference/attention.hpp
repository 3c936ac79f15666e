// SPDX-License-Identifier: Apache-2.0
/// Attention as the textbooks write it, in float64 and one element at a time: what every tiled,
/// vectorised and online result of the library is compared with.
///
///   s[t,j] = scale * temperature(t) * sum_c q[t,c] (k[j,c] + key(t,j,c)) + content(t,j)
///   s[t,j] = cap * tanh(s[t,j] / cap) + bias(t,j)                         for the keys t may see
///   p[t,j] = exp(s[t,j]) / (exp(sink) + sum_i exp(s[t,i]))
///   out[t] = sum_j p[t,j] (v[j] + value(t,j))
///
/// A key that a query may not see does not exist: whatever it holds is never read. A query that
/// sees no key gets zeros and a log-sum-exp of -infinity.
#pragma once

#include <functional>

#include "posenc/attention/arguments.hpp"
#include "reference/numbers.hpp"

namespace reference {

using posenc::AttentionShape;

/// What rules, masks and encodings change; an empty function changes nothing. b batch, h query head,
/// t query, j key, c channel.
struct Terms {
  std::function<bool(Index b, Index h, Index t, Index j)> visible{};
  std::function<double(Index b, Index h, Index t, Index j)> bias{};
  std::function<double(Index b, Index h, Index t, Index j, Index c)> key{};
  std::function<double(Index b, Index h, Index t, Index j, Index c)> value{};
  std::function<double(Index b, Index h, Index t, Index j)> content{};  ///< before the cap
  std::function<double(Index b, Index t)> temperature{};
  double softcap = 0;
  Array<float> sinks{};  ///< [H], or empty
};

struct Answer {
  Array<double> output;       ///< [B, H, T, value_dim]
  Array<double> weights;      ///< [B, H, T, S]
  Array<double> log_sum_exp;  ///< [B, H, T]
};

/// q [B, H, T, D], k [B, G, S, D], v [B, G, S, value_dim], each head after head.
template <class Real>
Answer attention(const AttentionShape& n, const Array<Real>& q, const Array<Real>& k,
                 const Array<Real>& v, double scale, const Terms& terms);

/// Query t stands at key `first + t` and sees no later one.
inline std::function<bool(Index, Index, Index, Index)> causal(Index first) {
  return [first](Index, Index, Index t, Index j) { return j <= first + t; };
}

}  // namespace reference

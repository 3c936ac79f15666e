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
                 const Array<Real>& v, double scale, const Terms& terms) {
  Answer answer{Array<double>(n.batch * n.heads * n.queries * n.value_dim),
                Array<double>(n.batch * n.heads * n.queries * n.keys),
                Array<double>(n.batch * n.heads * n.queries)};
  for (Index b = 0; b < n.batch; ++b)
    for (Index h = 0; h < n.heads; ++h)
      for (Index t = 0; t < n.queries; ++t) {
        const Index kv = b * n.kv_heads + h / (n.heads / n.kv_heads);
        const Index row = (b * n.heads + h) * n.queries + t;
        double* weights = answer.weights.data() + row * n.keys;
        double* out = answer.output.data() + row * n.value_dim;
        const auto sees = [&](Index j) { return !terms.visible || terms.visible(b, h, t, j); };

        constexpr double none = -std::numeric_limits<double>::infinity();
        double greatest = none;
        for (Index j = 0; j < n.keys; ++j) {
          if (!sees(j)) continue;
          double score = 0;
          for (Index c = 0; c < n.head_dim; ++c) {
            double key = k[(kv * n.keys + j) * n.head_dim + c];
            if (terms.key) key += terms.key(b, h, t, j, c);
            score += static_cast<double>(q[row * n.head_dim + c]) * key;
          }
          score *= scale * (terms.temperature ? terms.temperature(b, t) : 1.0);
          if (terms.content) score += terms.content(b, h, t, j);
          if (terms.softcap > 0) score = terms.softcap * std::tanh(score / terms.softcap);
          weights[j] = score + (terms.bias ? terms.bias(b, h, t, j) : 0.0);
          greatest = std::max(greatest, weights[j]);
        }

        double sum = 0;
        if (terms.sinks.size() > 0 && terms.sinks[h] != none && greatest != none) {
          greatest = std::max(greatest, static_cast<double>(terms.sinks[h]));
          sum = std::exp(static_cast<double>(terms.sinks[h]) - greatest);
        }
        for (Index j = 0; j < n.keys; ++j) {
          if (!sees(j)) continue;
          weights[j] = std::exp(weights[j] - greatest);
          sum += weights[j];
        }
        answer.log_sum_exp[row] = sum == 0 ? none : greatest + std::log(sum);

        for (Index j = 0; j < n.keys; ++j) {
          if (!sees(j)) continue;
          weights[j] /= sum;
          for (Index c = 0; c < n.value_dim; ++c) {
            double value = v[(kv * n.keys + j) * n.value_dim + c];
            if (terms.value) value += terms.value(b, h, t, j, c);
            out[c] += weights[j] * value;
          }
        }
      }
  return answer;
}

/// Query t stands at key `first + t` and sees no later one.
inline std::function<bool(Index, Index, Index, Index)> causal(Index first) {
  return [first](Index, Index, Index t, Index j) { return j <= first + t; };
}

}  // namespace reference

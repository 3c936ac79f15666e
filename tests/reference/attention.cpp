// SPDX-License-Identifier: Apache-2.0
#include "reference/attention.hpp"

#include <algorithm>
#include <cmath>

namespace reference {

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

template Answer attention(const AttentionShape&, const Array<float>&, const Array<float>&,
                          const Array<float>&, double, const Terms&);
template Answer attention(const AttentionShape&, const Array<double>&, const Array<double>&,
                          const Array<double>&, double, const Terms&);

}  // namespace reference

// SPDX-License-Identifier: Apache-2.0
#include "posenc/attention/merge.hpp"
#include "posenc/core/powers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace posenc {

void merge(std::span<const PartialResult> parts, const AttentionShape& s, const float* sinks,
           Tensor4<float> output, float* log_sum_exp) {
  constexpr double nothing = -std::numeric_limits<double>::infinity();
  for (Index b = 0; b < s.batch; ++b)
    for (Index h = 0; h < s.heads; ++h)
      for (Index t = 0; t < s.queries; ++t) {
        const Index row = (b * s.heads + h) * s.queries + t;
        double greatest = nothing, sum = 0;
        bool is_nan = false;
        for (const PartialResult& p : parts) {
          greatest = std::max(greatest, static_cast<double>(p.log_sum_exp[row]));
          is_nan = is_nan || std::isnan(p.log_sum_exp[row]);
        }
        if (greatest != nothing && sinks != nullptr) {
          greatest = std::max(greatest, static_cast<double>(sinks[h]));
          sum = exponential(sinks[h] - greatest);
        }
        if (greatest != nothing)
          for (const PartialResult& p : parts)
            sum += exponential(static_cast<double>(p.log_sum_exp[row]) - greatest);
        // A comparison drops NaN, and a part that is none must not look like one that saw nothing.
        const double whole = is_nan     ? std::numeric_limits<double>::quiet_NaN()
                             : sum == 0 ? nothing
                                        : greatest + natural_log(sum);
        constexpr Index at_once = 64;
        for (Index c = 0; c < s.value_dim; c += at_once) {
          const Index n = std::min(at_once, s.value_dim - c);
          double values[at_once] = {};
          for (const PartialResult& p : parts) {
            const double l = p.log_sum_exp[row];
            if (l == nothing) continue;
            const double weight = exponential(l - whole);
            for (Index i = 0; i < n; ++i) values[i] += weight * p.output.at(b, h, t)[c + i];
          }
          std::copy_n(values, n, output.at(b, h, t) + c);
        }
        log_sum_exp[row] = static_cast<float>(whole);
      }
}

}  // namespace posenc

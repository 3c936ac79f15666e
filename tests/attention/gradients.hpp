// SPDX-License-Identifier: Apache-2.0
/// One attention problem, asked for its gradients; what they are by the reference.
#pragma once

#include <vector>

#include "attention/question.hpp"
#include "posenc/attention/backward.hpp"

namespace reference {

/// What the backward pass gave; NaN where it wrote nothing.
struct Gradients {
  Status status;
  Array<float> q, k, v, sinks, mask, q_norm, k_norm;
  std::vector<Array<float>> tables;
};

/// `run` is attention_backward, or the same at another width.
template <class Run>
Gradients gradients(const Question& ask, const Given& given, const Array<float>& by, Run&& run,
                    const std::vector<Index>& table_sizes = {}) {
  const AttentionShape& s = ask.shape;
  Gradients made{{},
                 Array<float>(ask.q.size(), reference::nan),
                 Array<float>(ask.k.size(), reference::nan),
                 Array<float>(ask.v.size(), reference::nan),
                 Array<float>(ask.sinks.size(), reference::nan),
                 Array<float>(ask.mask.bias.size()),
                 Array<float>(ask.q_norm.weight_heads * s.head_dim),
                 Array<float>(ask.k_norm.weight_heads * s.head_dim),
                 {}};
  std::vector<float*> tables;
  for (Index size : table_sizes) {
    made.tables.emplace_back(size);
    tables.push_back(size > 0 ? made.tables.back().data() : nullptr);
  }
  Array<float> output = given.output, log_sum_exp = given.log_sum_exp;
  const auto tensor = []<class T>(T* data, Index heads, Index rows, Index width) {
    return posenc::Tensor4<T>::bhnd(data, heads, rows, width);
  };
  posenc::BackwardArguments a{.forward = ask.arguments(),
                              .output_gradient = tensor(by.data(), s.heads, s.queries, s.value_dim),
                              .q_gradient = tensor(made.q.data(), s.heads, s.queries, s.head_dim),
                              .k_gradient = tensor(made.k.data(), s.kv_heads, s.keys, s.head_dim),
                              .v_gradient = tensor(made.v.data(), s.kv_heads, s.keys, s.value_dim),
                              .sink_gradient = made.sinks.size() > 0 ? made.sinks.data() : nullptr,
                              .q_norm_gradient = made.q_norm.data(),
                              .k_norm_gradient = made.k_norm.data(),
                              .mask_gradient = made.mask.size() > 0 ? made.mask.data() : nullptr,
                              .tables = tables};
  a.forward.q = tensor(ask.q.data(), s.heads, s.queries, s.head_dim);
  a.forward.k = tensor(ask.k.data(), s.kv_heads, s.keys, s.head_dim);
  a.forward.v = tensor(ask.v.data(), s.kv_heads, s.keys, s.value_dim);
  a.forward.output = tensor(output.data(), s.heads, s.queries, s.value_dim);
  a.forward.log_sum_exp = log_sum_exp.data();
  made.status = run(a);
  return made;
}

/// The loss whose gradients these are.
inline double weighed(const auto& output, const Array<float>& by) {
  double sum = 0;
  for (Index i = 0; i < by.size(); ++i)
    if (by[i] != 0) sum += static_cast<double>(output[i]) * by[i];
  return sum;
}

inline Array<double> doubles(const Array<float>& x) {
  Array<double> y(x.size());
  for (Index i = 0; i < x.size(); ++i) y[i] = x[i];
  return y;
}

/// Differences of the float64 reference at a step of 1e-5 are right to 1e-9; what remains is the
/// rounding of float32 on the way back.
inline constexpr double reference_tolerance = 2e-5;

/// Without encodings: every gradient against central differences of the reference.
inline void expect_reference_gradients(Question& question, const Array<float>& by,
                                       const Gradients& got, Array<float>& q_weight,
                                       Array<float>& k_weight) {
  ASSERT_TRUE(succeeds(got.status));
  Array<double> q = doubles(question.q), k = doubles(question.k), v = doubles(question.v);
  const auto loss = [&] {
    const AttentionShape& s = question.shape;
    return weighed(attention(s, normalised(q, question.q_norm, s.heads, s.queries, s.head_dim),
                             normalised(k, question.k_norm, s.kv_heads, s.keys, s.head_dim), v,
                             scale_of(question), terms_of(question))
                       .output,
                   by);
  };
  const auto compare = [&](auto& x, const Array<float>& gradient, double step, double tolerance,
                           const char* name) {
    for (Index i = 0; i < x.size(); ++i) {
      const auto at = x[i];
      using Real = std::remove_const_t<decltype(at)>;
      x[i] = static_cast<Real>(at + step);
      const double above = loss();
      x[i] = static_cast<Real>(at - step);
      const double slope = (above - loss()) / (2 * step);
      x[i] = at;
      ASSERT_NEAR(gradient[i], slope, tolerance * (1 + std::abs(slope))) << name << ' ' << i;
    }
  };
  compare(q, got.q, 1e-5, reference_tolerance, "q");
  compare(k, got.k, 1e-5, reference_tolerance, "k");
  compare(v, got.v, 1e-5, reference_tolerance, "v");
  // Held in float32, which takes larger steps: 2^-10 adds an error of 1e-6.
  compare(question.sinks, got.sinks, 0x1p-10, 2e-4, "sinks");
  compare(question.mask.bias, got.mask, 0x1p-10, 2e-4, "mask");
  compare(q_weight, got.q_norm, 0x1p-10, 2e-4, "q norm");
  compare(k_weight, got.k_norm, 0x1p-10, 2e-4, "k norm");
}

}  // namespace reference

// SPDX-License-Identifier: Apache-2.0
/// What a rotary encoding should do, in float64 and pair by pair, and the comparisons of its
/// angles, its rotation and attention with it.
#pragma once

#include <gtest/gtest.h>

#include "reference/attention.hpp"
#include "reference/options.hpp"

namespace reference {

using posenc::Encoding;
using posenc::Role;

/// base^(-2i/width) for the pairs of a rotary width.
inline Array<double> plain(Index width, double base = 10000) {
  Array<double> f(width / 2);
  for (Index i = 0; i < f.size(); ++i)
    f[i] = std::exp(-2 * static_cast<double>(i) / static_cast<double>(width) * std::log(base));
  return f;
}

/// The rotation at one length.
struct Turning {
  Index head_dim = 0;
  Array<double> frequencies{};
  double factor = 1;       ///< on cosine and sine
  double logit_scale = 1;  ///< on the softmax scale
  bool interleaved = false;
  std::function<double(Role, Index pair, double position)> amplitude{};

  /// x [rows, head_dim] turned to its positions.
  Array<double> of(const Array<float>& x, const Array<double>& positions, Role role) const {
    Array<double> y(x.size());
    const Index pairs = frequencies.size();
    for (Index t = 0; t < positions.size(); ++t) {
      const Index row = t * head_dim;
      for (Index c = 0; c < head_dim; ++c) y[row + c] = x[row + c];
      for (Index i = 0; i < pairs; ++i) {
        const Index a = row + (interleaved ? 2 * i : i), b = interleaved ? a + 1 : a + pairs;
        const double angle = positions[t] * frequencies[i];
        const double size = factor * (amplitude ? amplitude(role, i, positions[t]) : 1);
        y[a] = size * (x[a] * std::cos(angle) - x[b] * std::sin(angle));
        y[b] = size * (x[b] * std::cos(angle) + x[a] * std::sin(angle));
      }
    }
    return y;
  }
};

struct PlanOf {
  Array<double> frequencies;
  posenc::Plan plan;
};
inline PlanOf plan_of(const Encoding& e, double length = 0) {
  Array<double> frequencies(e.rotation().pairs);
  const posenc::Plan plan = e.plan(length, frequencies.data());
  return {std::move(frequencies), plan};
}
template <class E>
Array<double> frequencies_of(const Options& options, double length = 0) {
  return plan_of(made<E>(options), length).frequencies;
}

/// Equal bit for bit: what "is plain RoPE" means.
inline void expect_same(const Array<double>& got, const Array<double>& want) {
  EXPECT_TRUE(got.same_bits(want));
}
inline void expect_close(const Array<double>& got, const Array<double>& want, double relative) {
  ASSERT_EQ(got.size(), want.size());
  for (Index i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], relative * std::abs(want[i])) << "pair " << i;
}

/// A few operations of float64, and powers whose exponents are rounded.
inline constexpr double float64_rounding = 1e-13;
/// Cosine, sine, two products and a sum, each rounded to float32 once, of data within +-6.
inline constexpr double rotation_rounding = 6 * 4 * 0x1p-24;

/// The plan at `length`, and rows rotated by the kernel at Arch's width at positions that are far
/// apart, negative and fractional.
template <class Arch>
void expect_turns(const Encoding& e, const Turning& want, double length) {
  const PlanOf got = plan_of(e, length);
  expect_close(got.frequencies, want.frequencies, float64_rounding);
  EXPECT_NEAR(got.plan.attention_factor, want.factor, float64_rounding);
  EXPECT_NEAR(got.plan.logit_scale, want.logit_scale, float64_rounding * want.logit_scale);

  const Array<double> p{0, 1, 2, 7.25, -3, 511, 4095, 16000};
  Random random(17);
  for (Role role : {Role::query, Role::key}) {
    const Array<float> x = random.floats(p.size() * want.head_dim);
    Array<float> y = x, table(p.size() * e.rotation().table_width());
    Array<double> scratch(e.rotation().pairs);
    const posenc::View2<float> angles{table.data(), p.size(), e.rotation().table_width(),
                                      e.rotation().table_width()};
    e.angles({.out = angles,
              .positions = positions(p),
              .role = role,
              .length = length,
              .scratch = scratch.data()});
    posenc::rotate_rows<Arch>(e.rotation(), {y.data(), p.size(), want.head_dim, want.head_dim},
                              angles, false);
    const Array<double> exact = want.of(x, p, role);
    for (Index i = 0; i < x.size(); ++i) {
      const double size = want.amplitude ? std::max(1.0, std::abs(exact[i])) : want.factor;
      EXPECT_NEAR(y[i], exact[i], rotation_rounding * size) << "at " << i;
    }
  }
}

/// Causal attention of 5 queries over 19 keys in two groups of three heads, through tiles that fit
/// neither. `want` is the turning at length 19.
template <class Arch>
void expect_attends(const Encoding& e, const Turning& want) {
  const AttentionShape n{.batch = 2,
                         .heads = 6,
                         .kv_heads = 2,
                         .queries = 5,
                         .keys = 19,
                         .head_dim = want.head_dim,
                         .value_dim = 3};
  Random random(23);
  const Array<float> q = random.floats(n.batch * n.heads * n.queries * n.head_dim);
  const Array<float> k = random.floats(n.batch * n.kv_heads * n.keys * n.head_dim);
  const Array<float> v = random.floats(n.batch * n.kv_heads * n.keys * n.value_dim);

  const auto turn_all = [&](const Array<float>& x, Index rows, double first, Role role) {
    Array<double> y(x.size());
    for (Index plane = 0; plane < x.size(); plane += rows * n.head_dim) {
      Array<float> part(rows * n.head_dim);
      std::copy_n(x.data() + plane, part.size(), part.data());
      const Array<double> turned = want.of(part, counted(rows, first), role);
      std::copy_n(turned.data(), turned.size(), y.data() + plane);
    }
    return y;
  };
  Array<double> values(v.size());
  for (Index i = 0; i < v.size(); ++i) values[i] = v[i];
  const Index first = n.keys - n.queries;
  const double scale = want.logit_scale / std::sqrt(static_cast<double>(n.head_dim));
  const Answer answer =
      attention(n, turn_all(q, n.queries, static_cast<double>(first), Role::query),
                turn_all(k, n.keys, 0, Role::key), values, scale, {.visible = causal(first)});

  const Encoding* const encodings[] = {&e};
  for (const posenc::TileSizes tiles :
       {posenc::TileSizes{}, posenc::TileSizes{1, 1}, posenc::TileSizes{3, 16}}) {
    Array<float> out(answer.output.size(), nan), weights(answer.weights.size(), nan);
    posenc::AttentionArguments a{
        .shape = n,
        .q = posenc::Tensor4<const float>::bhnd(q.data(), n.heads, n.queries, n.head_dim),
        .k = posenc::Tensor4<const float>::bhnd(k.data(), n.kv_heads, n.keys, n.head_dim),
        .v = posenc::Tensor4<const float>::bhnd(v.data(), n.kv_heads, n.keys, n.value_dim),
        .output = posenc::Tensor4<float>::bhnd(out.data(), n.heads, n.queries, n.value_dim),
        .weights = weights.data(),
        .encodings = encodings,
        .causal = true,
        .tiles = tiles};
    ASSERT_TRUE(succeeds(attend_at<Arch>(a)));
    // Scores up to some tens, rounded to float32, then exponentials of them.
    constexpr double tolerance = 3e-5;
    for (Index i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], answer.output[i], tolerance);
    for (Index i = 0; i < weights.size(); ++i)
      EXPECT_NEAR(weights[i], answer.weights[i], tolerance);
  }
}

}  // namespace reference

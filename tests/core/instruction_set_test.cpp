// SPDX-License-Identifier: Apache-2.0
/// Kernels for wider instruction sets against those of the baseline, wherever this machine runs them.
#include "posenc/core/instruction_set.hpp"

#include "attention/question.hpp"
#include "posenc/attention/backward.hpp"
#include "posenc/core/apply.hpp"
#include "posenc/core/wide_kernels.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::Question;

class EveryInstructionSet : public ::testing::TestWithParam<InstructionSet> {
 protected:
  void SetUp() override {
    if (!use_instruction_set(GetParam())) GTEST_SKIP() << "not compiled, or not of this machine";
  }
  void TearDown() override { use_instruction_set(before_); }
  /// What `compute` gives at the baseline and at the parameter.
  template <class F>
  void expect_alike(F&& compute, double tolerance) const {
    ASSERT_TRUE(use_instruction_set(InstructionSet::baseline));
    const Array<float> expected = compute();
    ASSERT_TRUE(use_instruction_set(GetParam()));
    const Array<float> got = compute();
    ASSERT_EQ(got.size(), expected.size());
    for (Index i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], tolerance) << i;
  }

 private:
  const InstructionSet before_ = instruction_set();
};

TEST_P(EveryInstructionSet, IsTheOneInUse) { EXPECT_EQ(instruction_set(), GetParam()); }

TEST_P(EveryInstructionSet, AttendsAlike) {
  // Widths and lengths that fill no vector, and one that fills several.
  for (const Index width : {Index{13}, Index{64}})
    for (const Index queries : {Index{1}, Index{37}}) {
      Question ask = Question::of({.batch = 2,
                                   .heads = 4,
                                   .kv_heads = 2,
                                   .queries = queries,
                                   .keys = 151,
                                   .head_dim = width,
                                   .value_dim = width + 2});
      ask.causal = true;
      expect_alike(
          [&] {
            OptionBag options;
            options.number("heads", 4);
            const auto alibi = make_encoding("alibi", options);
            EXPECT_TRUE(alibi);
            ask.encodings = {&*alibi};
            return reference::ask(ask).output;
          },
          reference::attention_tolerance);
    }
}

TEST_P(EveryInstructionSet, RotatesAndAddsAlike) {
  constexpr Index rows = 19, width = 44;
  const double* positions = [] {
    static double made[rows];
    for (Index i = 0; i < rows; ++i) made[i] = 1000.0 * static_cast<double>(i);
    return made;
  }();
  const Array<float> x = reference::Random(5).floats(rows * width);
  for (const char* layout : {"half", "interleaved"})
    expect_alike(
        [&] {
          OptionBag options;
          options.number("headDim", width);
          options.text("layout", layout);
          const auto rope = make_encoding("rope", options);
          Array<float> out(x.size());
          EXPECT_TRUE(rope && rotate(*rope, {.x = out.data(),
                                             .from = x.data(),
                                             .rows = rows,
                                             .width = width,
                                             .positions = positions}));
          return out;
        },
        0);
  expect_alike(
      [&] {
        OptionBag options;
        options.number("dim", width);
        const auto sinusoidal = make_encoding("sinusoidal", options);
        Array<float> out = x;
        EXPECT_TRUE(sinusoidal &&
                    embed(*sinusoidal,
                          {.x = out.data(), .rows = rows, .width = width, .positions = positions}));
        return out;
      },
      1e-6);
}

TEST_P(EveryInstructionSet, GivesGradientsAlike) {
  const Question ask = Question::of({.queries = 21, .keys = 40, .head_dim = 24, .value_dim = 24});
  const Array<float> by = reference::Random(7).floats(ask.q.size());
  expect_alike(
      [&] {
        Array<float> output(ask.q.size()), log_sum_exp(21), all(ask.q.size() + 2 * ask.k.size());
        AttentionArguments forward{.shape = ask.shape,
                                   .q = Tensor4<const float>::bhnd(ask.q.data(), 1, 21, 24),
                                   .k = Tensor4<const float>::bhnd(ask.k.data(), 1, 40, 24),
                                   .v = Tensor4<const float>::bhnd(ask.v.data(), 1, 40, 24),
                                   .output = Tensor4<float>::bhnd(output.data(), 1, 21, 24)};
        forward.log_sum_exp = log_sum_exp.data();
        EXPECT_TRUE(attention(forward));
        float* k = all.data() + ask.q.size();
        EXPECT_TRUE(
            attention_backward({.forward = forward,
                                .output_gradient = Tensor4<const float>::bhnd(by.data(), 1, 21, 24),
                                .q_gradient = Tensor4<float>::bhnd(all.data(), 1, 21, 24),
                                .k_gradient = Tensor4<float>::bhnd(k, 1, 40, 24),
                                .v_gradient = Tensor4<float>::bhnd(k + ask.k.size(), 1, 40, 24)}));
        return all;
      },
      2e-5);
}

INSTANTIATE_TEST_SUITE_P(, EveryInstructionSet,
                         ::testing::Values(InstructionSet::baseline, InstructionSet::avx2,
                                           InstructionSet::avx512),
                         [](const auto& info) {
                           return std::string(
                               instruction_set_names[static_cast<std::size_t>(info.param)]);
                         });

}  // namespace
}  // namespace posenc

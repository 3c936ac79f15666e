// SPDX-License-Identifier: Apache-2.0
// Attention over a whole text, and of one token over the ones before it.
#include "numbers.hpp"

namespace {

using bench::Index;

struct Problem {
  Index heads, kv_heads, queries, keys, width;
  bool causal = true;
};

/// The time is of one call, tensors in memory.
void attention(benchmark::State& state, const Problem& p, const posenc::Encoding* encoding) {
  const auto q = bench::numbers(p.heads * p.queries * p.width, 1),
             k = bench::numbers(p.kv_heads * p.keys * p.width, 2),
             v = bench::numbers(p.kv_heads * p.keys * p.width, 3);
  std::vector<float> out(q.size());
  using posenc::Tensor4;
  posenc::AttentionArguments a{
      .shape = {.batch = 1,
                .heads = p.heads,
                .kv_heads = p.kv_heads,
                .queries = p.queries,
                .keys = p.keys,
                .head_dim = p.width,
                .value_dim = p.width},
      .q = Tensor4<const float>::bhnd(q.data(), p.heads, p.queries, p.width),
      .k = Tensor4<const float>::bhnd(k.data(), p.kv_heads, p.keys, p.width),
      .v = Tensor4<const float>::bhnd(v.data(), p.kv_heads, p.keys, p.width),
      .output = Tensor4<float>::bhnd(out.data(), p.heads, p.queries, p.width)};
  if (encoding != nullptr) a.encodings = {&encoding, 1};
  a.causal = p.causal;
  for (auto _ : state) {
    if (!posenc::attention(a)) return state.SkipWithError("refused");
    benchmark::ClobberMemory();
  }
  const auto pairs = static_cast<double>(p.causal && p.queries > 1 ? p.queries * (p.queries + 1) / 2
                                                                   : p.queries * p.keys);
  state.counters["flops"] = benchmark::Counter(4.0 * pairs * static_cast<double>(p.heads * p.width),
                                               benchmark::Counter::kIsIterationInvariantRate);
}

void bare(benchmark::State& state, const Problem& p) { attention(state, p, nullptr); }

void with(benchmark::State& state, const Problem& p, std::string_view id) {
  posenc::OptionBag options;
  options.number("heads", static_cast<double>(p.heads));
  const posenc::Encoding made = bench::encoding(id, options);
  attention(state, p, &made);
}
void rotated(benchmark::State& state, const Problem& p) {
  posenc::OptionBag options;
  options.number("headDim", static_cast<double>(p.width));
  const posenc::Encoding made = bench::encoding("rope", options);
  attention(state, p, &made);
}

BENCHMARK_CAPTURE(bare, causal512, Problem{12, 12, 512, 512, 64})
    ->Name("W2.attn.h12.s512.d64.causal")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bare, causal1024, Problem{12, 12, 1024, 1024, 64})
    ->Name("W2.attn.h12.s1024.d64.causal")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bare, causal2048, Problem{12, 12, 2048, 2048, 64})
    ->Name("W2.attn.h12.s2048.d64.causal")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bare, full1024, Problem{12, 12, 1024, 1024, 64, false})
    ->Name("W2.attn.h12.s1024.d64.full")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bare, grouped, Problem{32, 8, 1024, 1024, 128})
    ->Name("W2.attn.h32kv8.s1024.d128.causal")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(rotated, grouped_rotated, Problem{32, 8, 1024, 1024, 128})
    ->Name("W2.attn.h32kv8.s1024.d128.causal+rope")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(with, alibi, Problem{12, 12, 1024, 1024, 64}, "alibi")
    ->Name("W4.attn.h12.s1024.d64.alibi")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bare, decode512, Problem{32, 8, 1, 512, 128})
    ->Name("W3.decode.h32kv8.L512.d128")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bare, decode2048, Problem{32, 8, 1, 2048, 128})
    ->Name("W3.decode.h32kv8.L2048.d128")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bare, decode8192, Problem{32, 8, 1, 8192, 128})
    ->Name("W3.decode.h32kv8.L8192.d128")
    ->Unit(benchmark::kMillisecond);

}  // namespace

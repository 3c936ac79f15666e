// SPDX-License-Identifier: Apache-2.0
// Rotation of queries or keys, and sinusoids.
#include "numbers.hpp"

namespace {

using bench::Index;

std::vector<double> counted(Index count) {
  std::vector<double> made(static_cast<std::size_t>(count));
  for (Index i = 0; i < count; ++i) made[static_cast<std::size_t>(i)] = static_cast<double>(i);
  return made;
}

void rope(benchmark::State& state, Index heads, Index rows, Index width, std::string_view layout) {
  posenc::OptionBag options;
  options.number("headDim", static_cast<double>(width));
  options.text("layout", layout);
  const posenc::Encoding encoding = bench::encoding("rope", options);
  const auto x = bench::numbers(heads * rows * width, 1);
  std::vector<float> out(x.size());
  const auto positions = counted(rows);
  for (auto _ : state) {
    if (!posenc::rotate(encoding, {.x = out.data(),
                                   .from = x.data(),
                                   .heads = heads,
                                   .rows = rows,
                                   .width = width,
                                   .positions = positions.data()}))
      return state.SkipWithError("refused");
    benchmark::ClobberMemory();
  }
}

void sinusoids(benchmark::State& state, Index rows, Index width) {
  posenc::OptionBag options;
  options.number("dim", static_cast<double>(width));
  const posenc::Encoding encoding = bench::encoding("sinusoidal", options);
  std::vector<float> out(static_cast<std::size_t>(rows * width));
  const auto positions = counted(rows);
  for (auto _ : state) {
    if (!posenc::embed(
            encoding,
            {.x = out.data(), .rows = rows, .width = width, .positions = positions.data()}))
      return state.SkipWithError("refused");
    benchmark::ClobberMemory();
  }
}

BENCHMARK_CAPTURE(rope, large_half, 32, 2048, 128, "half")
    ->Name("W1.rope.h32.s2048.d128.half")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(rope, large_interleaved, 32, 2048, 128, "interleaved")
    ->Name("W1.rope.h32.s2048.d128.interleaved")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(rope, small_half, 12, 512, 64, "half")
    ->Name("W1.rope.h12.s512.d64.half")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(rope, small_interleaved, 12, 512, 64, "interleaved")
    ->Name("W1.rope.h12.s512.d64.interleaved")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sinusoids, build, 8192, 1024)
    ->Name("W5.sinusoid.build.s8192.d1024")
    ->Unit(benchmark::kMillisecond);

}  // namespace

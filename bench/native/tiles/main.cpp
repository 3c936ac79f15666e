// SPDX-License-Identifier: Apache-2.0
// What each shape of register tile reaches on each instruction set of this machine: `./run bench --tiles`.
#include <algorithm>
#include <cstdio>
#include <map>

#include "../numbers.hpp"
#include "posenc/core/memory.hpp"
#include "support/tile_shapes.hpp"

namespace {

using bench::Index;
using posenc::ShapedProducts;
using posenc::View2;

/// A block of attention: 64 queries, 128 keys, heads of 64.
constexpr Index rows = 64, keys = 128, width = 64;

posenc::Buffer<float> room(Index count) {
  auto made = posenc::Buffer<float>::make(static_cast<std::size_t>(count));
  if (!made) std::abort();
  return std::move(*made);
}

/// Only products that are wanted count, not those with padding.
void count(benchmark::State& state) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * rows * keys * width, benchmark::Counter::kIsIterationInvariantRate);
}

void multiply_keys(benchmark::State& state, const ShapedProducts& tile) {
  const auto q = bench::numbers(rows * width, 1), k = bench::numbers(keys * width, 2);
  const Index stride = posenc::round_up(keys, tile.width);
  auto panels = room(stride * width), out = room(rows * stride);
  tile.pack_columns({k.data(), keys, width, width}, panels.data());
  for (auto _ : state) {
    tile.multiply({q.data(), rows, width, width}, panels.data(), keys,
                  {out.data(), rows, keys, stride});
    benchmark::ClobberMemory();
  }
  count(state);
}

void add_values(benchmark::State& state, const ShapedProducts& tile) {
  const auto w = bench::numbers(rows * keys, 3), v = bench::numbers(keys * width, 4);
  const Index stride = posenc::round_up(width, tile.width);
  auto panels = room(stride * keys), out = room(rows * stride);
  std::fill_n(out.data(), rows * stride, 0.0f);
  tile.pack_rows({v.data(), keys, width, width}, panels.data());
  for (auto _ : state) {
    tile.add({w.data(), rows, keys, keys}, panels.data(), {out.data(), rows, width, stride});
    benchmark::ClobberMemory();
  }
  count(state);
}

/// Medians and bests of the repetitions, a line for each shape.
class Table : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs)
      if (run.run_type == Run::RT_Iteration)
        reached_[run.run_name.function_name].push_back(run.counters.at("GFLOP/s"));
  }
  void Finalize() override {
    std::printf("GFLOP/s of %td queries, %td keys, heads of %td: median and best\n", rows, keys,
                width);
    for (auto& [name, all] : reached_) {
      std::sort(all.begin(), all.end());
      std::printf("%-28s %6.1f %6.1f\n", name.c_str(), all[all.size() / 2], all.back());
    }
  }

 private:
  std::map<std::string, std::vector<double>> reached_;
};

void add_benches(std::string_view set, std::span<const ShapedProducts> shapes) {
  // The first is the library's own, which stands among the others too.
  for (const ShapedProducts& tile : shapes.subspan(1)) {
    const bool own =
        tile.shape.rows == shapes[0].shape.rows && tile.shape.vectors == shapes[0].shape.vectors;
    const std::string name = std::string(set) + ' ' + tile.name() + (own ? " (in use)" : "");
    benchmark::RegisterBenchmark((name + " keys").c_str(), multiply_keys, tile);
    benchmark::RegisterBenchmark((name + " values").c_str(), add_values, tile);
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (const auto set : {posenc::InstructionSet::baseline, posenc::InstructionSet::avx2,
                         posenc::InstructionSet::avx512}) {
    if (!posenc::use_instruction_set(set)) continue;
    const std::string_view name = posenc::instruction_set_names[static_cast<std::size_t>(set)];
    add_benches(name, set == posenc::InstructionSet::baseline ? posenc::baseline_shaped_products()
                                                              : posenc::wide_shaped_products(name));
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  Table table;
  benchmark::RunSpecifiedBenchmarks(&table);
  benchmark::Shutdown();
}

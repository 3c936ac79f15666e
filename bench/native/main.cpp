// SPDX-License-Identifier: Apache-2.0
// Which kernels were timed stands in the results: POSENC_ARCH=baseline, avx2 or avx512 chooses others.
#include "numbers.hpp"

int main(int argc, char** argv) {
  const auto set = static_cast<std::size_t>(posenc::instruction_set());
  benchmark::AddCustomContext("instructions", std::string(posenc::instruction_set_names[set]));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}

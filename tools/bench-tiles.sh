#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# GFLOP/s of every shape of register tile on every instruction set of this machine, in random turns: the evidence for the choice in
# src/posenc/core/register_tile.hpp. What follows goes to Google Benchmark: --benchmark_filter=REGEX, --benchmark_repetitions=N.
set -euo pipefail
cd "$POSENC_ROOT"
bash tools/setup.sh build
# shellcheck source=/dev/null
. .toolchain/env.sh
. tools/steps.sh
. tools/targets.sh
. tools/setup/packages.sh

build_tiles() {
  configure native -DPOSENC_BENCH=ON
  cmake --build --preset native --parallel "$jobs" --target posenc_tiles
}
need 'Google Benchmark' libbenchmark-dev=/usr/include/benchmark/benchmark.h
step 'build: register tiles' build_tiles
exec build/native/posenc_tiles --benchmark_min_time=0.02 --benchmark_repetitions=15 \
  --benchmark_enable_random_interleaving=true "$@"

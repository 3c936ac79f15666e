#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Times the package beside other libraries and writes docs/benchmarks.md. A benchmark is no test: nothing here fails for a time.
#   --only REGEX   rows whose name matches, the others as they were measured last
#   --peers        beside four libraries instead of one, with the comparison that lies beside a developer's checkout
#   --native       the C++ library too (installs Google Benchmark)
#   --tiles        what each shape of register tile reaches on this machine's instruction sets, and nothing else
#   --quick        sizes only
#   --page         the page against its budgets instead, into docs/demo.md (installs Lighthouse); what follows goes to bench/page.mjs:
#                  --soak MINUTES, --runs N, --only REGEX
set -euo pipefail
cd "$POSENC_ROOT"
only=. native='' quick='' peers=''
if [ "${1:-}" = --page ]; then
  shift
  exec bash tools/bench-page.sh "$@"
fi
if [ "${1:-}" = --tiles ]; then
  shift
  exec bash tools/bench-tiles.sh "$@"
fi
while [ $# -gt 0 ]; do
  case $1 in
    --only)
      only=${2:?--only takes a regular expression}
      shift
      ;;
    --native) native=1 ;;
    --peers) peers=1 ;;
    --quick) quick=1 ;;
    *)
      printf 'posenc: ./run bench has no option "%s"; it has --only REGEX, --peers, --native, --tiles, --quick and --page\n' "$1" >&2
      exit 2
      ;;
  esac
  shift
done

bash tools/build.sh
# shellcheck source=/dev/null
. .toolchain/env.sh
. tools/steps.sh
. tools/targets.sh
. tools/setup/packages.sh
out=build/bench
mkdir -p "$out"

printf '\n'
node tools/sizes.mjs | tee "$out/sizes.txt"
[ -z "$quick" ] || exit 0

# Other libraries go into a folder of their own, so that none of them can be mistaken for a dependency. BENCH_PEERS_ROOT names
# one that has them.
referee=$(cd .. && pwd)/shared/bench
peers_wanted() {
  if [ -n "$peers" ]; then cat "$referee/package.json"; else printf '{ "private": true, "dependencies": { "onnxruntime-web": "^1.30.0" } }\n'; fi
}
install_peers() {
  peers_wanted >build/peers/package.json
  (cd build/peers && npm install --ignore-scripts --no-audit --no-fund --no-package-lock --loglevel=error)
}
[ -z "$peers" ] || [ -e "$referee/run.mjs" ] || fail "--peers needs the comparison in ${referee#"$POSENC_ROOT"/}, which is not there."
if [ -z "${BENCH_PEERS_ROOT:-}" ]; then
  mkdir -p build/peers
  if [ -n "$peers" ] || [ ! -d build/peers/node_modules/onnxruntime-web ]; then step 'npm: other libraries' install_peers; fi
  export BENCH_PEERS_ROOT=$POSENC_ROOT/build/peers
fi

# Results are kept by the rows asked for, so that a part can be measured again.
part=$(printf '%s' "$only" | cksum | cut -d' ' -f1)
node bench/run.mjs --only "$only" --json "$out/rows-$part.json"
if [ -n "$peers" ]; then
  node "$referee/run.mjs" --contender bench/contender.mjs --threads 1 --rounds 7 --only "$only" --json "$out/peers-$part.json"
fi
for kernel in scores cache memory; do
  printf '\n%s\n' "$kernel"
  node "bench/$kernel.mjs" --only "$only" --json "$out/$kernel-$part.json"
done
printf '\nworkers\n'
[ "$only" != . ] || node bench/workers.mjs | tee "$out/workers.txt"

build_native_benches() {
  configure native -DPOSENC_BENCH=ON
  cmake --build --preset native --parallel "$jobs" --target posenc_bench
}
if [ -n "$native" ]; then
  need 'Google Benchmark' libbenchmark-dev=/usr/include/benchmark/benchmark.h
  step 'build: native benches' build_native_benches
  for instructions in baseline avx2 avx512; do
    POSENC_ARCH=$instructions build/native/posenc_bench --benchmark_filter="$only" \
      --benchmark_out="$out/native-$instructions-$part.json" --benchmark_out_format=json
  done
fi

# The oldest first: what was measured last wins.
mapfile -t results < <(ls -tr "$out"/*.json)
node bench/report.mjs docs/benchmarks.md "${results[@]}"
printf '\nThe whole table: docs/benchmarks.md\n'

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sizes of what users download. With --peers, also the timings against other libraries; further arguments go to that program.
set -euo pipefail
cd "$POSENC_ROOT"
bash tools/build.sh
# shellcheck source=/dev/null
. .toolchain/env.sh
. tools/steps.sh

printf '\n'
node tools/sizes.mjs
referee=$(cd .. && pwd)/shared/bench
[ -e "$referee/run.mjs" ] || exit 0

if [ "${1:-}" != --peers ]; then
  printf '\nAgainst other libraries (about 15 minutes): ./run bench --peers\n'
  exit 0
fi
shift

# The other libraries go into a folder of their own, so that none of them can be mistaken for a dependency.
install_peers() {
  mkdir -p build/peers
  cp "$referee/package.json" build/peers/
  (cd build/peers && npm install --ignore-scripts --no-audit --no-fund --no-package-lock --loglevel=error)
}
cmp -s "$referee/package.json" build/peers/package.json || step 'npm: other libraries' install_peers
BENCH_PEERS_ROOT=$POSENC_ROOT/build/peers exec node "$referee/run.mjs" --contender "$POSENC_ROOT/bench/contender.mjs" "$@"

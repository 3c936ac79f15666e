#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Round after round of what the tests try only a few of: random calls, files and configurations. Every round
# has a seed of its own; one that fails prints the case, made small, and how to repeat the round.
set -euo pipefail
cd "$POSENC_ROOT"
minutes=${1:-10}
[[ $minutes =~ ^[0-9]+$ ]] || {
  printf 'usage: ./run fuzz [MINUTES]\n' >&2
  exit 2
}
bash tools/build.sh
# shellcheck source=/dev/null
. .toolchain/env.sh
. tools/steps.sh

mapfile -t fuzzers < <(grep -rl 'support/runs.ts' tests/js --include='*.test.ts' | sort)
export POSENC_FUZZ=${POSENC_FUZZ:-5}
given=${POSENC_SEED:-}
ends=$((SECONDS + minutes * 60))
for ((round = 1; round == 1 || SECONDS < ends; ++round)); do
  export POSENC_SEED=${given:-$((RANDOM * 32768 + RANDOM))}
  try "fuzz round $round" npx vitest run --project node --testTimeout 3600000 "${fuzzers[@]}"
  [ "$try_status" = 0 ] || fail "to repeat it: POSENC_SEED=$POSENC_SEED POSENC_FUZZ=$POSENC_FUZZ ./run fuzz 0"
done

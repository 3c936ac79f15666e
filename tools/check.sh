#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a reviewer should not have to look for: format, lint, generated files. check --fix formats instead of complaining.
set -euo pipefail
cd "$POSENC_ROOT"
bash tools/setup.sh
# shellcheck source=/dev/null
. .toolchain/env.sh
. tools/steps.sh
. tools/targets.sh
. tools/formatting.sh

# Compiled as the instrumented build compiles it, since clang-tidy reads Clang's flags.
lint_cpp() {
  configure sanitize -DCMAKE_CXX_COMPILER="$POSENC_CLANGXX"
  git ls-files -co --exclude-standard -- 'src/*.cpp' |
    xargs -r -P "$jobs" -n 1 "$POSENC_CLANG_TIDY" -p build/sanitize --quiet
}

if [ "${1:-}" = --fix ]; then step 'format: write' formatting_fix; fi

failed=0
check() {
  try "$@"
  [ $try_status = 0 ] || failed=1
}
check 'format' formatting_current
check 'build: manifest' configure_and_build native posenc_manifest
check 'generated files' generated_current
check 'types' npm run --silent typecheck
check 'clang-tidy' lint_cpp
exit $failed

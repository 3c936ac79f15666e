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

# The library as the instrumented build compiles it, since clang-tidy reads Clang's flags; the boundary with Emscripten's.
lint_cpp() {
  configure sanitize -DCMAKE_CXX_COMPILER="$POSENC_CLANGXX"
  git ls-files -co --exclude-standard -- 'src/*.cpp' |
    xargs -r -P "$jobs" -n 1 "$POSENC_CLANG_TIDY" -p build/sanitize --quiet
}
lint_boundary() {
  local emscripten
  emscripten=$("$EMSCRIPTEN_ROOT/em++" --cflags)
  # shellcheck disable=SC2086  # flags are words
  git ls-files -co --exclude-standard -- 'bindings/wasm/*.cpp' |
    xargs -r -P "$jobs" -I '{}' "$POSENC_CLANG_TIDY" --quiet '{}' -- $emscripten -std=c++20 -msimd128 -fno-exceptions -fno-rtti \
      -DEMSCRIPTEN_HAS_UNBOUND_TYPE_NAMES=0 -Isrc ${POSENC_XSIMD_INCLUDE:+-isystem "$POSENC_XSIMD_INCLUDE"}
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
# The tests are typed against the package as published.
check 'build: WebAssembly module' configure_and_build wasm posenc_wasm
check 'build: npm package' npm run --silent build:js
check 'types' npm run --silent typecheck
check 'clang-tidy: library' lint_cpp
check 'clang-tidy: boundary' lint_boundary
exit $failed

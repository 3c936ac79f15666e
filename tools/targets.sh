#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How each thing is built, once, for every verb that needs it.

jobs=$(nproc 2>/dev/null || echo 2)

# A build folder remembers its checkout, compilers and Emscripten; when one of them changed it starts anew.
configure() {
  local preset=$1 note fresh=''
  shift
  note="$POSENC_ROOT $EMSCRIPTEN_ROOT $POSENC_XSIMD_INCLUDE ${CXX:-} $*"
  [ "$(cat "build/$preset.configured" 2>/dev/null)" = "$note" ] || fresh=--fresh
  cmake --preset "$preset" $fresh -DPOSENC_XSIMD_INCLUDE="$POSENC_XSIMD_INCLUDE" "$@"
  printf '%s' "$note" >"build/$preset.configured"
}

# configure_and_build PRESET [TARGET…]
configure_and_build() {
  local preset=$1
  local -a options=()
  shift
  # The instrumented build is the second compiler's, so that both compile every file without a warning.
  [ "$preset" = sanitize ] && options=(-DCMAKE_CXX_COMPILER="$POSENC_CLANGXX")
  configure "$preset" "${options[@]}"
  cmake --build --preset "$preset" --parallel "$jobs" ${1:+--target "$@"}
}

# What the generator writes: the types and the tables in the documents.
generated_state() { cat bindings/js/encodings.gen.ts README.md docs/*.md 2>/dev/null | cksum; }

# Generated files are committed, so a build in a fresh checkout changes nothing; where it does, they were stale.
generated_current() {
  local before
  before=$(generated_state)
  npm run --silent generate
  [ "$before" = "$(generated_state)" ] && return
  echo 'Generated files were out of date and have been written anew: commit them.'
  git --no-pager diff --stat -- bindings/js/encodings.gen.ts README.md docs || true
  return 1
}

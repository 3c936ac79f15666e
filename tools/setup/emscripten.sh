#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Finds an Emscripten at or above the floor: on PATH, from the distribution, or unpacked from the next Debian.

emscripten_floor=3.1.69

emcc_version() { "$1" --version 2>/dev/null | sed -n '1s/^emcc.* \([0-9][0-9.]*\).*/\1/p'; }

emcc_good() {
  local version
  command -v "$1" >/dev/null || return 1
  version=$(emcc_version "$1")
  [ -n "$version" ] && version_at_least "$version" "$emscripten_floor"
}

# Where Emscripten's CMake files lie; em-config knows it even when emcc on PATH is a wrapper.
emscripten_root() {
  local folder
  folder=$(em-config EMSCRIPTEN_ROOT 2>/dev/null || true)
  [ -n "$folder" ] || folder=$(dirname "$(readlink -f "$(command -v emcc)")")
  printf '%s' "$folder"
}

# The include folder of the system holds the host's libc too, which must never reach a WASM compile: link the two libraries alone.
link_system_xsimd() {
  mkdir -p .toolchain/include
  ln -sfn /usr/include/xsimd .toolchain/include/xsimd
  ln -sfn /usr/include/xtl .toolchain/include/xtl
}

no_emscripten() {
  fail "Emscripten $emscripten_floor or newer was not found, and this system does not offer one.
  Either install the Emscripten SDK (https://emscripten.org/docs/getting_started/downloads.html) and have emcc on PATH,
  or use a distribution that packages it (Debian 12 or newer, Ubuntu of the same age)."
}

setup_emscripten() {
  local system_emcc
  if emcc_good emcc; then
    em_root=$(emscripten_root) em_source="emcc on PATH"
    # Debian's own packages answer here on a second run.
    if [ -d /usr/include/xsimd ] && [ "$em_root" = /usr/share/emscripten ]; then
      need 'xsimd' libxsimd-dev=/usr/include/xsimd/xsimd.hpp xtl-dev=/usr/include/xtl
      link_system_xsimd
      xsimd_include=$POSENC_ROOT/.toolchain/include xsimd_prefix=/usr
    fi
    return
  fi
  have_apt || no_emscripten
  if ! private_emscripten_ready; then apt_lists; fi
  system_emcc=$(apt_candidate emscripten)
  if ! private_emscripten_ready && [ -n "$system_emcc" ] && version_at_least "$system_emcc" "$emscripten_floor"; then
    need 'emscripten' emscripten=emcc libxsimd-dev=/usr/include/xsimd/xsimd.hpp xtl-dev=/usr/include/xtl
    hash -r
    emcc_good emcc || no_emscripten
    link_system_xsimd
    em_root=$(emscripten_root) em_source="the distribution's package"
    xsimd_include=$POSENC_ROOT/.toolchain/include xsimd_prefix=/usr
    return
  fi
  private_emscripten_ready || private_emscripten_possible || no_emscripten
  setup_private_emscripten
}

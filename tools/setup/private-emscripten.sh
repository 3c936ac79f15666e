#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Debian 12: Emscripten of Debian 13, unpacked into a private folder. Installing it would replace the system's libc;
# unpacked, its programs are pointed at their own libc and the system stays as it was.

sysroot=.toolchain/sysroot

private_emscripten_ready() { [ -e .toolchain/private-emscripten.ok ]; }

private_emscripten_possible() {
  (. /etc/os-release && [ "${ID:-}" = debian ] && [ "${VERSION_CODENAME:-}" = bookworm ]) && [ -n "$(apt_candidate clang-19)" ]
}

# apt with lists and sources of its own, so that the newer suite never shows in the system's.
private_apt() {
  local state=$POSENC_ROOT/.toolchain/apt tool=$1
  shift
  "$tool" -qq \
    -o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=- \
    -o Dir::State::lists="$state/lists" -o Dir::Cache="$state/cache" \
    -o APT::Sandbox::User=root "$@"
}

# The machine's own mirror, whatever it is, carries the newer suite beside the older one.
debian_mirror() {
  # shellcheck disable=SC2016  # apt expands these, not the shell
  apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' | awk '$2 == "bookworm" { print $1; exit }'
}

fetch_debian13() {
  local state=.toolchain/apt mirror
  mirror=$(debian_mirror)
  [ -n "$mirror" ]
  mkdir -p $state/lists/partial $state/cache/archives/partial $state/packages
  printf 'deb %s trixie main\n' "$mirror" >$state/sources.list
  private_apt apt-get update
  cd $state/packages
  rm -f ./*.deb
  private_apt apt-get download emscripten binaryen libxsimd-dev xtl-dev libc6 libstdc++6 libgcc-s1
}

unpack_debian13() {
  local package
  rm -rf $sysroot
  mkdir -p $sysroot
  # Debian 13 has one /usr: without these links a package's /lib would land beside its own /usr/lib.
  mkdir -p $sysroot/usr/lib $sysroot/usr/lib64 $sysroot/usr/bin $sysroot/usr/sbin
  ln -s usr/lib usr/lib64 usr/bin usr/sbin $sysroot/
  for package in .toolchain/apt/packages/*.deb; do dpkg-deb -x "$package" $sysroot; done
}

# Binaryen is the only native program among them; scripts and libraries are left alone.
patch_programs() {
  local loader libraries program
  loader=$(compgen -G "$POSENC_ROOT/$sysroot/usr/lib*/ld-linux*.so.*" | head -n 1)
  libraries=$(dirname "$(compgen -G "$POSENC_ROOT/$sysroot/usr/lib/*/libc.so.6" | head -n 1)")
  [ -x "$loader" ] && [ -d "$libraries" ]
  for program in $sysroot/usr/bin/wasm-* $sysroot/usr/bin/wasm2js; do
    [ -f "$program" ] && [ ! -L "$program" ] || continue
    patchelf --print-interpreter "$program" >/dev/null 2>&1 || continue
    patchelf --set-interpreter "$loader" --set-rpath "$libraries" "$program"
  done
  $sysroot/usr/bin/wasm-opt --version
}

write_em_config() {
  cat >.toolchain/em_config <<CONFIG
LLVM_ROOT = '/usr/bin'
BINARYEN_ROOT = '$POSENC_ROOT/$sysroot/usr'
NODE_JS = '$(command -v node)'
FROZEN_CACHE = True
LLVM_ADD_VERSION = '19'
CLANG_ADD_VERSION = '19'
CONFIG
}

link_private_xsimd() {
  mkdir -p .toolchain/include
  ln -sfn ../sysroot/usr/include/xsimd .toolchain/include/xsimd
  ln -sfn ../sysroot/usr/include/xtl .toolchain/include/xtl
}

# The folder is renamed when a checkout moves, and every path above is absolute: notice and do it again.
private_emscripten_moved() { ! grep -qF "'$POSENC_ROOT/$sysroot/usr'" .toolchain/em_config 2>/dev/null; }

setup_private_emscripten() {
  need 'llvm 19' clang-19=clang-19 lld-19=wasm-ld-19 llvm-19=llvm-ar-19 patchelf=patchelf python3=python3
  if ! private_emscripten_ready || private_emscripten_moved; then
    rm -f .toolchain/private-emscripten.ok
    step 'emscripten: fetch from Debian 13' fetch_debian13
    step 'emscripten: unpack' unpack_debian13
    step 'emscripten: point programs at their libc' patch_programs
    step 'npm: acorn' npm_tools acorn@8
    link_private_xsimd
    write_em_config
    rm -rf .toolchain/apt
    touch .toolchain/private-emscripten.ok
  fi
  export EM_CONFIG=$POSENC_ROOT/.toolchain/em_config
  em_root=$POSENC_ROOT/$sysroot/usr/share/emscripten em_source="Debian 13's package, unpacked privately"
  emcc_good "$em_root/emcc" || fail "the unpacked Emscripten does not run; see build/log, or remove .toolchain and run again."
  xsimd_include=$POSENC_ROOT/.toolchain/include xsimd_prefix=$POSENC_ROOT/$sysroot/usr
}

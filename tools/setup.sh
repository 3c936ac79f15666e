#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Gathers every tool the project needs and writes where they are to .toolchain/env.sh.
#   setup.sh          everything, tests and checks included
#   setup.sh build    only what building and serving need
set -euo pipefail
: "${POSENC_ROOT:=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}"
export POSENC_ROOT
cd "$POSENC_ROOT"
scope=${1:-all}

for part in tools/steps.sh tools/setup/*.sh; do
  # shellcheck source=/dev/null
  . "$part"
done

began=$(date +%s%N)
export PATH="$POSENC_ROOT/.toolchain/bin:$PATH"
em_root='' em_source='' xsimd_include='' xsimd_prefix=''
stamp=.toolchain/ready-$scope
# Who has everything has what building needs.
[ "$scope" = build ] && [ -e .toolchain/ready-all ] && stamp=.toolchain/ready-all
fingerprint=$(cat tools/setup.sh tools/setup/*.sh | cksum)-$POSENC_ROOT

# The stamp says the steps were done; the programs themselves are asked too, since packages can vanish under a kept checkout.
ready() {
  [ "$(cat "$stamp" 2>/dev/null)" = "$fingerprint" ] && [ -e .toolchain/env.sh ] || return 1
  (
    # shellcheck source=/dev/null
    . .toolchain/env.sh
    for program in node npm g++ cmake ninja "$EMSCRIPTEN_ROOT/emcc"; do command -v "$program" >/dev/null || exit 1; done
    [ "$scope" = all ] || exit 0
    for program in "$POSENC_CLANGXX" "$POSENC_CLANG_FORMAT" "$POSENC_CLANG_TIDY" "$CHROMIUM" "$FIREFOX"; do command -v "$program" >/dev/null || exit 1; done
  )
}

# Reproducible installs: exactly the lock file, again only when it changed.
node_modules_ready() { cmp -s package-lock.json node_modules/.posenc-lock; }
install_node_modules() {
  npm ci --no-audit --no-fund --loglevel=error
  cp package-lock.json node_modules/.posenc-lock
}
setup_node_modules() {
  [ -e package-lock.json ] || return 0
  node_modules_ready || step 'npm: development packages' install_node_modules
}

find_firefox() {
  command -v "${FIREFOX:-firefox-esr}" || command -v firefox || true
}

test_tools() {
  local major
  major=$(llvm_major)
  [ -n "$major" ] || fail "clang++ 19 or newer is needed as the second compiler; install it and run again."
  need 'test tools' "clang-$major=clang++-$major" "libclang-rt-$major-dev=/usr/lib/llvm-$major/lib/clang/*/lib/*/*asan*.a" \
    "clang-format-$major=clang-format-$major" "clang-tidy-$major=clang-tidy-$major"
  provided "${CHROMIUM:-chromium}" || need 'browser' chromium=chromium
  # Debian has the release with long support, other systems the current one under its plain name.
  [ -n "$(find_firefox)" ] || need 'second browser' firefox-esr=firefox-esr
  # WebKit is no browser of its own here; its tests are skipped where it cannot be had.
  if have_apt && ! { provided WebKitWebDriver && provided Xvfb; }; then
    apt_lists
    [ -z "$(apt_candidate webkit2gtk-driver)" ] ||
      (need 'third browser engine' webkit2gtk-driver=WebKitWebDriver xvfb=Xvfb) || true
  fi
}

write_env() {
  local major
  major=$(llvm_major)
  {
    printf 'export PATH=%q:"$PATH"\n' "$POSENC_ROOT/.toolchain/bin"
    private_node_settings
    printf 'export EMSCRIPTEN_ROOT=%q\n' "$em_root"
    [ -z "${EM_CONFIG:-}" ] || printf 'export EM_CONFIG=%q\n' "$EM_CONFIG"
    printf 'export POSENC_XSIMD_INCLUDE=%q\n' "$xsimd_include"
    printf 'export POSENC_XSIMD_PREFIX=%q\n' "$xsimd_prefix"
    printf 'export POSENC_CLANGXX=%q\n' "clang++-$major"
    printf 'export POSENC_CLANG_FORMAT=%q\n' "clang-format-$major"
    printf 'export POSENC_CLANG_TIDY=%q\n' "clang-tidy-$major"
    printf 'export FIREFOX=${FIREFOX:-%q}\n' "$(find_firefox)"
    printf 'export CHROMIUM=${CHROMIUM:-%q}\n' "$(command -v chromium || command -v google-chrome || echo chromium)"
  } >.toolchain/env.sh
}

mkdir -p .toolchain
if ready; then
  setup_node_modules
  printf '  %-46s%8s s\n' 'tools: ready' "$(seconds_since "$began")"
  exit 0
fi

need 'build tools' g++=g++ cmake=cmake ninja-build=ninja git=git python3=python3
# Where there is no such package CMake fetches the sources.
if have_apt; then need 'googletest' googletest=/usr/src/googletest/CMakeLists.txt; fi
version_at_least "$(cmake --version | awk 'NR == 1 { print $3 }')" 3.25 || fail "CMake 3.25 or newer is needed; install it and run again."
setup_node
setup_emscripten
printf '  emscripten %s: %s\n' "$(emcc_version "$em_root/emcc")" "$em_source"
[ "$scope" != all ] || test_tools
write_env
setup_node_modules
printf '%s' "$fingerprint" >".toolchain/ready-$scope"
printf '  %-46s%8s s\n' 'tools: ready' "$(seconds_since "$began")"

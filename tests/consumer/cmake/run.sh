#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the native build into an empty prefix and builds this folder against it, outside the tree.
#   run.sh XSIMD_PREFIX RESULT.json
set -euo pipefail
xsimd_prefix=$1 result=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
version=$(node -p "JSON.parse(require('node:fs').readFileSync('$root/package.json', 'utf8')).version")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

passed=0
failures=()
attempt() {
  local sentence=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failures+=("\"$sentence\"")
  fi
}
consume() {
  cmake -S "$here" -B "$work/$1" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/prefix;$xsimd_prefix" -DPOSENC_WANTED_VERSION="$2"
}
build_and_run() { cmake --build "$work/good" && "$work/good/consumer"; }
no_private_path() { ! grep -rIF "$root" "$work/prefix/lib" "$work/prefix/include"; }

attempt 'the library installs' cmake --install "$root/build/native" --prefix "$work/prefix"
attempt 'no installed file names the source folder' no_private_path
attempt 'find_package finds it' consume good "$version"
attempt 'a program built on it is right' build_and_run
attempt 'a version it does not have is refused' eval '! consume refused 99.0'

list=$(IFS=,; printf '%s' "${failures[*]:-}")
printf '{"suite":"find_package consumer","passed":%d,"failed":%d,"failures":[%s],"skipped":[]}\n' "$passed" "${#failures[@]}" "$list" >"$result"
[ ${#failures[@]} = 0 ]

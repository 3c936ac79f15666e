#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# System packages. Each is asked for by what it provides, so a machine that has the tool from elsewhere is left alone.

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "installing packages needs root, and there is no sudo here; as root run: $*"
  fi
}

have_apt() { command -v apt-get >/dev/null && command -v dpkg >/dev/null; }

apt_update() {
  as_root apt-get update -qq
  mkdir -p .toolchain
  touch .toolchain/apt-updated
}

# A package list that is an hour old is fresh enough; one that was never fetched finds nothing.
apt_lists_fresh() { [ -n "$(find .toolchain/apt-updated -mmin -60 2>/dev/null)" ]; }

apt_lists() { apt_lists_fresh || step 'apt: package lists' apt_update; }

# The version apt would install, empty when it knows none.
apt_candidate() {
  LC_ALL=C apt-cache policy "$1" 2>/dev/null | awk '$1 == "Candidate:" && $2 != "(none)" { print $2; exit }'
}

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}

# provided PROBE: a command on PATH, or a file pattern when it starts with a slash.
provided() {
  case $1 in
    /*) compgen -G "$1" >/dev/null ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

# need LABEL PACKAGE=PROBE…: installs the packages whose probe finds nothing.
need() {
  local label=$1 pair
  local -a missing=()
  shift
  for pair in "$@"; do
    provided "${pair#*=}" || missing+=("${pair%%=*}")
  done
  [ ${#missing[@]} = 0 ] && return
  have_apt || fail "missing: ${missing[*]} (names of Debian's packages). Install them with this system's package manager and run again."
  apt_lists
  step "apt: $label (${#missing[@]})" apt_install "${missing[@]}"
}

# The newest compiler family the project was tried with comes first; a distribution that dropped it offers a later one.
llvm_major() {
  local major
  for major in 19 20 21 22 23; do
    if command -v "clang++-$major" >/dev/null; then
      printf '%s' "$major"
      return
    fi
  done
  have_apt || return 0
  for major in 19 20 21 22 23; do
    if [ -n "$(apt_candidate "clang-$major")" ]; then
      printf '%s' "$major"
      return
    fi
  done
}

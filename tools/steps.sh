#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How every script here talks: one line a step, its seconds at the end, the log only when it failed.

fail() {
  printf '\nposenc: %s\n' "$*" >&2
  exit 1
}

seconds_since() {
  local elapsed=$(($(date +%s%N) - $1))
  printf '%d.%01d' $((elapsed / 1000000000)) $((elapsed / 100000000 % 10))
}

# step LABEL COMMAND…: runs quietly; a failing command shows the end of its log and returns its status.
step() {
  local label=$1 began status=0 log
  shift
  began=$(date +%s%N)
  mkdir -p "$POSENC_ROOT/build/log"
  log=$POSENC_ROOT/build/log/$(printf '%s' "$label" | tr -cs '[:alnum:]' '-').log
  printf '  %-46s' "$label"
  # The right side of || would switch errexit off inside a shell function, so the command runs in its own shell.
  set +e
  (
    set -e
    "$@"
  ) >"$log" 2>&1 </dev/null
  status=$?
  set -e
  if [ $status = 0 ]; then
    printf '%8s s\n' "$(seconds_since "$began")"
  else
    printf '%8s s  failed\n' "$(seconds_since "$began")"
    tail -n "${POSENC_LOG_LINES:-40}" "$log" | sed 's/^/    | /' >&2
    printf '    whole log: %s\n' "${log#"$POSENC_ROOT"/}" >&2
  fi
  return $status
}

# version_at_least HAVE WANT
version_at_least() {
  [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

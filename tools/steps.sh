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

# try LABEL COMMAND…: runs it quietly and leaves its status in try_status; a failing one shows the end of its log.
# It always returns 0: called behind || or in a condition, bash would switch errexit off for everything COMMAND does.
try_status=0
try() {
  local label=$1 began log
  shift
  began=$(date +%s%N)
  mkdir -p "$POSENC_ROOT/build/log"
  log=$(log_of "$label")
  printf '  %-46s' "$label"
  set +e
  (
    set -e
    "$@"
  ) >"$log" 2>&1 </dev/null
  try_status=$?
  set -e
  if [ $try_status = 0 ]; then
    printf '%8s s\n' "$(seconds_since "$began")"
  else
    printf '%8s s  failed\n' "$(seconds_since "$began")"
    # The cause stands at one end of a log or the other.
    if [ "$(wc -l <"$log")" -gt 60 ]; then
      head -n 10 "$log" | sed 's/^/    | /'
      printf '    | …\n'
      tail -n 45 "$log" | sed 's/^/    | /'
    else
      sed 's/^/    | /' "$log"
    fi
    printf '    whole log: %s\n' "${log#"$POSENC_ROOT"/}"
  fi
}

# step LABEL COMMAND…: the same, but nothing after a failed one makes sense.
step() {
  try "$@"
  [ $try_status = 0 ] || exit 1
}

log_of() { printf '%s/build/log/%s.log' "$POSENC_ROOT" "$(printf '%s' "$1" | tr -cs '[:alnum:]' '-')"; }

# version_at_least HAVE WANT
version_at_least() {
  [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs suites one after another whatever they return, and leaves for the summary what each one was and where its result lies.

suite_count=0

# suite NAME FORMAT RESULT COMMAND…
# FORMAT says what RESULT holds: gtest, vitest or plain (tools/summary.mjs); with `exit` the command is one test by itself.
suite() {
  local name=$1 format=$2 result=$3 began log
  shift 3
  suite_count=$((suite_count + 1))
  began=$(date +%s%N)
  [ "$result" = - ] || rm -f "$result"
  try "$name" "$@"
  log=$(log_of "$name")
  printf '{"suite":"%s","format":"%s","result":"%s","log":"%s","exit":%d,"seconds":%s}\n' \
    "$name" "$format" "$result" "${log#"$POSENC_ROOT"/}" "$try_status" "$(seconds_since "$began")" \
    >"build/results/$(printf '%02d' $suite_count).suite.json"
}

# A suite that hangs fails as itself, not as the whole run. Not every system has the command.
limited() {
  if command -v timeout >/dev/null; then
    timeout --kill-after=10 900 "$@"
  else
    "$@"
  fi
}

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the page and measures it against its budgets (bench/page.mjs). Lighthouse is fetched the first time: with all it needs it
# takes 185 MB, and neither building nor testing asks for it.
set -euo pipefail
cd "$POSENC_ROOT"
bash tools/build.sh
bash tools/setup.sh
# shellcheck source=/dev/null
. .toolchain/env.sh
. tools/steps.sh

lighthouse=12.8.2
folder=.toolchain/lighthouse
install_lighthouse() {
  mkdir -p "$folder"
  printf '{ "private": true, "dependencies": { "lighthouse": "%s" } }\n' "$lighthouse" >"$folder/package.json"
  (cd "$folder" && npm install --ignore-scripts --no-audit --no-fund --no-package-lock --omit=optional --loglevel=error)
}
grep -q "\"version\": \"$lighthouse\"" "$folder/node_modules/lighthouse/package.json" 2>/dev/null ||
  step 'npm: Lighthouse' install_lighthouse
step 'build: page' npm run --silent build:web
exec node bench/page.mjs "$@"

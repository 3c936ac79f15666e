#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the page and serves it until Ctrl-C.
set -euo pipefail
cd "$POSENC_ROOT"
bash tools/build.sh
# shellcheck source=/dev/null
. .toolchain/env.sh
. tools/steps.sh
step 'build: page' npm run --silent build:web
exec node tools/serve.mjs web/dist

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The native library, the WebAssembly module, and the npm package in dist/.
set -euo pipefail
cd "$POSENC_ROOT"
bash tools/setup.sh build
# shellcheck source=/dev/null
. .toolchain/env.sh
. tools/steps.sh
. tools/targets.sh

step 'build: native library' configure_and_build native posenc posenc_manifest
step 'generate: types and tables' npm run --silent generate
step 'build: WebAssembly module' configure_and_build wasm posenc_wasm
step 'build: npm package' npm run --silent build:js

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds everything and runs every suite; the last line counts them all.
set -euo pipefail
cd "$POSENC_ROOT"
bash tools/setup.sh
# shellcheck source=/dev/null
. .toolchain/env.sh
. tools/steps.sh
. tools/targets.sh
. tools/suites.sh
. tools/formatting.sh

mkdir -p build/results
rm -f build/results/*.json

# Logs are for reading, here and in a CI's page.
export NO_COLOR=1

in_shares() { limited node tools/in-shares.mjs "$@" --gtest_color=no; }
consumer() { bash tests/consumer/cmake/run.sh "$POSENC_XSIMD_PREFIX" "$1"; }

# A warning is an error in these builds, so a build that passes had none: GCC, Clang and Emscripten's Clang.
suite 'build native' exit - configure_and_build native
suite 'generated files are current' exit - generated_current
suite 'build wasm' exit - configure_and_build wasm
suite 'build package' exit - npm run --silent build:js
suite 'build page' exit - npm run --silent build:web
suite 'build sanitize' exit - configure_and_build sanitize

suite 'format' exit - formatting_current
suite 'native' gtest build/results/native.json \
  in_shares build/results/native.json build/native/posenc_tests
suite 'sanitize' gtest build/results/sanitize.json \
  in_shares build/results/sanitize.json build/sanitize/posenc_tests
suite 'wasm' gtest build/results/wasm.json \
  in_shares build/results/wasm.json node build/wasm/posenc_wasm_tests.js
suite 'find_package consumer' plain build/results/consumer.json consumer build/results/consumer.json

suite 'structure' vitest build/results/structure.json limited npm run --silent test:structure
suite 'JavaScript in Node' vitest build/results/js.json limited npm run --silent test:js
suite 'package as packed' vitest build/results/package.json limited npm run --silent test:package
suite 'package metadata' exit - limited npm run --silent check:package
suite 'package size' exit - node tools/sizes.mjs
suite 'Chromium' vitest build/results/browser.json limited npm run --silent test:browser
suite 'Firefox' vitest build/results/firefox.json limited npm run --silent test:firefox
suite 'WebKit' vitest build/results/webkit.json limited npm run --silent test:webkit

node tools/summary.mjs build/results

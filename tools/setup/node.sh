#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Node at or above the floor, npm, and the two npm packages that Emscripten's own scripts import.

node_floor=20.19.0

node_good() {
  command -v node >/dev/null && command -v npm >/dev/null && version_at_least "$(node -p process.versions.node 2>/dev/null || echo 0)" "$node_floor"
}

npm_tools() {
  npm install --prefix .toolchain --no-audit --no-fund --no-package-lock --loglevel=error "$@"
}

# Some distributions' Node is below the floor. The npm registry carries newer binaries as ordinary packages,
# with an npm of its own because a distribution's npm is patched to find its parts through its own Node.
private_node() {
  local arch
  case $(uname -m) in
    x86_64) arch=x64 ;;
    aarch64) arch=arm64 ;;
    *) fail "Node $node_floor or newer is needed; install it and run again." ;;
  esac
  npm_tools "node-linux-$arch@22" npm@10
  mkdir -p .toolchain/bin
  ln -sfn "../node_modules/node-linux-$arch/bin/node" .toolchain/bin/node
  ln -sfn ../node_modules/npm/bin/npm-cli.js .toolchain/bin/npm
  ln -sfn ../node_modules/npm/bin/npx-cli.js .toolchain/bin/npx
}

setup_node() {
  if ! node_good; then
    need 'node' nodejs=node npm=npm
    hash -r
    node_good || step 'npm: node 22' private_node
    hash -r
    node_good || fail "Node $node_floor or newer is needed; found $(node --version 2>/dev/null || echo none). Install it and run again."
  fi
}

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Node at or above the floor, npm, and the two npm packages that Emscripten's own scripts import.

node_floor=20.19.0

node_good() {
  command -v node >/dev/null && command -v npm >/dev/null && version_at_least "$(node -p process.versions.node 2>/dev/null || echo 0)" "$node_floor"
}

# Its package.json also keeps Emscripten's CommonJS scripts, unpacked below, from inheriting the project's module type.
npm_tools() {
  [ -e .toolchain/package.json ] || printf '{ "private": true }\n' >.toolchain/package.json
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

# A distribution's Node trusts the system's certificates and its npm reads the system's settings; a private pair must be told.
private_node_settings() {
  [ -e .toolchain/bin/node ] || return 0
  local certificates=/etc/ssl/certs/ca-certificates.crt
  [ -e /etc/npmrc ] && printf 'export NPM_CONFIG_GLOBALCONFIG=${NPM_CONFIG_GLOBALCONFIG:-/etc/npmrc}\n'
  [ -e $certificates ] && printf 'export NODE_EXTRA_CA_CERTS=${NODE_EXTRA_CA_CERTS:-%s}\n' $certificates
  return 0
}

setup_node() {
  eval "$(private_node_settings)"
  if ! node_good; then
    need 'node' nodejs=node npm=npm
    hash -r
    node_good || step 'npm: node 22' private_node
    hash -r
    eval "$(private_node_settings)"
    node_good || fail "Node $node_floor or newer is needed; found $(node --version 2>/dev/null || echo none). Install it and run again."
  fi
}

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Formatting of both languages: asked for by check and test, mended by check --fix.

cpp_files() { git ls-files -co --exclude-standard -- '*.hpp' '*.cpp' | while read -r file; do [ -e "$file" ] && printf '%s\n' "$file"; done; }

formatting_current() {
  cpp_files | xargs -r "$POSENC_CLANG_FORMAT" --dry-run -Werror
  npx --no-install biome ci --colors=off
}

formatting_fix() {
  cpp_files | xargs -r "$POSENC_CLANG_FORMAT" -i
  npx --no-install biome check --write --colors=off
}

// SPDX-License-Identifier: Apache-2.0
// Weighs what the first view needs, and stops the build when it is too much.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import type { Plugin } from 'vite';

/** Bytes of HTML, style and script together, after brotli. */
export const most = 90_000;

/** The page and the scripts that it names. */
export function firstView(folder: string): { name: string; bytes: number }[] {
  const html = readFileSync(join(folder, 'index.html'), 'utf8');
  const named = [...html.matchAll(/"\.\/(assets\/[^"]+\.(?:js|css))"/g)];
  return ['index.html', ...named.map(([, name]) => name as string)].map((name) => ({
    name,
    bytes: brotliCompressSync(readFileSync(join(folder, name))).length,
  }));
}

export function keepToBudget(folderOf: () => string): Plugin {
  return {
    name: 'budget',
    apply: 'build',
    closeBundle: () => {
      const files = firstView(folderOf());
      const sum = files.reduce((all, { bytes }) => all + bytes, 0);
      if (sum > most)
        throw new Error(
          `the first view takes ${sum} bytes after brotli, and may take ${most}: ${files
            .map(({ name, bytes }) => `${name} ${bytes}`)
            .join(', ')}`,
        );
    },
  };
}

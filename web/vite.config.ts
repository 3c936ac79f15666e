// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';
import { keepFiles, workerName } from './keep.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const policy = readFileSync(here('./policy.txt'), 'utf8').trim().split('\n').join('; ');

/** A host that sets no headers still gets the policy. Only in the build: the development server injects inline styles. */
const contentSecurityPolicy: Plugin = {
  name: 'content-security-policy',
  apply: 'build',
  transformIndexHtml: () => [
    {
      tag: 'meta',
      injectTo: 'head-prepend',
      attrs: {
        'http-equiv': 'Content-Security-Policy',
        content: policy,
      },
    },
  ],
};

export default defineConfig({
  root: here('.'),
  base: './',
  plugins: [contentSecurityPolicy, keepFiles()],
  // The page is a user of the package as published: it sees the built public entry and nothing behind it.
  resolve: { alias: { posenc: here('../dist/index.js') } },
  build: {
    outDir: here('./dist'),
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rollupOptions: {
      input: { page: here('./index.html'), [workerName]: here('./src/offline/service-worker.ts') },
      output: {
        // A worker is known by its address, so its name does not change with its content.
        entryFileNames: ({ name }) =>
          name === workerName ? '[name].js' : 'assets/[name]-[hash].js',
      },
    },
  },
});

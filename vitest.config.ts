// SPDX-License-Identifier: Apache-2.0
// The suites. What tests import as 'posenc' is dist/, the files that are published: the entry for Node
// in Node, the one for browsers in Chromium.

import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { playwright } from '@vitest/browser-playwright';
import { defineConfig } from 'vitest/config';
import { chromiumArguments } from './tests/browser/chromium-arguments.mjs';

const dist = (file: string) => fileURLToPath(new URL(`dist/${file}`, import.meta.url));
const posenc = (host: string) => ({
  alias: [
    { find: /^posenc$/, replacement: dist(`index${host}.js`) },
    { find: /^posenc\/(worker|module)$/, replacement: dist(`$1${host}.js`) },
    { find: /^posenc\/inline$/, replacement: dist('inline.js') },
  ],
});

const chromium = {
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: chromiumArguments,
};

// Node 20 and 21 know relaxed SIMD and keep it behind a flag; later ones have it, and need not know the flag.
const early = Number(process.versions.node.split('.')[0]) < 22;
const relaxed = early ? ['--experimental-wasm-relaxed-simd'] : [];

// Vitest leaves one core to itself, which on two cores is half of them.
const maxWorkers = availableParallelism();

export default defineConfig({
  test: {
    maxWorkers,
    projects: [
      {
        resolve: posenc('.node'),
        test: {
          name: 'node',
          include: ['tests/js/**/*.test.ts'],
          pool: 'forks',
          execArgv: ['--expose-gc', ...relaxed],
          testTimeout: 120_000,
        },
      },
      {
        resolve: posenc(''),
        test: {
          name: 'browser',
          maxWorkers,
          include: ['tests/js/**/*.test.ts'],
          testTimeout: 120_000,
          browser: {
            enabled: true,
            headless: true,
            screenshotFailures: false,
            provider: playwright({ launchOptions: chromium }),
            instances: [{ browser: 'chromium' }],
          },
        },
      },
      {
        test: {
          name: 'page',
          include: ['tests/browser/**/*.test.ts'],
          globalSetup: ['tests/browser/page-build.ts'],
          // Three waits that each run out (page-driver.ts).
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          name: 'firefox',
          include: ['tests/firefox/**/*.test.ts'],
          globalSetup: ['tests/browser/page-build.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'webkit',
          include: ['tests/webkit/**/*.test.ts'],
          globalSetup: ['tests/browser/page-build.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      { test: { name: 'structure', include: ['tests/structure.test.ts'] } },
      {
        test: {
          name: 'consumer',
          include: ['tests/consumer/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});

// SPDX-License-Identifier: Apache-2.0
// Modules of the page as Node sees them, for what is made out of the page's own code: `ssrLoadModule('/src/…')` of a server
// that listens nowhere.
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

/** @param {string} path */
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/**
 * @param {string} [root] the folder of the page
 * @param {string} [posenc] the package's entry for Node
 */
export const pageServer = (root = here('../web'), posenc = here('../dist/index.node.js')) =>
  createServer({
    root,
    configFile: false,
    logLevel: 'error',
    appType: 'custom',
    resolve: { alias: { posenc } },
    server: { middlewareMode: true, hmr: false, ws: false, watch: null },
    optimizeDeps: { noDiscovery: true },
  });

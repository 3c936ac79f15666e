// SPDX-License-Identifier: Apache-2.0
/** The entry for Cloudflare Workers, which compile no bytes: the module is imported instead. */

import { createLoad, type Load } from './load.js';
import module from './posenc.wasm';
import { fetched } from './wasm-source.js';

export * from './exports.js';

export const load: Load = createLoad({
  loading: 'module',
  standard: async () => ({ module }),
  read: fetched,
});

// SPDX-License-Identifier: Apache-2.0
/** The entry for browsers and workers: fetches posenc.wasm, which lies beside this file. */

import { createLoad, type Load } from './load.js';
import { fetchBytes } from './wasm-source.js';

export * from './exports.js';

export const load: Load = createLoad({
  loading: 'fetch',
  async standard() {
    // Bundlers find the file by this very expression, so it has to stay literal and in one piece.
    const url = new URL('./posenc.wasm', import.meta.url);
    return { bytes: await fetchBytes(url), from: url.href };
  },
  read: fetchBytes,
});

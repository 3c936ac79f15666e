// SPDX-License-Identifier: Apache-2.0
/** Browsers and their workers: fetches posenc.wasm, which lies beside this file. */

import type { Host } from './load.js';
import { fetchBytes, fetched } from './wasm-source.js';

// Bundlers find the files by these very expressions, so each has to stay literal and in one piece.
export const host: Host = {
  loading: 'fetch',
  async standard() {
    const url = new URL('./posenc.wasm', import.meta.url);
    return { bytes: await fetchBytes(url), from: url.href };
  },
  async relaxed() {
    const url = new URL('./posenc-relaxed.wasm', import.meta.url);
    return { bytes: await fetchBytes(url), from: url.href };
  },
  read: fetched,
};

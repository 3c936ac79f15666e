// SPDX-License-Identifier: Apache-2.0
/** The entry that is one file, with posenc.wasm inside: for bundlers and hosts that serve no other. */

import { base64 } from './inline-bytes.js';
import { createLoad, type Load } from './load.js';
import { fetched } from './wasm-source.js';

export * from './exports.js';

export const load: Load = createLoad({
  loading: 'inline',
  async standard() {
    const binary = atob(base64);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
    return { bytes, from: 'posenc/inline' };
  },
  read: fetched,
});

// SPDX-License-Identifier: Apache-2.0
/** Node, Bun and Deno: reads posenc.wasm, which lies beside this file. */

import type { Got, Host } from './load.js';
import { fetched, initError } from './wasm-source.js';

async function read(url: string | URL): Promise<Got> {
  // Importing it takes a millisecond, for a façade with a name for everything in it; older hosts have no other way.
  const { readFileSync } = process.getBuiltinModule?.('node:fs') ?? (await import('node:fs'));
  let address = url;
  try {
    address = asUrl(url);
    if (!(address instanceof URL) || address.protocol === 'file:')
      return { bytes: readFileSync(address), loading: 'file' };
  } catch (cause) {
    const details = { url: String(url) };
    throw initError('FETCH_FAILED', 'url', `${String(url)} could not be read.`, details, cause);
  }
  return fetched(address);
}

/** A string that is no URL is a path. */
function asUrl(url: string | URL): string | URL {
  return typeof url === 'string' && /^[a-z][a-z0-9+.-]+:/i.test(url) ? new URL(url) : url;
}

export const host: Host = {
  loading: 'file',
  async standard() {
    const url = new URL('./posenc.wasm', import.meta.url);
    return { ...(await read(url)), from: url.href };
  },
  async relaxed() {
    const url = new URL('./posenc-relaxed.wasm', import.meta.url);
    return { ...(await read(url)), from: url.href };
  },
  read,
};

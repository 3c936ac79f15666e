// SPDX-License-Identifier: Apache-2.0
/** The entry that fetches and reads nothing: `load({ module })` with a module compiled elsewhere. */

import { fault } from './errors.js';
import { createLoad, type Load } from './load.js';

export * from './exports.js';

export const load: Load = createLoad({
  loading: 'module',
  async standard() {
    throw fault('MISSING_OPTION', {
      where: 'load',
      field: 'module',
      expected: 'a WebAssembly.Module, compiled from posenc/posenc.wasm',
      received: undefined,
    });
  },
});

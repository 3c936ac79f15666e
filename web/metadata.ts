// SPDX-License-Identifier: Apache-2.0
// What a file of weights says of itself, without its weights: import('./some.safetensors?metadata').
import { readFileSync } from 'node:fs';
import type { Plugin } from 'vite';

const mark = '?metadata';

export const weightsMetadata: Plugin = {
  name: 'weights-metadata',
  // Before the bundler's own rules for files that it does not know.
  enforce: 'pre',
  load(id) {
    if (!id.endsWith(`.safetensors${mark}`)) return undefined;
    const file = readFileSync(id.slice(0, -mark.length));
    const header = JSON.parse(file.subarray(8, 8 + file.readUInt32LE(0)).toString());
    return `export default ${JSON.stringify(header.__metadata__ ?? {})}`;
  },
};

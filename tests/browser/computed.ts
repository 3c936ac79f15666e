// SPDX-License-Identifier: Apache-2.0
// What the page's own modules compute with, in Node: the package as published, and its manifest.
import { encodings, load } from '../../dist/index.node.js';
import type { Engine } from '../../web/src/engine.ts';
import type { EncodingInfo } from '../../web/src/model/manifest.ts';

export const manifest = encodings as unknown as readonly EncodingInfo[];
export const engine = (await load()) as unknown as Engine;
export const infoOf = (id: string): EncodingInfo =>
  manifest.find((info) => info.id === id) as EncodingInfo;

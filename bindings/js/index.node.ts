// SPDX-License-Identifier: Apache-2.0
/** The entry for Node, Bun and Deno. */

import { host } from './host.node.js';
import { createLoad, type Load } from './load.js';

export * from './exports.js';

export const load: Load = createLoad(host);

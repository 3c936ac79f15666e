// SPDX-License-Identifier: Apache-2.0
/** The entry for browsers and workers. */

import { host } from './host.js';
import { createLoad, type Load } from './load.js';

export * from './exports.js';

export const load: Load = createLoad(host);

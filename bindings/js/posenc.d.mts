// SPDX-License-Identifier: Apache-2.0
/** The compiler's glue for posenc.wasm; it is put beside the compiled files by build.mjs. */
import type { RawFactory } from './raw.js';

declare const factory: RawFactory;
export default factory;

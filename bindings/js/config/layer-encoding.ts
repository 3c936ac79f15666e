// SPDX-License-Identifier: Apache-2.0
import type { EncodingId } from '../encodings.gen.js';
import type { LayerEncoding } from './types.js';

type Options = Record<string, unknown>;
interface Tables {
  needs: readonly string[];
  shapes?: Readonly<Record<string, readonly number[]>>;
}

/** Options and lists frozen, so that what one caller does with them is not seen by the next. */
export function layerEncoding(id: string, options: Options, tables?: Tables): LayerEncoding {
  const frozen: Options = {};
  for (const [name, value] of Object.entries(options))
    if (value !== undefined)
      frozen[name] = Array.isArray(value) ? Object.freeze([...value]) : value;
  return Object.freeze({
    id: id as EncodingId,
    options: Object.freeze(frozen),
    ...(tables === undefined ? {} : tables),
  });
}

// SPDX-License-Identifier: Apache-2.0
/** What comes back from a worker, as the user gets it. */

import { isArray, isOutOfBounds, isView, typedArrayLength, typedArraySet } from '../intrinsics.js';
import { detached } from '../validate.js';
import { type Out, partsOf } from './wire.js';

/** Throws for an `out` whose memory went, or shrank, while the workers computed. */
export function requireWritable(where: string, out: Out): Out {
  const { data, length } = out;
  if (isOutOfBounds(data) || typedArrayLength(data) !== length) throw detached(where, 'out');
  return out;
}

/** Results as the user gets them: what was to go into an `out` goes there. */
export function finish(
  where: string,
  value: unknown,
  outs: readonly Out[],
  objects: ReadonlyMap<number, object>,
): unknown {
  if (typeof value !== 'object' || value === null || isView(value)) return value;
  const parts = partsOf(value);
  if (parts?.[0] === 'handle') return objects.get(parts[1]);
  if (parts?.[0] === 'out') {
    const { tensor, data } = requireWritable(where, outs[parts[1]]);
    typedArraySet(data, parts[3] as Float32Array);
    return tensor;
  }
  if (isArray(value)) return value.map((one) => finish(where, one, outs, objects));
  const entries = Object.entries(value);
  return Object.fromEntries(
    entries.map(([name, one]) => [name, finish(where, one, outs, objects)]),
  );
}

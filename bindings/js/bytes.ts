// SPDX-License-Identifier: Apache-2.0
/** The bytes of files and modules, in whatever they are given. */

import {
  dataViewBuffer,
  dataViewBytes,
  dataViewOffset,
  isArrayBuffer,
  isOutOfBounds,
  isView,
  typedArrayBuffer,
  typedArrayBytes,
  typedArrayName,
  typedArrayOffset,
} from './intrinsics.js';
import { detached, wrongType } from './validate.js';

/**
 * Bytes in place. Refuses those whose memory was transferred or shrunk away: they would read as empty,
 * or throw.
 */
export function bytesOf(
  where: string,
  field: string,
  given: unknown,
  expected: string,
  accepts: (typedArray: string | undefined) => boolean,
): Uint8Array<ArrayBuffer> {
  const name = isView(given) ? typedArrayName(given) : undefined;
  if (isView(given) ? !accepts(name) : !isArrayBuffer(given))
    throw wrongType(where, field, expected, given);
  try {
    // A detached buffer throws here, a DataView that has lost its memory already when it is asked.
    if (!isView(given)) return new Uint8Array(given as ArrayBuffer);
    if (name === undefined)
      return new Uint8Array(
        dataViewBuffer(given) as ArrayBuffer,
        dataViewOffset(given),
        dataViewBytes(given),
      );
    if (!isOutOfBounds(given))
      return new Uint8Array(
        typedArrayBuffer(given) as ArrayBuffer,
        typedArrayOffset(given),
        typedArrayBytes(given),
      );
  } catch {}
  throw detached(where, field);
}

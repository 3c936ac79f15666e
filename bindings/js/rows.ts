// SPDX-License-Identifier: Apache-2.0
/** The shapes that encodings take and give: rows of tensors, and results made of positions. */

import type { Engine } from './engine.js';
import { fault, PosencError, shapeText, text } from './errors.js';
import type { CapturedPositions } from './positions.js';
import { captureTarget, type Target } from './target.js';
import type { Source } from './tensor.js';
import { maxElements, optionValues, sizeOf } from './validate.js';

/** The options of a call that has no other. */
export const resultOptions = ['out'];

/** Where a result of this shape goes that is made of positions alone. */
export function result(
  engine: Engine,
  where: string,
  options: unknown,
  shape: readonly number[],
): Target {
  return roomFor(engine, where, optionValues(where, options, resultOptions)[0], shape, []);
}

/** Where a result of this shape goes, which is not that of an input and so may be too large. */
export function roomFor(
  engine: Engine,
  where: string,
  out: unknown,
  shape: readonly number[],
  sources: readonly Source[],
): Target {
  requireSize(where, shape, maxElements);
  return captureTarget(engine, where, out, shape, { sources });
}

/** Throws where a result of this shape would have more elements than `most`. */
export function requireSize(where: string, shape: readonly number[], most: number): void {
  if (sizeOf(shape) > most)
    throw fault('SHAPE_OVERFLOW', {
      where,
      field: 'the result',
      expected: `of at most ${most} elements`,
      received: text(shapeText(shape)),
    });
}

/** `source` if its last axis is the width of a row. */
export function rows(where: string, source: Source, width?: number): Source {
  const { shape } = source;
  if (shape.length >= 2 && (width === undefined || shape[shape.length - 1] === width))
    return source;
  throw fault('SHAPE_MISMATCH', {
    where,
    field: 'x',
    expected: `of shape [..., n, ${width ?? 'D'}]`,
    received: text(shapeText(shape)),
  });
}

/**
 * The leading axes as [batch, heads]: [B, H, n, D]; of three axes the first is heads, unless each
 * entry has positions of its own.
 */
export function fold(shape: readonly number[], { batch: rowsOfPositions }: CapturedPositions) {
  const axes = shape.length - 2;
  const [n, width] = [shape[axes], shape[axes + 1]];
  const hasBatch = axes > 1 || rowsOfPositions > 1;
  const batch = hasBatch ? shape[0] : 1;
  let heads = 1;
  for (let axis = hasBatch ? 1 : 0; axis < axes; ++axis) heads *= shape[axis];
  // An empty tensor may have any extents: only its width is still to be checked.
  if (sizeOf(shape) === 0) return { batch: 0, heads, n: 0, width, sets: 1 };
  return { batch, heads, n, width, sets: rowsOfPositions };
}

export function unsupported(where: string, method: string, reason: string): PosencError {
  return new PosencError({
    code: 'UNSUPPORTED',
    field: method,
    message: `${where}: this encoding has no ${method}(): ${reason}.`,
    details: { parameter: method },
  });
}

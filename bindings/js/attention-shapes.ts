// SPDX-License-Identifier: Apache-2.0
/** How q, k and v must fit together, and the shapes that follow. */

import { fault, type PosencErrorCode, shapeText, text } from './errors.js';
import type { Source } from './tensor.js';
import { maxElements, sizeOf } from './validate.js';

export interface Shapes {
  batch: number;
  heads: number;
  kvHeads: number;
  queries: number;
  keys: number;
  /** The place after the last key, where a cache holds fewer keys than it has seen. */
  end?: number;
  headDim: number;
  valueDim: number;
  output: readonly number[];
  /** [B, H, T, S], without B when the inputs had none. */
  weights: readonly number[];
  /** [B, H, T], likewise. */
  rows: readonly number[];
}

export interface Axes {
  batch: number;
  heads: number;
  rows: number;
  width: number;
}

export function mismatch(
  code: PosencErrorCode,
  field: string,
  expected: string,
  received: unknown,
  more?: Readonly<Record<string, unknown>>,
) {
  return fault(code, { where: 'attention', field, expected, received, ...(more && { more }) });
}

export function readShapes(
  sources: readonly Pick<Source, 'shape'>[],
  layout: 'bhnd' | 'bnhd',
): Shapes {
  const given = sources.map(({ shape }) => shape);
  const rank = given[0].length;
  const letters = layout === 'bhnd' ? '[B, H, T, D]' : '[B, T, H, D]';
  if (given.some((shape) => shape.length !== rank) || (rank !== 3 && rank !== 4))
    throw disagree(given, 'q', `of shape ${letters} or without B, as k and v`);
  const [q, k, v] = given.map((shape) => axesOf(shape, layout));
  if (k.width !== q.width) throw disagree(given, 'k', `as wide as q: D = ${q.width}`);
  if (k.batch !== q.batch || v.batch !== q.batch)
    throw disagree(given, k.batch !== q.batch ? 'k' : 'v', `of the batch of q: B = ${q.batch}`);
  if (v.heads !== k.heads) throw disagree(given, 'v', `of as many heads as k: G = ${k.heads}`);
  if (v.rows !== k.rows) throw disagree(given, 'v', `as long as k: S = ${k.rows}`);
  const leading = rank === 4 ? [q.batch] : [];
  const output =
    layout === 'bhnd'
      ? [...leading, q.heads, q.rows, v.width]
      : [...leading, q.rows, q.heads, v.width];
  const shapes = {
    batch: q.batch,
    heads: q.heads,
    kvHeads: k.heads,
    queries: q.rows,
    keys: k.rows,
    headDim: q.width,
    valueDim: v.width,
    output,
    weights: [...leading, q.heads, q.rows, k.rows],
    rows: [...leading, q.heads, q.rows],
  };
  if (sizeOf(output) > maxElements)
    throw mismatch(
      'SHAPE_OVERFLOW',
      'q',
      `such that the output has at most ${maxElements} elements`,
      text(shapeText(output)),
    );
  return shapes;
}

export function axesOf(shape: readonly number[], layout: 'bhnd' | 'bnhd'): Axes {
  const [batch, second, third, width] = shape.length === 4 ? shape : [1, ...shape];
  return layout === 'bhnd'
    ? { batch, heads: second, rows: third, width }
    : { batch, heads: third, rows: second, width };
}

/** Query head h uses key/value head floor(h·G/H), so H must be a multiple of G. */
export function checkHeads({ heads, kvHeads }: Shapes): void {
  if (kvHeads === 0 ? heads === 0 : heads % kvHeads === 0) return;
  throw mismatch(
    'HEADS_NOT_DIVISIBLE',
    'q',
    `of a number of heads that is a multiple of the ${kvHeads} of k and v`,
    text(`${heads} heads`),
    { heads, kvHeads },
  );
}

function disagree(shapes: readonly (readonly number[])[], field: string, expected: string) {
  const [q, k, v] = shapes.map(shapeText);
  const received = text(`q ${q}, k ${k}, v ${v}`);
  return mismatch('SHAPE_MISMATCH', field, expected, received, {
    q: shapes[0],
    k: shapes[1],
    v: shapes[2],
  });
}

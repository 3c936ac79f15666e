// SPDX-License-Identifier: Apache-2.0
/** Where the tokens of text, images and video stand on the three axes of M-RoPE. Pure: no instance. */

import { fault, shapeText, text } from './errors.js';
import { isArray, isOutOfBounds, isView, typedArrayName } from './intrinsics.js';
import { copyNumbers, doubles, list } from './number-lists.js';
import {
  shape as checkShape,
  detached,
  integer,
  or,
  reading,
  options as readOptions,
  sameShape,
  wrongType,
} from './validate.js';

type Ids = ArrayLike<number> | BigInt64Array;
/** Token ids of one sequence, of a batch as rows, or as a tensor [B, n]. */
export type TokenRows =
  | Ids
  | readonly Ids[]
  | { readonly data: Ids; readonly shape: readonly number[] }
  | { readonly data: Ids; readonly dims: readonly number[] };

export interface MropePositionsOptions {
  /** The token that stands for a piece of an image, repeated once for each piece. */
  imageToken?: number;
  /** The same for video. */
  videoToken?: number;
  /** [time, height, width] in patches, of each image in the order of the tokens, batch by batch. */
  imageGrids?: readonly ArrayLike<number>[];
  /** The same for video. A model whose frames are apart (Qwen3-VL) has one grid for each frame. */
  videoGrids?: readonly ArrayLike<number>[];
  /** Patches that are merged into one token, along height and along width. @default 2 */
  mergeSize?: number;
  /** Seconds from one step of a video's time to the next, one for each video (Qwen2.5-VL). */
  secondsPerGrid?: ArrayLike<number>;
  /** Positions per second, together with `secondsPerGrid`. @default 1 */
  tokensPerSecond?: number;
  /** Non-zero: a token; 0: padding. Of the shape of the tokens. */
  attentionMask?: TokenRows;
}

export interface MropePositions {
  /** Time, height, width: what `queryPositions`, `keyPositions` and `rotate` take. Padding stands at 1. */
  readonly positions: readonly [MropeAxis, MropeAxis, MropeAxis];
  /** Per sequence: add it to a token's index to continue after the last one. */
  readonly deltas: readonly number[];
}
export interface MropeAxis {
  readonly data: Float64Array;
  readonly shape: readonly [number, number];
}

const where = 'mropePositions';
const known = [
  'imageToken',
  'videoToken',
  'imageGrids',
  'videoGrids',
  'mergeSize',
  'secondsPerGrid',
  'tokensPerSecond',
  'attentionMask',
] as const;

/**
 * A text token stands at the same number on all three axes, one after the token before. An image or a
 * video starts at s, one after the greatest number so far; its token at time t, row r and column c of
 * the merged grid stands at (s + t, s + r, s + c), where `secondsPerGrid` makes time
 * floor(t · seconds · tokensPerSecond).
 */
export function mropePositions(
  tokens: TokenRows,
  options: MropePositionsOptions = {},
): MropePositions {
  const given = readOptions(where, options, known);
  const ids = readRows('tokens', tokens);
  const mask = readMask(given.get('attentionMask'), ids);
  const kinds = readKinds(given);
  const [batch, n] = ids.shape;
  const axes = [0, 1, 2].map(() => new Float64Array(batch * n).fill(1));
  const deltas: number[] = [];
  for (let b = 0; b < batch; ++b) {
    const places: number[] = [];
    for (let i = 0; i < n; ++i)
      if (mask === undefined || mask[b * n + i] !== 0) places.push(b * n + i);
    deltas.push(placeRow(ids.values, places, kinds, axes) - n);
  }
  for (const kind of kinds)
    if (kind.next !== kind.grids.length)
      throw fault('SHAPE_MISMATCH', {
        where,
        field: kind.field,
        expected: `one for each run of its token: ${kind.next}`,
        received: text(`${kind.grids.length} grids`),
      });
  const [time, height, width] = axes.map((data): MropeAxis => ({ data, shape: [batch, n] }));
  return { positions: [time, height, width], deltas };
}

/** Images or videos, and how many of them have been met. */
interface Kind {
  field: 'imageGrids' | 'videoGrids';
  token: number | undefined;
  grids: readonly Grid[];
  next: number;
}
/** Counts of merged tokens, and positions per step of time. */
interface Grid {
  time: number;
  rows: number;
  columns: number;
  pace: number;
}

/** One sequence; returns one more than its greatest position. */
function placeRow(
  ids: Float64Array,
  places: readonly number[],
  kinds: readonly Kind[],
  [time, height, width]: readonly Float64Array[],
): number {
  let next = 0;
  for (let i = 0; i < places.length; ) {
    const kind = kinds.find(({ token }) => token === ids[places[i]]);
    if (kind === undefined) {
      const at = places[i++];
      time[at] = height[at] = width[at] = next++;
      continue;
    }
    const grid = nextGrid(kind, ids, places, i);
    const start = next;
    for (let t = 0; t < grid.time; ++t)
      for (let r = 0; r < grid.rows; ++r)
        for (let c = 0; c < grid.columns; ++c) {
          const at = places[i++];
          time[at] = start + Math.floor(t * grid.pace);
          height[at] = start + r;
          width[at] = start + c;
          next = Math.max(next, time[at] + 1, height[at] + 1, width[at] + 1);
        }
  }
  return next;
}

function nextGrid(kind: Kind, ids: Float64Array, places: readonly number[], from: number): Grid {
  const grid = kind.grids[kind.next];
  if (grid === undefined)
    throw fault(kind.grids.length === 0 ? 'MISSING_OPTION' : 'SHAPE_MISMATCH', {
      where,
      field: kind.field,
      expected: 'one for each run of its token',
      received: text(`${kind.grids.length} grids`),
    });
  const count = grid.time * grid.rows * grid.columns;
  for (let i = from; i < from + count; ++i)
    if (i >= places.length || ids[places[i]] !== kind.token)
      throw fault('SHAPE_MISMATCH', {
        where,
        field: kind.field,
        index: kind.next,
        expected: `of as many tokens as follow each other: ${i - from}`,
        received: text(`${count} tokens`),
      });
  kind.next += 1;
  return grid;
}

function readKinds(given: ReadonlyMap<string, unknown>): Kind[] {
  const merge = integer(where, 'mergeSize', or(given.get('mergeSize'), 2), { min: 1, max: 1024 });
  const videos = given.get('videoGrids');
  const count = isArray(videos) ? reading(where, 'videoGrids', videos, () => videos.length) : 0;
  const paces = readPaces(given, count);
  const kind = (field: Kind['field'], name: 'imageToken' | 'videoToken'): Kind => {
    const token = given.get(name);
    return {
      field,
      token: token === undefined ? undefined : integer(where, name, token),
      grids: readGrids(field, given.get(field), merge, field === 'videoGrids' ? paces : undefined),
      next: 0,
    };
  };
  return [kind('imageGrids', 'imageToken'), kind('videoGrids', 'videoToken')];
}

function readPaces(given: ReadonlyMap<string, unknown>, videos: number): Float64Array | undefined {
  const seconds = given.get('secondsPerGrid');
  const [perSecond] = list(where, 'tokensPerSecond', [or(given.get('tokensPerSecond'), 1)], paces);
  if (seconds === undefined) return undefined;
  return list(where, 'secondsPerGrid', seconds, { ...paces, length: videos }).map(
    (s) => s * perSecond,
  );
}
const paces = { min: 0, max: 1e6 };

function readGrids(
  field: Kind['field'],
  given: unknown,
  merge: number,
  pace: Float64Array | undefined,
): Grid[] {
  if (given === undefined) return [];
  if (!isArray(given)) throw wrongType(where, field, 'an array of [time, height, width]', given);
  // Not map(), which steps over holes.
  const length = reading(where, field, given, () => given.length);
  return Array.from({ length }, (_, i): Grid => {
    const one = reading(where, field, given, () => given[i]);
    const sides = list(where, `${field}[${i}]`, one, { length: 3 });
    const side = (axis: number, multipleOf: number) =>
      integer(where, `${field}[${i}][${axis}]`, sides[axis], { min: 1, max: 2 ** 20, multipleOf }) /
      multipleOf;
    return {
      time: side(0, 1),
      rows: side(1, merge),
      columns: side(2, merge),
      pace: pace?.[i] ?? 1,
    };
  });
}

interface Rows {
  values: Float64Array;
  shape: readonly [number, number];
}

function readMask(given: unknown, ids: Rows): Float64Array | undefined {
  if (given === undefined) return undefined;
  const mask = readRows('attentionMask', given);
  if (!sameShape(mask.shape, ids.shape))
    throw fault('SHAPE_MISMATCH', {
      where,
      field: 'attentionMask',
      expected: `of the shape of the tokens: ${shapeText(ids.shape)}`,
      received: text(shapeText(mask.shape)),
    });
  return mask.values;
}

function readRows(field: string, given: unknown): Rows {
  return reading(where, field, given, () => captureRows(field, given));
}

function captureRows(field: string, given: unknown): Rows {
  if (isArray(given) && given.length > 0 && typeof given[0] === 'object') {
    const rows = Array.from({ length: given.length }, (_, i) =>
      numbers(`${field}[${i}]`, given[i]),
    );
    for (const [i, row] of rows.entries())
      if (row.length !== rows[0].length)
        throw fault('SHAPE_MISMATCH', {
          where,
          field: `${field}[${i}]`,
          expected: `as long as the first row: ${rows[0].length}`,
          received: text(`${row.length} numbers`),
        });
    const values = doubles(where, field, rows.length * rows[0].length);
    for (const [i, row] of rows.entries()) values.set(row, i * row.length);
    return { values, shape: [rows.length, rows[0].length] };
  }
  const { data, shape, dims } = (given ?? {}) as {
    data?: unknown;
    shape?: unknown;
    dims?: unknown;
  };
  if (data === undefined || isArray(given)) {
    const values = numbers(field, given);
    return { values, shape: [1, values.length] };
  }
  const values = numbers(field, data);
  const extents = checkShape(where, `${field}.shape`, shape === undefined ? dims : shape);
  const [batch, n] = extents.length === 1 ? [1, extents[0]] : extents;
  if (extents.length > 2 || batch * n !== values.length)
    throw fault('SHAPE_MISMATCH', {
      where,
      field,
      expected: 'of shape [n] or [batch, n] holding as many numbers',
      received: text(`${shapeText(extents)} with ${values.length} numbers`),
    });
  return { values, shape: [batch, n] };
}

function numbers(field: string, given: unknown): Float64Array {
  if (isView(given) && typedArrayName(given) === 'BigInt64Array') {
    // what tokenizers give
    if (isOutOfBounds(given)) throw detached(where, field);
    return Float64Array.from(given as unknown as BigInt64Array, Number);
  }
  const values = copyNumbers(
    where,
    field,
    given,
    'token ids: number[], a typed array, rows of them or a tensor',
  );
  for (let i = 0; i < values.length; ++i) integer(where, `${field}[${i}]`, values[i]);
  return values;
}

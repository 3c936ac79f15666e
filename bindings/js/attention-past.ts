// SPDX-License-Identifier: Apache-2.0
/** What attention over a cache has instead of k and v: the tokens it holds, and new ones. */

import { type Given, where } from './attention-options.js';
import { mismatch, readShapes, type Shapes } from './attention-shapes.js';
import {
  axesOfPast,
  changesOf,
  lengthOf,
  type Past,
  readTokenPositions,
  requireTokens,
  storedOf,
} from './cache-past.js';
import type { Engine } from './engine.js';
import { text } from './errors.js';
import type { Held } from './handles.js';
import type { CapturedPositions } from './positions.js';
import { capture, type Source } from './tensor.js';
import { record, unknownOption } from './validate.js';

export interface PastTokens {
  past: Past;
  /** As it was before the arguments were read. */
  length: number;
  stored: number;
  changes: number;
  /** New tokens. */
  count: number;
  /** New keys and values, or nothing. */
  sources: readonly Source[];
  positions: CapturedPositions | undefined;
}

const known = ['k', 'v', 'positions'] as const;

export function readPast(
  engine: Engine,
  past: Past,
  given: Given,
  layout: 'bhnd' | 'bnhd',
): PastTokens {
  for (const field of ['keyLengths', 'queryLengths', 'cuSeqlens'] as const)
    if (given.get(field) !== undefined)
      throw mismatch(
        'OPTION_NOT_APPLICABLE',
        field,
        'left out with a cache, whose sequences are of one length: pad at the left, with a mask',
        given.get(field),
      );
  const before = { changes: changesOf(past), length: lengthOf(past), stored: storedOf(past) };
  const append = given.get('append');
  const read = record(where, 'append', append);
  for (const name of read.keys())
    if (!(known as readonly string[]).includes(name))
      throw unknownOption(where, `append.${name}`, known);
  const keyPositions = given.get('keyPositions');
  if (keyPositions !== undefined && (append === undefined || read.get('positions') !== undefined))
    throw mismatch(
      'OPTION_NOT_APPLICABLE',
      'keyPositions',
      'left out: the cache knows where its tokens stand, and append.positions says it of new ones',
      keyPositions,
    );
  if (append === undefined) return { past, ...before, count: 0, sources: [], positions: undefined };
  const sources = (['k', 'v'] as const).map((name) =>
    capture(engine, where, `append.${name}`, read.get(name)),
  );
  const count = requireTokens(where, past, sources, layout);
  const positions = readTokenPositions(
    where,
    keyPositions === undefined ? 'append.positions' : 'keyPositions',
    read.get('positions') ?? keyPositions,
    past,
    count,
  );
  return { past, ...before, count, sources, positions };
}

/** Shapes as if all keys were there. */
export function shapesOverPast(q: Source, tokens: PastTokens, layout: 'bhnd' | 'bnhd'): Shapes {
  const { past, count, length, stored } = tokens;
  const { batch, heads, headDim, valueDim } = past.shape;
  const leading = q.shape.length === 4 ? [batch] : [];
  if (q.shape.length === 3 && batch !== 1)
    throw mismatch('SHAPE_MISMATCH', 'q', `of the batch of the cache: B = ${batch}`, undefined);
  const keys = stored + count;
  const rows = layout === 'bhnd' ? [heads, keys] : [keys, heads];
  const shapes = readShapes(
    [q, { shape: [...leading, ...rows, headDim] }, { shape: [...leading, ...rows, valueDim] }],
    layout,
  );
  return { ...shapes, end: length + count };
}

/** The cache's own encodings, or those that are asked for, where the cache's own are among them. */
export function encodingsOverPast({ past }: PastTokens, asked: readonly Held[] | undefined) {
  const own = past.encodings.map(({ held }) => held);
  if (asked === undefined) return own;
  // The core looks at the rest: whether the others need keys as they came.
  const axes = axesOfPast(past);
  const others = asked.filter((one) => !own.includes(one));
  if (
    own.every((one) => asked.includes(one)) &&
    others.every(({ info }) => own.length === 0 || info.axes === 1 || info.axes === axes)
  )
    return asked;
  const ids = (list: readonly Held[]) => list.map(({ info }) => info.id);
  throw mismatch(
    'CACHE_STALE',
    'encoding',
    'those the cache was made with and others beside them, or left out',
    text(ids(asked).join(', ') || 'none'),
    { cache: ids(own), asked: ids(asked) },
  );
}

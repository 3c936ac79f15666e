// SPDX-License-Identifier: Apache-2.0
/** What stands behind a user's cache, and what a call that uses it demands of it. */

import { axesOf } from './attention-shapes.js';
import type { CacheShape, Kept } from './cache-options.js';
import type { Engine } from './engine.js';
import { fault, shapeText, text } from './errors.js';
import { requireLive } from './handles.js';
import { disposed, foreign } from './owned.js';
import { type CapturedPositions, capturePositions } from './positions.js';
import type { Source } from './tensor.js';

/** What stands behind a user's cache. */
export interface Past {
  readonly engine: Engine;
  readonly handle: number;
  readonly shape: CacheShape;
  readonly encodings: readonly Kept[];
  readonly state: { disposed: boolean };
}

const pasts = new WeakMap<object, Past>();

/** From now on `cache` stands for it. */
export const nameCache = (cache: object, past: Past) => pasts.set(cache, past);

/** The cache behind an object of the user's, if it is one. */
export function pastOf(engine: Engine, where: string, given: unknown): Past | undefined {
  const past = typeof given === 'object' && given !== null ? pasts.get(given) : undefined;
  if (past === undefined) return undefined;
  if (past.state.disposed) throw disposed(where, 'cache');
  if (past.engine !== engine) throw foreign(where, 'cache', 'cache');
  return past;
}

export const lengthOf = ({ engine, handle }: Past) => engine.call((raw) => raw.cacheLength(handle));
export const storedOf = ({ engine, handle }: Past) => engine.call((raw) => raw.cacheStored(handle));
export const changesOf = ({ engine, handle }: Past) =>
  engine.call((raw) => raw.cacheChanges(handle));

/** Whether nothing happened to the cache since `changesOf` gave `changes`, while code of the user's ran. */
export function unchanged(where: string, past: Past, changes: number): () => void {
  return () => {
    if (past.state.disposed) throw disposed(where, 'cache');
    for (const { held } of past.encodings) requireLive(where, held);
    if (changesOf(past) !== changes)
      throw fault('REENTRANT', {
        where,
        field: 'cache',
        expected: 'left alone while its own call reads its arguments',
      });
  };
}

/** Positions of new tokens; undefined where they are counted. */
export function readTokenPositions(
  where: string,
  field: string,
  given: unknown,
  { shape, encodings }: Past,
  rows: number,
): CapturedPositions | undefined {
  if (given === undefined) return undefined;
  const axes = Math.max(1, ...encodings.map(({ held }) => held.info.axes));
  const integer = encodings.some(({ held }) => held.info.positions !== 'real');
  return capturePositions(where, field, given, { axes, integer, rows, batch: shape.batch });
}

export const axesOfPast = ({ encodings }: Past) =>
  Math.max(1, ...encodings.map(({ held }) => held.info.axes));

/** Throws unless k and v are as the cache is; how many tokens they hold. */
export function requireTokens(
  where: string,
  past: Past,
  [k, v]: readonly Source[],
  layout: 'bhnd' | 'bnhd',
): number {
  const { batch, heads, headDim, valueDim } = past.shape;
  const tokens = [k, v].map(({ shape }) => {
    if (shape.length === 3 || shape.length === 4) return axesOf(shape, layout);
    return { batch: -1, heads: 0, rows: 0, width: 0 };
  });
  for (const [i, width] of [headDim, valueDim].entries()) {
    const it = tokens[i];
    if (it.batch === batch && it.heads === heads && it.width === width) continue;
    const extents = layout === 'bhnd' ? [heads, 'n', width] : ['n', heads, width];
    throw fault('SHAPE_MISMATCH', {
      where,
      field: 'kv'[i],
      expected: `of shape [${[batch, ...extents].join(', ')}], as the cache is`,
      received: text(shapeText([k, v][i].shape)),
    });
  }
  if (tokens[0].rows !== tokens[1].rows)
    throw fault('SHAPE_MISMATCH', {
      where,
      field: 'v',
      expected: `as long as k: ${tokens[0].rows}`,
      received: text(shapeText(v.shape)),
    });
  requireRoom(where, past, tokens[0].rows);
  return tokens[0].rows;
}

/** A ring makes room; any other cache keeps every token or takes none. */
function requireRoom(where: string, past: Past, tokens: number): void {
  const { capacity, window } = past.shape;
  if (window > 0) return;
  const used = lengthOf(past);
  if (tokens > capacity - used)
    throw fault('CACHE_FULL', {
      where,
      field: 'append',
      expected: `at most ${capacity - used} tokens: ${used} of ${capacity} are used`,
      received: tokens,
      advice: 'Nothing was stored. Truncate, make a larger cache, or use a ring.',
      more: { capacity, used },
    });
}

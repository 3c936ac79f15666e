// SPDX-License-Identifier: Apache-2.0
/** What a cache can be: its geometry, how it stores numbers, what it keeps. */

import type { Encoding } from './encoding.js';
import type { Engine } from './engine.js';
import { fault } from './errors.js';
import { encodingOf, type Held } from './handles.js';
import { isArray } from './intrinsics.js';
import { choice, integer, or, reading, options as readOptions } from './validate.js';

export interface CacheOptions {
  /** @default 1 */
  batch?: number;
  /** Key/value heads, G. */
  heads: number;
  headDim: number;
  /** @default headDim */
  valueDim?: number;
  /** Tokens there is room for. A ring needs none. */
  capacity?: number;
  /** 'f16' halves the memory and 'i8', with one scale for each row, quarters it. @default 'f32' */
  dtype?: 'f32' | 'f16' | 'i8';
  /**
   * A ring: keep only the last so many tokens. A query sees what is kept and what is new; give
   * attention the model's window too, and it does not matter in what pieces tokens come.
   */
  window?: number;
  /** Of a ring: keep so many first tokens for ever, which every query sees. @default 0 */
  sinks?: number;
  /** Rotates keys as they come where that stays right; attention then uses it without being told. */
  encoding?: Encoding | readonly Encoding[];
  /**
   * Where tokens stand: in the whole text, or counted from 0 in what is kept for ever, the last `window`
   * before a token and itself, as StreamingLLM places them. @default 'cache' with sinks, else 'text'
   */
  positions?: 'text' | 'cache';
}

export interface CacheShape {
  readonly batch: number;
  readonly heads: number;
  readonly headDim: number;
  readonly valueDim: number;
  readonly capacity: number;
  readonly dtype: number;
  readonly window: number;
  readonly sinks: number;
  readonly ownPositions: boolean;
}

export const where = 'pe.cache';
export const dtypes = ['f32', 'f16', 'i8'] as const;
const names = [
  'batch',
  'heads',
  'headDim',
  'valueDim',
  'capacity',
  'dtype',
  'window',
  'sinks',
  'encoding',
  'positions',
] as const satisfies readonly (keyof CacheOptions)[];
const most = 2 ** 30 - 1;

export function readCacheOptions(engine: Engine, options: unknown) {
  const given = readOptions(where, options, names);
  const count = (name: (typeof names)[number], min: number, preset?: number) => {
    const value = or(given.get(name), preset);
    if (value === undefined)
      throw fault('MISSING_OPTION', { where, field: name, expected: `an integer from ${min}` });
    return integer(where, name, value, { min, max: most });
  };
  const window = given.get('window') === undefined ? 0 : count('window', 1);
  const headDim = count('headDim', 1);
  const sinks = count('sinks', 0, 0);
  if (sinks > 0 && window === 0)
    throw fault('MISSING_OPTION', {
      where,
      field: 'window',
      expected: 'given with sinks, which are kept beside a ring',
    });
  const encodings = readEncodings(engine, given.get('encoding'));
  const streams = sinks > 0 && encodings.every(({ held }) => held.info.axes === 1);
  const positions = or(given.get('positions'), streams ? 'cache' : 'text');
  const ownPositions = choice(where, 'positions', positions, ['text', 'cache']) === 'cache';
  if (ownPositions && window === 0)
    throw fault('OPTION_NOT_APPLICABLE', {
      where,
      field: 'positions',
      expected: "'text' without a window: all tokens are where they were",
      received: positions,
    });
  const shape: CacheShape = {
    batch: count('batch', 1, 1),
    heads: count('heads', 1),
    headDim,
    valueDim: count('valueDim', 0, headDim),
    capacity: count('capacity', 1, window === 0 ? undefined : 1),
    dtype: dtypes.indexOf(choice(where, 'dtype', or(given.get('dtype'), 'f32'), dtypes)),
    window,
    sinks,
    ownPositions,
  };
  return { shape, encodings };
}

/** `object` is what the user holds: whoever keeps it keeps the encoding. */
export interface Kept {
  readonly object: object;
  readonly held: Held;
}

function readEncodings(engine: Engine, given: unknown): readonly Kept[] {
  if (given === undefined) return [];
  const keep = (field: string, object: unknown): Kept => ({
    held: encodingOf(engine, where, field, object),
    object: object as object,
  });
  if (!isArray(given)) return [keep('encoding', given)];
  if (given.length > 8)
    throw fault('UNSUPPORTED', { where, field: 'encoding', expected: 'at most 8 encodings' });
  return reading(where, 'encoding', given, () =>
    Array.from({ length: given.length }, (_, i) => keep(`encoding[${i}]`, given[i])),
  );
}

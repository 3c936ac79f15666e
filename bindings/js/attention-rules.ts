// SPDX-License-Identifier: Apache-2.0
/** Which keys a query may see, all but the mask: windows, prefixes, lengths and packed sequences. */

import { type Given, type Window, where } from './attention-options.js';
import { mismatch, type Shapes } from './attention-shapes.js';
import { isArray, isView } from './intrinsics.js';
import { copyNumbers } from './number-lists.js';
import { boolean, integer, maxElements, or, record, unknownOption } from './validate.js';

export interface Rules {
  causal: boolean;
  queryOffset: number;
  windowLeft: number;
  windowRight: number;
  windowFirst: number;
  /** 0: all places are one chunk. */
  chunk: number;
  prefix: number;
  /** Seven numbers for each sequence that has lengths of its own; empty: each batch entry is one. */
  sequences: readonly number[];
}

/** As the core knows it: no limit. */
const unlimited = -1;
const counting = { min: 0, max: maxElements };
const placing = { min: -maxElements, max: maxElements };

/** The window of `total` keys of which the last is the query's own: what models call sliding. */
export function fromTotal(total: number): Required<Pick<Window, 'left' | 'right'>> {
  return { left: integer('fromTotal', 'total', total, { min: 1, max: maxElements }) - 1, right: 0 };
}

export function readRules(given: Given, shapes: Shapes): Rules {
  const atTheEnd = (shapes.end ?? shapes.keys) - shapes.queries;
  const read = shapes.end === undefined ? oneOrSome : oneForAll(shapes.batch);
  const offset = read(given, 'queryOffset', placing);
  const prefix = read(given, 'prefix', counting);
  return {
    causal: boolean(where, 'causal', or(given.get('causal'), false)),
    queryOffset: typeof offset === 'number' ? offset : atTheEnd,
    prefix: typeof prefix === 'number' ? prefix : 0,
    ...readWindow(given.get('window')),
    chunk: integer(where, 'chunk', or(given.get('chunk'), 0), counting),
    sequences:
      given.get('cuSeqlens') === undefined
        ? padded(given, shapes, offset ?? atTheEnd, prefix ?? 0)
        : packed(given, shapes, offset, prefix ?? 0),
  };
}

function readWindow(window: unknown) {
  const read = record(where, 'window', window);
  const known = ['left', 'right', 'first'];
  for (const name of read.keys())
    if (!known.includes(name)) throw unknownOption(where, `window.${name}`, known);
  const side = (name: string) => {
    const value = read.get(name);
    return value === undefined || value === Infinity
      ? unlimited
      : integer(where, `window.${name}`, value, counting);
  };
  const first = integer(where, 'window.first', or(read.get('first'), 0), counting);
  return { windowLeft: side('left'), windowRight: side('right'), windowFirst: first };
}

type Limits = { min: number; max: number };
type OneOrSome = number | Float64Array;

function oneOrSome(
  given: Given,
  field: 'queryOffset' | 'prefix',
  limits: Limits,
): OneOrSome | undefined {
  const value = given.get(field);
  if (value === undefined) return undefined;
  return isArray(value) || isView(value)
    ? integers(field, value, limits)
    : integer(where, field, value, limits);
}

/** Sequences of a cache are of one length and stand alike, so a list must say the same of each. */
const oneForAll =
  (batch: number): typeof oneOrSome =>
  (given, field, limits) => {
    const value = oneOrSome(given, field, limits);
    if (value === undefined || typeof value === 'number') return value;
    requireLength(field, value, batch, 'batch entry');
    for (const one of value)
      if (one !== value[0])
        throw mismatch('UNSUPPORTED', field, 'one number for all sequences of a cache', one);
    return value[0];
  };

function integers(field: string, value: unknown, limits: Limits, length?: number): Float64Array {
  const copy = copyNumbers(where, field, value, 'a list of integers');
  if (length !== undefined) requireLength(field, copy, length, 'batch entry');
  for (let i = 0; i < copy.length; ++i) copy[i] = integer(where, `${field}[${i}]`, copy[i], limits);
  return copy;
}

function requireLength(field: string, list: Float64Array, length: number, of: string): void {
  if (list.length !== length)
    throw mismatch('SHAPE_MISMATCH', field, `${length} numbers, one for each ${of}`, list.length);
}

function pick(field: string, value: OneOrSome, count: number, of: string): (i: number) => number {
  if (typeof value === 'number') return () => value;
  // Packed sequences are a batch of one, whose one number holds for each.
  if (of === 'sequence' && value.length === 1) return () => value[0];
  requireLength(field, value, count, of);
  return (i) => value[i];
}

/** Lengths per batch entry; nothing where all entries are alike. */
function padded(given: Given, shapes: Shapes, offset: OneOrSome, prefix: OneOrSome): number[] {
  const { batch, queries, keys } = shapes;
  const lengths = (field: 'keyLengths' | 'queryLengths', most: number) =>
    given.get(field) === undefined
      ? undefined
      : integers(field, given.get(field), { min: 0, max: most }, batch);
  const keyLengths = lengths('keyLengths', keys);
  const queryLengths = lengths('queryLengths', queries);
  const offsets = pick('queryOffset', offset, batch, 'batch entry');
  const prefixes = pick('prefix', prefix, batch, 'batch entry');
  const alike = typeof offset === 'number' && typeof prefix === 'number';
  if (alike && keyLengths === undefined && queryLengths === undefined) return [];
  const sequences: number[] = [];
  for (let b = 0; b < batch; ++b) {
    const [T, S] = [queryLengths?.[b] ?? queries, keyLengths?.[b] ?? keys];
    sequences.push(b, 0, T, 0, S, offsets(b), prefixes(b));
  }
  return sequences;
}

function packed(
  given: Given,
  shapes: Shapes,
  offset: OneOrSome | undefined,
  prefix: OneOrSome,
): number[] {
  for (const field of ['keyLengths', 'queryLengths'] as const)
    if (given.get(field) !== undefined)
      throw mismatch(
        'OPTION_NOT_APPLICABLE',
        field,
        'left out: cuSeqlens already says where each sequence ends',
        given.get(field),
      );
  if (shapes.batch > 1)
    throw mismatch(
      'SHAPE_MISMATCH',
      'cuSeqlens',
      'for B = 1: packed sequences stand one after the other',
      shapes.batch,
    );
  const read = record(where, 'cuSeqlens', given.get('cuSeqlens'));
  for (const name of read.keys())
    if (name !== 'q' && name !== 'k') throw unknownOption(where, `cuSeqlens.${name}`, ['q', 'k']);
  const q = borders('cuSeqlens.q', read.get('q'), shapes.queries);
  const k = read.get('k') === undefined ? q : borders('cuSeqlens.k', read.get('k'), shapes.keys);
  if (k.length !== q.length || k[k.length - 1] !== shapes.keys)
    throw mismatch(
      'SHAPE_MISMATCH',
      'cuSeqlens.k',
      `${q.length} borders up to S = ${shapes.keys}, given where q and k differ`,
      k.length,
    );
  const count = q.length - 1;
  const prefixes = pick('prefix', prefix, count, 'sequence');
  const offsets = offset === undefined ? undefined : pick('queryOffset', offset, count, 'sequence');
  const sequences: number[] = [];
  for (let i = 0; i < count && shapes.batch > 0; ++i) {
    const [T, S] = [q[i + 1] - q[i], k[i + 1] - k[i]];
    sequences.push(0, q[i], T, k[i], S, offsets?.(i) ?? S - T, prefixes(i));
  }
  return sequences;
}

/** From 0, never falling, to all there are. */
function borders(field: string, value: unknown, end: number): Float64Array {
  const list = integers(field, value, { min: 0, max: end });
  const expected = `borders from 0 to ${end} that never fall`;
  if (list.length === 0) throw mismatch('BAD_SHAPE', field, expected, value);
  for (let i = 0; i < list.length; ++i)
    if (list[i] < (i === 0 ? 0 : list[i - 1]) || (i === 0 && list[i] !== 0))
      throw mismatch('OUT_OF_RANGE', `${field}[${i}]`, expected, list[i]);
  if (list[list.length - 1] !== end)
    throw mismatch(
      'SHAPE_MISMATCH',
      `${field}[${list.length - 1}]`,
      expected,
      list[list.length - 1],
    );
  return list;
}

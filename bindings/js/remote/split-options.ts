// SPDX-License-Identifier: Apache-2.0
/** The options of `attention` for one part of a split call, and positions for some of the entries. */

import { isArray, isView } from '../intrinsics.js';
import type { EncodingInfo } from '../manifest.js';
import { type Heads, perHead } from './cut.js';
import { isNumbers, type Plain, part, plain, take } from './slices.js';
import { type Options, optionsIn, whole } from './whole.js';

/** An encoding of the call. */
export interface Used {
  info: EncodingInfo;
  /** Whether its frequencies stay when the length changes. */
  fixed: boolean;
  /** Its mark for these heads of all; undefined where it cannot be cut. */
  forHeads(heads: Heads): unknown;
}

/** Along one axis, `of` entries in `pieces` runs. */
export interface Cut {
  by: 'batch' | 'heads';
  pieces: number;
  of: number;
}
export interface Run {
  from: number;
  count: number;
}

export interface Geometry {
  batch: number;
  H: number;
  G: number;
  rank: number;
  width: number;
}

/** The same for every part, whichever way the call is cut. */
const shared = [
  'layout',
  'scale',
  'causal',
  'window',
  'softcap',
  'queryScale',
  'weights',
  'logSumExp',
];
const perEntry = ['queryOffset', 'prefix', 'keyLengths', 'queryLengths'];
const positions = ['queryPositions', 'keyPositions'];

export function optionsFor(
  options: Options,
  used: readonly { used: Used; mark: unknown }[],
  { by }: Cut,
  keys: Run,
  queries: Run,
  of: Geometry,
  own: Set<object>,
): Options {
  const changes = [...perEntry, ...positions].some((name) => {
    const value = options[name];
    return positions.includes(name) ? hasSets(value) : typeof value === 'object';
  });
  // A schedule may look at the longest of all sequences.
  if (by === 'batch' && changes && used.some(({ used: { fixed } }) => !fixed)) return whole();

  const one = (name: string, value: unknown): unknown => {
    if (value === undefined || shared.includes(name)) return value;
    if (name === 'encoding')
      return used.map(({ used: one, mark }) => {
        if (by === 'batch' || !perHead(one.info)) return mark;
        // Keys are turned by the tables of their own heads, which are not those of the queries.
        if (one.info.sites.includes('rotate') && of.H !== of.G) return whole();
        return one.forHeads({ ...queries, of: of.H }) ?? whole();
      });
    if (perEntry.includes(name)) {
      if (by === 'heads' || typeof value === 'number') return value;
      if (!isNumbers(value) || value.length !== of.batch) return whole();
      return part(value, keys.from, keys.from + keys.count);
    }
    if (positions.includes(name))
      return by === 'batch' ? positionsOf(value, keys, of.batch, own) : value;
    if (name === 'mask') return maskFor(value, by, by === 'batch' ? keys : queries, of, own);
    if (name === 'sinks') {
      if (by === 'batch') return value;
      if (!isNumbers(value) || value.length !== of.H) return whole();
      return part(value, queries.from, queries.from + queries.count);
    }
    if (name === 'qNorm') return normFor(value, by, queries, of.H, of.width, own);
    if (name === 'kNorm') return normFor(value, by, keys, of.G, of.width, own);
    return whole();
  };
  const entries = Object.entries(options).filter(([name]) => name !== 'out');
  return Object.fromEntries(entries.map(([name, value]) => [name, one(name, value)]));
}

function maskFor(value: unknown, by: Cut['by'], run: Run, of: Geometry, own: Set<object>): unknown {
  const mask = plain(value) ?? whole();
  if (!isView(mask.data)) return whole();
  const rank = mask.shape.length;
  const axis = by === 'batch' ? rank - 4 : rank - 3;
  const extent = by === 'batch' ? of.batch : of.H;
  if (rank > 4) return whole();
  if (axis < 0 || mask.shape[axis] === 1) return value;
  return mask.shape[axis] === extent ? take(mask, axis, run.from, run.count, own) : whole();
}

function normFor(
  value: unknown,
  by: Cut['by'],
  run: Run,
  heads: number,
  width: number,
  own: Set<object>,
): unknown {
  if (by === 'batch') return value;
  const norm = optionsIn(value);
  const { weight } = norm;
  if (weight === undefined || (isNumbers(weight) && weight.length === width)) return value;
  const table: Plain = plain(weight) ?? whole();
  if (table.shape.length === 1) return value;
  if (table.shape.length !== 2 || table.shape[0] !== heads) return whole();
  return { ...norm, weight: take(table, 0, run.from, run.count, own) };
}

/** Whether positions are given for each batch entry. */
export function hasSets(value: unknown): boolean {
  if (isArray(value)) return value.some((one) => typeof one === 'object' && hasSets(one));
  if (typeof value !== 'object' || value === null || isView(value)) return false;
  const { shape, dims } = value as { shape?: unknown; dims?: unknown };
  const extents = shape === undefined ? dims : shape;
  return isArray(extents) && extents.length === 2 && extents[0] !== 1;
}

export function positionsOf(value: unknown, run: Run, batch: number, own: Set<object>): unknown {
  if (!hasSets(value)) return value;
  // One set beside others of several is refused, but would pass in parts of one entry.
  if (isArray(value))
    return value.map((one) => (hasSets(one) ? positionsOf(one, run, batch, own) : whole()));
  const { data, shape, dims } = value as { data: unknown; shape?: unknown; dims?: unknown };
  const extents = (shape === undefined ? dims : shape) as readonly number[];
  const isList = isNumbers(data) || data instanceof BigInt64Array;
  if (!isList || extents[0] !== batch || extents[0] * extents[1] !== data.length) return whole();
  return take({ data: data as Float32Array, shape: extents }, 0, run.from, run.count, own);
}

// SPDX-License-Identifier: Apache-2.0
/**
 * One call as several, for workers that compute at the same time: by batch entries, or by heads with
 * whole groups of query heads. Only what is certain to be the same in parts is split, and what does not
 * look right goes to one worker, whose validation says what is wrong with it.
 */

import { isArray, isView } from '../intrinsics.js';
import type { EncodingInfo } from '../manifest.js';
import type { Tensor } from '../types.js';
import { sameShape } from '../validate.js';
import { type Heads, perHead } from './cut.js';
import { isNumbers, join, type Plain, part, plain, take } from './slices.js';
import { type Out, partsOf } from './wire.js';

/** An encoding of the call. */
export interface Used {
  info: EncodingInfo;
  /** Its mark for these heads of all; undefined where it cannot be cut. */
  forHeads(heads: Heads): unknown;
}

export interface Question {
  args: readonly unknown[];
  outs: readonly Out[];
  /** What a mark in the arguments stands for. */
  encodingAt(mark: unknown): Used | undefined;
}

export interface Split {
  parts: readonly (readonly unknown[])[];
  /** Buffers that were made for the parts. */
  own: ReadonlySet<object>;
  join(results: readonly unknown[]): unknown;
}

/** Along one axis, `of` entries in `pieces` runs. */
interface Cut {
  by: 'batch' | 'heads';
  pieces: number;
  of: number;
}
interface Run {
  from: number;
  count: number;
}
const runsOf = ({ pieces, of }: Cut): Run[] =>
  Array.from({ length: pieces }, (_, i) => {
    const from = Math.floor((i * of) / pieces);
    return { from, count: Math.floor(((i + 1) * of) / pieces) - from };
  });

type Options = Readonly<Record<string, unknown>>;
/** What is asked for is not seen through: one worker does it. */
class Whole extends Error {}
const whole = (): never => {
  throw new Whole();
};
function unlessWhole<T>(split: () => T): T | undefined {
  try {
    return split();
  } catch (cause) {
    if (cause instanceof Whole) return undefined;
    throw cause;
  }
}

function optionsIn(value: unknown): Options {
  if (value === undefined) return {};
  if (typeof value !== 'object' || value === null || isArray(value) || isView(value))
    return whole();
  return value as Options;
}

/** `rotate` and `embed`: x [..., n, D], positions, options. */
export function splitRows(
  { args, outs }: Question,
  { info }: Used,
  most: number,
): Split | undefined {
  return unlessWhole(() => {
    const x = plain(args[0]) ?? whole();
    const options = optionsIn(args[2]);
    const rank = x.shape.length;
    if (rank < 3) return whole();
    const sets = hasSets(args[1]);
    if (sets && info.lengthPolicy !== 'static') return whole();
    // The first axis is heads where there is one before the rows, unless each entry has its own positions.
    const firstIsBatch = rank > 3 || sets;
    const axes = [0, ...(rank === 4 ? [1] : [])].filter(
      (axis) => (axis === 0 && firstIsBatch) || !perHead(info),
    );
    const pieces = (axis: number) => Math.min(most, x.shape[axis]);
    const axis = axes.reduce(
      (best, one) => (pieces(one) > pieces(best) ? one : best),
      axes[0] ?? whole(),
    );
    if (pieces(axis) < 2) return whole();
    const out = outOf(options.out, outs, x.shape);
    const { out: _, ...rest } = options;
    const own = new Set<object>();
    const cut: Cut = { by: 'batch', pieces: pieces(axis), of: x.shape[axis] };
    const parts = runsOf(cut).map((run) => [
      take(x, axis, run.from, run.count, own),
      sets ? positionsOf(args[1], run, cut.of, own) : args[1],
      rest,
    ]);
    return { parts, own, join: (results) => joined(results as Tensor[], axis, out) };
  });
}

/** An output that is as the results will be. */
function outOf(mark: unknown, outs: readonly Out[], shape: readonly number[]): Out | undefined {
  if (mark === undefined) return undefined;
  const parts = partsOf(mark);
  if (parts?.[0] !== 'out') return whole();
  const given = parts[3];
  if (!isArray(given) || !sameShape(given as number[], shape)) return whole();
  const out = outs[parts[1]];
  return out.data.length === shape.reduce((all, one) => all * one, 1) ? out : whole();
}

function joined(parts: readonly Tensor[], axis: number, out: Out | undefined): unknown {
  const all = join(parts, axis, out?.data);
  return out === undefined ? all : out.tensor;
}

/** `attention`: q, k, v, options. */
export function splitAttention(question: Question, most: number): Split | undefined {
  return unlessWhole(() => {
    const { args, outs } = question;
    const [q, k, v] = args.slice(0, 3).map((one) => plain(one) ?? whole());
    const options = optionsIn(args[3]);
    const { layout = 'bhnd' } = options;
    const rank = q.shape.length;
    if ((rank !== 3 && rank !== 4) || k.shape.length !== rank || v.shape.length !== rank)
      return whole();
    if (layout !== 'bhnd' && layout !== 'bnhd') return whole();
    const headAxis = layout === 'bhnd' ? rank - 3 : rank - 2;
    const batch = rank === 4 ? q.shape[0] : 1;
    const [H, G] = [q.shape[headAxis], k.shape[headAxis]];
    if (rank === 4 && (k.shape[0] !== batch || v.shape[0] !== batch)) return whole();
    if (v.shape[headAxis] !== G || H % G !== 0) return whole();

    const used = encodingsOf(question, options.encoding);
    const of = { batch, H, G, rank, width: q.shape[rank - 1] };
    const cuts: Cut[] = [
      { by: 'batch', pieces: Math.min(most, batch), of: batch },
      { by: 'heads', pieces: Math.min(most, G), of: G },
    ];
    const wanted = cuts.sort((a, b) => b.pieces - a.pieces);
    for (const cut of wanted) {
      if (cut.pieces < 2) continue;
      const own = new Set<object>();
      const group = H / G;
      const axis = cut.by === 'batch' ? 0 : headAxis;
      const parts = unlessWhole(() =>
        runsOf(cut).map(({ from, count }) => {
          const queries =
            cut.by === 'batch' ? { from, count } : { from: from * group, count: count * group };
          return [
            take(q, axis, queries.from, queries.count, own),
            take(k, axis, from, count, own),
            take(v, axis, from, count, own),
            optionsFor(options, used, cut, { from, count }, queries, of, own),
          ];
        }),
      );
      if (parts === undefined) continue;
      const output = [...q.shape.slice(0, -1), v.shape[rank - 1]];
      const out = outOf(options.out, outs, output);
      const flat = cut.by === 'batch' ? 0 : rank - 3;
      return { parts, own, join: (results) => joinAttention(results, axis, flat, out) };
    }
    return whole();
  });
}

function joinAttention(
  results: readonly unknown[],
  axis: number,
  flat: number,
  out?: Out,
): unknown {
  const all = results as readonly Record<string, Tensor | undefined>[];
  const names = Object.keys(all[0]);
  return Object.fromEntries(
    names.map((name) => {
      const parts = all.map((one) => one[name] as Tensor);
      return [name, name === 'output' ? joined(parts, axis, out) : joined(parts, flat, undefined)];
    }),
  );
}

function encodingsOf(question: Question, given: unknown): { used: Used; mark: unknown }[] {
  if (given === undefined) return [];
  const marks = isArray(given) ? given : [given];
  return marks.map((mark) => ({ mark, used: question.encodingAt(mark) ?? whole() }));
}

interface Geometry {
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

function optionsFor(
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
  if (
    by === 'batch' &&
    changes &&
    used.some(({ used: { info } }) => info.lengthPolicy !== 'static')
  )
    return whole();

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
function hasSets(value: unknown): boolean {
  if (isArray(value)) return value.some((one) => typeof one === 'object' && hasSets(one));
  if (typeof value !== 'object' || value === null || isView(value)) return false;
  const { shape, dims } = value as { shape?: unknown; dims?: unknown };
  const extents = shape === undefined ? dims : shape;
  return isArray(extents) && extents.length === 2 && extents[0] !== 1;
}

function positionsOf(value: unknown, run: Run, batch: number, own: Set<object>): unknown {
  if (!hasSets(value)) return value;
  if (isArray(value)) return value.map((one) => positionsOf(one, run, batch, own));
  const { data, shape, dims } = value as { data: unknown; shape?: unknown; dims?: unknown };
  const extents = (shape === undefined ? dims : shape) as readonly number[];
  const isList = isNumbers(data) || data instanceof BigInt64Array;
  if (!isList || extents[0] !== batch || extents[0] * extents[1] !== data.length) return whole();
  return take({ data: data as Float32Array, shape: extents }, 0, run.from, run.count, own);
}

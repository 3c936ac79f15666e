// SPDX-License-Identifier: Apache-2.0
/**
 * One call as several, for workers that compute at the same time: by batch entries, or by heads with
 * whole groups of query heads. Only what is certain to be the same in parts is split, and what does not
 * look right goes to one worker, whose validation says what is wrong with it.
 */

import { isArray } from '../intrinsics.js';
import type { Tensor } from '../types.js';
import { sameShape } from '../validate.js';
import { perHead } from './cut.js';
import { requireWritable } from './results.js';
import { join, plain, take } from './slices.js';
import {
  type Cut,
  hasSets,
  optionsFor,
  positionsOf,
  type Run,
  type Used,
} from './split-options.js';
import { optionsIn, unlessWhole, whole } from './whole.js';
import { type Out, partsOf } from './wire.js';

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
  /** The first so many arguments are tensors that were cut along this axis. */
  cut: { tensors: number; axis: number };
  join(where: string, results: readonly unknown[]): unknown;
}

const runsOf = ({ pieces, of }: Cut): Run[] =>
  Array.from({ length: pieces }, (_, i) => {
    const from = Math.floor((i * of) / pieces);
    return { from, count: Math.floor(((i + 1) * of) / pieces) - from };
  });

/** `rotate` and `embed`: x [..., n, D], positions, options. */
export function splitRows(
  { args, outs }: Question,
  { info, fixed }: Used,
  most: number,
): Split | undefined {
  return unlessWhole(() => {
    const x = plain(args[0]) ?? whole();
    const options = optionsIn(args[2]);
    const rank = x.shape.length;
    if (rank < 3) return whole();
    const sets = hasSets(args[1]);
    if (sets && !fixed) return whole();
    // The first axis is heads where there is one before the rows, unless each entry has its own positions.
    const firstIsBatch = rank > 3 || sets;
    // Their own positions go with the entries: along another axis the sets would be taken for its extent.
    const axes = [0, ...(rank === 4 && !sets ? [1] : [])].filter(
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
    return {
      parts,
      own,
      cut: { tensors: 1, axis },
      join: (where, results) => joined(where, results as Tensor[], axis, out),
    };
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

function joined(where: string, parts: readonly Tensor[], axis: number, out?: Out): unknown {
  if (out !== undefined) requireWritable(where, out);
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
      return {
        parts,
        own,
        cut: { tensors: 3, axis },
        join: (where, results) => joinAttention(where, results, axis, flat, out),
      };
    }
    return whole();
  });
}

function joinAttention(
  where: string,
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
      return [name, name === 'output' ? joined(where, parts, axis, out) : join(parts, flat)];
    }),
  );
}

function encodingsOf(question: Question, given: unknown): { used: Used; mark: unknown }[] {
  if (given === undefined) return [];
  const marks = isArray(given) ? given : [given];
  return marks.map((mark) => ({ mark, used: question.encodingAt(mark) ?? whole() }));
}

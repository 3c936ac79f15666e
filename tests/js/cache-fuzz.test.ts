// SPDX-License-Identifier: Apache-2.0
/**
 * A cache fed in pieces of any size against attention that is given all keys up to each piece: the same
 * answer for every encoding, window, option and layout; within what half and eight-bit storage keep.
 */

import fc from 'fast-check';
import {
  type AttentionOptions,
  type AxisPositions,
  type KVCache,
  PosencError,
  type Positions,
  type Tensor,
} from 'posenc';
import { describe, expect, it } from 'vitest';
import { type Case, cases } from './fuzz/case.ts';
import { Question } from './fuzz/question.ts';
import { pe } from './support/instance.ts';
import { expectClose } from './support/numbers.ts';
import { runs } from './support/runs.ts';

interface Feeding {
  /** Sizes of the pieces, used over and over. */
  pieces: readonly number[];
  dtype: 'f32' | 'f16' | 'i8';
  /** Keep only so many last tokens. */
  window: number | null;
  /** And so many first ones. */
  sinks: number;
  /** Append first, then ask. */
  apart: boolean;
  /** What happens after each piece, over and over. */
  between: readonly ('nothing' | 'fork' | 'save' | 'take back')[];
}

const feeding: fc.Arbitrary<Feeding> = fc.record({
  pieces: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }),
  dtype: fc.constantFrom('f32', 'f32', 'f16', 'i8'),
  window: fc.option(fc.integer({ min: 1, max: 20 }), { freq: 2 }),
  sinks: fc.integer({ min: 0, max: 4 }),
  apart: fc.boolean(),
  between: fc.array(fc.constantFrom('nothing', 'fork', 'save', 'take back'), {
    minLength: 1,
    maxLength: 3,
  }),
});

/** A case of as many queries as keys that a model could decode. */
function decodable(given: Case, { window }: Feeding): Case {
  const n = Math.max(1, Math.min(given.sizes.S, 70));
  return {
    ...given,
    sizes: { ...given.sizes, B: Math.max(1, given.sizes.B), T: n, S: n },
    positions: 'counted',
    causal: true,
    queryOffset: undefined,
    mask: undefined,
    prefix: undefined,
    lengths: undefined,
    packed: undefined,
    chunk: window === null ? given.chunk : undefined,
    window:
      window === null && given.window?.left !== undefined ? { left: given.window.left } : undefined,
    out: 'none',
    poison: false,
    spoilt: false,
  };
}

/** Rows from … to - 1 of [B, n, heads, D] or [B, heads, n, D], with or without B. */
function rows(x: Tensor, layout: Case['layout'], from: number, to: number): Tensor {
  const { shape } = x;
  const axis = layout === 'bhnd' ? shape.length - 2 : shape.length - 3;
  const inner = shape.slice(axis + 1).reduce((a, b) => a * b, 1);
  const outer = shape.slice(0, axis).reduce((a, b) => a * b, 1);
  const data = new Float32Array(outer * (to - from) * inner);
  for (let i = 0; i < outer; ++i) {
    const start = (i * shape[axis] + from) * inner;
    data.set(x.data.subarray(start, start + (to - from) * inner), i * (to - from) * inner);
  }
  return { data, shape: shape.map((n, i) => (i === axis ? to - from : n)) };
}

/** Positions of the tokens from … to - 1. */
function part(all: Positions, from: number, to: number): Positions {
  if (!Array.isArray(all)) return one(all as AxisPositions) as Positions;
  return typeof all[0] === 'number' ? all.slice(from, to) : all.map(one);
  function one(axis: AxisPositions): AxisPositions {
    if (Array.isArray(axis)) return axis.slice(from, to);
    const { data, shape } = axis as { data: readonly number[]; shape: readonly number[] };
    const n = shape[shape.length - 1];
    const picked = Array.from(data).filter((_, i) => i % n >= from && i % n < to);
    return { data: picked, shape: [...shape.slice(0, -1), to - from] };
  }
}

/** Relative to the largest value: what a stored number is off by. */
const exactness = { f32: 0, f16: 2 ** -11, i8: 2 ** -7 };

/** What says that an encoding is not defined at a token. */
const undefinedThere: string[] = ['OUT_OF_RANGE', 'POSITION_OUT_OF_RANGE'];

describe('a cache against attention that sees all keys', () => {
  function check(original: Case, how: Feeding): void {
    const given = decodable(original, how);
    const { live, liveBytes } = pe.info.memory();
    const question = new Question(given);
    let cache: KVCache | undefined;
    try {
      const { sizes } = question;
      if (sizes.D === 0) return;
      const [q, k, v] = question.inputs();
      // Given where tokens lie in rows and columns, which cannot be counted.
      const { encoding, queryPositions, keyPositions, ...options } = question.options();
      const queriesAt = (from: number, to: number) =>
        queryPositions && { queryPositions: part(queryPositions, from, to) };
      const keysAt = (from: number, to: number) => keyPositions && part(keyPositions, from, to);
      const n = sizes.S;
      const ring =
        how.window === null
          ? {}
          : { window: how.window, sinks: how.sinks, positions: 'text' as const };
      const make = () => pe.cache(geometry as Parameters<typeof pe.cache>[0]);
      const geometry = {
        batch: sizes.B,
        heads: sizes.G,
        headDim: sizes.D,
        valueDim: sizes.E,
        capacity: n,
        dtype: how.dtype,
        ...ring,
        ...(encoding !== undefined && { encoding }),
      };
      cache = make();
      const seen =
        how.window === null
          ? options
          : { ...options, window: { left: how.window - 1, first: how.sinks } };
      for (let from = 0, i = 0; from < n; ++i) {
        const to = Math.min(n, from + how.pieces[i % how.pieces.length]);
        const [a, b, c] = [q, k, v].map((x) => rows(x, given.layout, from, to));
        const all = [k, v].map((x) => rows(x, given.layout, 0, to));
        const rules = { ...seen, ...queriesAt(from, to) };
        const want = pe.attention(a, all[0], all[1], {
          ...rules,
          ...(encoding !== undefined && { encoding }),
          ...(keyPositions && { keyPositions: keysAt(0, to) }),
        } as AttentionOptions);
        const got = ask(cache, [a, b, c], keysAt(from, to), rules as AttentionOptions, given, how);
        expect(cache.length).toBe(to);
        const coarse = exactness[how.dtype];
        const loose = 8 * coarse * (1 + largest(a) * largest(b) * (options.scale ?? 1) * sizes.D);
        const close = { rtol: 1e-5 + loose, atol: 1e-5 + loose };
        expectClose(got.output.data, want.output.data, close, `output after ${to} tokens`);
        cache = after(cache, make, how, i, () => {
          const lost = [k, v].map((x) => rows(x, given.layout, to - 1, to));
          const at = keysAt(to - 1, to);
          store(cache as KVCache, lost, at, options as AttentionOptions, given.layout);
        });
        from = to;
      }
    } catch (error) {
      const { code = '', field = '' } = PosencError.is(error) ? error : {};
      if (!/position/i.test(field) || !undefinedThere.includes(code)) throw error;
    } finally {
      cache?.dispose();
      question.dispose();
    }
    expect(pe.info.memory()).toMatchObject({ live, liveBytes });
  }

  const store = (
    cache: KVCache,
    [k, v]: readonly Tensor[],
    at: Positions | undefined,
    { kNorm }: AttentionOptions,
    layout: Case['layout'],
  ) => cache.append(k, v, at, { layout, ...(kNorm !== undefined && { kNorm }) });

  /** The cache to go on with, which holds the same. */
  function after(
    cache: KVCache,
    make: () => KVCache,
    { between, window }: Feeding,
    i: number,
    appendLast: () => void,
  ): KVCache {
    const what = between[i % between.length];
    if (what === 'take back' && window === null) {
      cache.truncate(cache.length - 1);
      appendLast();
    }
    if (what !== 'fork' && what !== 'save') return cache;
    const next = what === 'fork' ? cache.fork() : make();
    if (what === 'save') next.fromBytes(cache.toBytes());
    cache.dispose();
    return next;
  }

  function ask(
    cache: KVCache,
    [q, k, v]: readonly Tensor[],
    at: Positions | undefined,
    options: AttentionOptions,
    { layout }: Case,
    { apart, window }: Feeding,
  ) {
    // What a ring has dropped, the first queries of a piece could still see.
    const split = apart && window === null;
    if (split) store(cache, [k, v], at, options, layout);
    const append = { k, v, ...(at !== undefined && { positions: at }) };
    return pe.attention(q, cache, split ? options : { ...options, append });
  }

  function largest({ data }: Tensor): number {
    return data.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  }

  it('agrees on every random conversation', () => {
    const all = cases();
    fc.assert(fc.property(all, feeding, check), runs(600));
  }, 240_000);
});

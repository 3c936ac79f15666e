// SPDX-License-Identifier: Apache-2.0
/** Rings whose tokens come in any pieces: the same answers, and the same refusals. */

import fc from 'fast-check';
import { type AttentionOptions, type KVCache, PosencError } from 'posenc';
import { describe, expect, it } from 'vitest';
import { caught } from './support/failure.ts';
import { anyEncoding, pe } from './support/instance.ts';
import { expectClose, randomTensor, tensor } from './support/numbers.ts';
import { close, D, decoded, G, H, rows, text } from './support/pieces.ts';
import { runs } from './support/runs.ts';

describe('positions within the cache', () => {
  it.each([
    ['rope', { headDim: D }],
    ['alibi', { heads: H, form: 'key' }],
    ['cope', { headDim: D, table: randomTensor([D, 12], 9) }],
    ['xpos', { headDim: D }],
  ] as const)('are the same in whatever pieces tokens come: %s', (id, options) => {
    const encoding = anyEncoding(pe, id, options);
    const n = 40;
    const all = text(n);
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 17 }), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 0, max: 4 }),
        fc.boolean(),
        fc.boolean(),
        (sizes, window, sinks, weights, near) => {
          const pieces: number[] = [];
          for (let left = n, i = 0; left > 0; left -= pieces[i++])
            pieces.push(Math.min(left, sizes[i % sizes.length]));
          const make = () =>
            pe.cache({ heads: G, headDim: D, window, sinks, positions: 'cache', encoding });
          using one = make();
          using other = make();
          const rules = near ? { window: { left: Math.ceil(window / 2) }, weights } : { weights };
          const want = decoded(all, one, Array(n).fill(1), rules);
          expectClose(decoded(all, other, pieces, rules), want, close);
        },
      ),
      runs(15),
    );
    encoding.dispose();
  });

  it('give the same answers and the same refusals in whatever pieces, whatever rules there are', () => {
    const n = 24;
    const all = text(n);
    using rope = pe.encoding('rope', { headDim: D });
    const few = fc.option(fc.integer({ min: 1, max: 11 }), { freq: 3, nil: undefined });
    /** What each token saw, up to the call that was refused, and how that was said. */
    const outcome = (cache: KVCache, pieces: readonly number[], rules: AttentionOptions) => {
      const got: number[] = [];
      let at = 0;
      for (const size of pieces) {
        const piece = {
          q: rows(all.q, at, at + size),
          k: rows(all.k, at, at + size),
          v: rows(all.v, at, at + size),
        };
        try {
          got.push(...decoded(piece, cache, [size], rules));
        } catch (error) {
          if (!PosencError.is(error)) throw error;
          const { code, field, details } = error;
          return { got, at, size, refused: { code, field, details } };
        }
        at += size;
      }
      return { got, at, size: 1, refused: undefined };
    };
    let refusals = 0;
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 24 }), { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 0, max: 4 }),
        fc.record({ left: few, first: few, chunk: few, prefix: few, weights: fc.boolean() }),
        (sizes, window, sinks, { left, first, chunk, prefix, weights }) => {
          const pieces: number[] = [];
          for (let rest = n, i = 0; rest > 0; rest -= pieces[i++])
            pieces.push(Math.min(rest, sizes[i % sizes.length]));
          const make = () =>
            pe.cache({ heads: G, headDim: D, window, sinks, encoding: rope, positions: 'cache' });
          using one = make();
          using other = make();
          const rules: AttentionOptions = {
            window: { ...(left && { left }), ...(first && { first }) },
            ...(chunk && { chunk }),
            ...(prefix && { prefix }),
            weights,
          };
          const want = outcome(one, Array(n).fill(1), rules);
          const got = outcome(other, pieces, rules);
          expect(got.refused).toEqual(want.refused);
          if (want.refused) {
            ++refusals;
            // The call with the token that cannot be answered, and no call before it.
            expect(want.at).toBeGreaterThanOrEqual(got.at);
            expect(want.at).toBeLessThan(got.at + got.size);
            expect(other.length).toBe(got.at);
          }
          // Of a prefix, tokens in it see what came with them.
          const from = Math.max(0, (prefix ?? 0) - 1) * H * D;
          expectClose(got.got.slice(from), want.got.slice(from, got.got.length), close);
        },
      ),
      runs(120),
    );
    expect(refusals).toBeGreaterThan(10);
  });

  it('see a prefix that a query stands before', () => {
    const all = text(10);
    using cache = pe.cache({ heads: G, headDim: D, window: 12, sinks: 2, positions: 'cache' });
    const q = rows(all.q, 0, 2);
    const rules = { causal: true, queryOffset: 1, prefix: 7 };
    const got = pe.attention(q, cache, { ...rules, append: { k: all.k, v: all.v } }).output;
    expectClose(got.data, pe.attention(q, all.k, all.v, rules).output.data, close);
  });

  it('refuse a window that is wider than the ring', () => {
    using cache = pe.cache({ heads: 1, headDim: 1, window: 4, sinks: 1 });
    const x = tensor([1, 1, 1, 1], [1]);
    const call = () => pe.attention(x, cache, { window: { left: 5 }, append: { k: x, v: x } });
    expect(caught(call)).toMatchObject({ code: 'OUT_OF_RANGE', field: 'window' });
    expect(cache.length).toBe(0);
  });
});

describe('chunks over a ring', () => {
  it('are what a prefill sees, in any pieces, if the ring is as long as a chunk', () => {
    const n = 30;
    const all = text(n);
    using rope = pe.encoding('rope', { headDim: D });
    for (const chunk of [1, 4, 7, 40]) {
      const { data } = pe.attention(all.q, all.k, all.v, {
        causal: true,
        chunk,
        encoding: rope,
      }).output;
      const want = Array.from({ length: n }, (_, t) =>
        Array.from({ length: H }, (_, h) => [
          ...data.subarray((h * n + t) * D, (h * n + t + 1) * D),
        ]),
      ).flat(2);
      for (const pieces of [Array<number>(n).fill(1), [9, 1, 13, 7], [n]]) {
        using ring = pe.cache({ heads: G, headDim: D, window: chunk, encoding: rope });
        expectClose(decoded(all, ring, pieces, { chunk }), want, close, `chunks of ${chunk}`);
      }
    }
  });

  it('are refused where the ring no longer holds them', () => {
    const all = text(6);
    using ring = pe.cache({ heads: G, headDim: D, window: 3 });
    ring.append(all.k, all.v);
    const call = (chunk: number) => () =>
      pe.attention(rows(all.q, 5, 6), ring, { chunk, causal: true });
    expect(caught(call(6))).toMatchObject({ code: 'OUT_OF_RANGE', field: 'chunk' });
    expect(call(3)).not.toThrow();
  });
});

// SPDX-License-Identifier: Apache-2.0
/** Decoding through a cache gives what a prefill gives; what a cache forgets and copies. */

import fc from 'fast-check';
import { type AttentionOptions, fromTotal, load, type Tensor } from 'posenc';
import { describe, expect, it } from 'vitest';
import { D, G, geometry, H, rowsOf, step, text } from './support/cache.ts';
import { anyEncoding, pe } from './support/instance.ts';
import { expectClose, expectSame, randomTensor, tensor } from './support/numbers.ts';
import { runs } from './support/runs.ts';

const table = (...shape: number[]) => randomTensor(shape, 9);

/** One of each way in which a cache has to treat keys. */
const ways: [id: string, options: object][] = [
  ['rope', { headDim: D, layout: 'interleaved' }],
  ['rope-dynamic-ntk', { headDim: D, factor: 4, originalLength: 20 }],
  [
    'rope-longrope',
    {
      headDim: D,
      shortFactor: [1, 1, 1.5, 2],
      longFactor: [1, 2, 4, 8],
      originalLength: 20,
      factor: 8,
    },
  ],
  ['xpos', { headDim: D }],
  ['rerope', { headDim: D, window: 7 }],
  ['alibi', { heads: H }],
  ['shaw', { headDim: D, maxDistance: 3, keyTable: table(7, D), queryTable: table(7, D) }],
  ['cope', { headDim: D, table: table(D, 12) }],
];
const tolerances = { f32: 1e-5, f16: 4e-3, i8: 5e-2 };

describe('decoding', () => {
  const question = fc.record({
    way: fc.constantFrom(...ways),
    dtype: fc.constantFrom('f32' as const, 'f16' as const, 'i8' as const),
    pieces: fc.array(fc.integer({ min: 1, max: 17 }), { minLength: 1, maxLength: 8 }),
    window: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
    seen: fc.integer({ min: 1, max: 20 }),
    batch: fc.constantFrom(1, 2),
  });

  it('gives the last rows of a prefill', () => {
    fc.assert(
      fc.property(question, ({ way: [id, options], dtype, pieces, window, seen, batch }) => {
        using encoding = anyEncoding(pe, id, options);
        const all = text(
          pieces.reduce((a, b) => a + b, 0),
          batch,
        );
        using cache = pe.cache({
          ...geometry,
          batch,
          capacity: 200,
          dtype,
          encoding,
          ...(window === undefined ? {} : { window }),
        });
        const rules: AttentionOptions = {
          causal: true,
          ...(window === undefined ? {} : { window: fromTotal(Math.min(seen, window)) }),
        };
        for (const count of pieces) {
          const at = cache.length;
          const got = step(all, cache, count, rules);
          const want = pe.attention(
            rowsOf(all.q, at, at + count),
            rowsOf(all.k, 0, at + count),
            rowsOf(all.v, 0, at + count),
            { ...rules, encoding },
          );
          const atol = tolerances[dtype];
          expectClose(got.output.data, want.output.data, { rtol: 0, atol }, id);
        }
      }),
      runs(60),
    );
  });

  it('sees all of a piece that is longer than the ring, and keeps its end', () => {
    const all = text(30);
    using cache = pe.cache({ heads: G, headDim: D, window: 4 });
    expectClose(
      step(all, cache, 30).output.data,
      pe.attention(all.q, all.k, all.v, { causal: true }).output.data,
      { rtol: 0, atol: 1e-6 },
    );
    expect([cache.length, cache.stored]).toEqual([30, 4]);
    const next = text(1);
    const k = tensor(
      [1, G, 5, D],
      [0, 1].flatMap((g) => [
        ...rowsOf(all.k, 26, 30).data.subarray(g * 4 * D, (g + 1) * 4 * D),
        ...next.k.data.subarray(g * D, (g + 1) * D),
      ]),
    );
    const v = tensor(
      [1, G, 5, D],
      [0, 1].flatMap((g) => [
        ...rowsOf(all.v, 26, 30).data.subarray(g * 4 * D, (g + 1) * 4 * D),
        ...next.v.data.subarray(g * D, (g + 1) * D),
      ]),
    );
    const got = pe.attention(next.q, cache, { append: { k: next.k, v: next.v } });
    expectClose(got.output.data, pe.attention(next.q, k, v).output.data, { rtol: 0, atol: 1e-6 });
  });

  it('takes either layout, owned tensors, positions of its own, and keys to be normalised', () => {
    const all = text(12);
    const transposed = ({ data, shape: [B, heads, n, width] }: Tensor) =>
      tensor(
        [B, n, heads, width],
        Float32Array.from(data, (_, i) => {
          const [c, h, t] = [
            i % width,
            Math.floor(i / width) % heads,
            Math.floor(i / (width * heads)) % n,
          ];
          const b = Math.floor(i / (width * heads * n));
          return data[((b * heads + h) * n + t) * width + c];
        }),
      );
    const [k, v] = [rowsOf(all.k, 0, 11), rowsOf(all.v, 0, 11)];
    const append = { k: rowsOf(all.k, 11, 12), v: rowsOf(all.v, 11, 12) };
    const q = rowsOf(all.q, 11, 12);
    using rope = pe.encoding('rope', { headDim: D });
    const kNorm = { epsilon: 1e-3 };
    const positions = Float64Array.from({ length: 12 }, (_, i) => 100 + 3 * i);
    const want = pe.attention(q, all.k, all.v, {
      encoding: rope,
      kNorm,
      queryPositions: positions.subarray(11),
      keyPositions: positions,
    });
    for (const layout of ['bhnd', 'bnhd'] as const) {
      const as = (x: Tensor) => (layout === 'bhnd' ? x : transposed(x));
      using cache = pe.cache({ ...geometry, encoding: rope });
      cache.append(as(k), as(v), positions.subarray(0, 11), { layout, kNorm });
      using owned = pe.tensor(q.shape, q.data);
      const got = pe.attention(layout === 'bhnd' ? owned : as(q), cache, {
        layout,
        kNorm,
        append: { k: as(append.k), v: as(append.v), positions: positions.subarray(11) },
      });
      expectClose(got.output.data, as(want.output).data, { rtol: 0, atol: 1e-6 });
    }
  });

  it('takes masks over the keys held and new, and gives weights over them', () => {
    const all = text(9);
    using cache = pe.cache(geometry);
    cache.append(rowsOf(all.k, 0, 6), rowsOf(all.v, 0, 6));
    const mask = { data: Uint8Array.from([1, 0, 1, 1, 0, 1, 1, 1, 0]), shape: [9] };
    const got = step(all, cache, 3, { mask, weights: true, logSumExp: true });
    const want = pe.attention(rowsOf(all.q, 6, 9), all.k, all.v, {
      causal: true,
      mask,
      weights: true,
      logSumExp: true,
    });
    for (const name of ['output', 'weights', 'logSumExp'] as const)
      expectClose(got[name]?.data ?? [], want[name]?.data ?? [], { rtol: 0, atol: 1e-6 }, name);
  });
});

describe('a cache', () => {
  it('takes back tokens, forks, and comes back from bytes', () => {
    const all = text(40);
    for (const dtype of ['f32', 'f16', 'i8'] as const) {
      using cache = pe.cache({ ...geometry, dtype });
      step(all, cache, 20);
      const bytes = cache.toBytes();
      using fork = cache.fork();
      const want = step(all, cache, 5).output.data;
      expect([cache.length, fork.length]).toEqual([25, 20]);
      cache.truncate(20);
      expectSame(step(all, cache, 5).output.data, want);
      expectSame(step(all, fork, 5).output.data, want);
      cache.reset();
      expect(cache.length).toBe(0);
      cache.fromBytes(bytes);
      expectSame(step(all, cache, 5).output.data, want);
    }
  });

  it('uses the same memory after ten thousand steps as after a hundred', () => {
    const all = text(1);
    for (const options of [
      { capacity: 10000 },
      { window: 50, sinks: 4 },
      {
        window: 50,
        encoding: pe.encoding('rope-dynamic-ntk', { headDim: D, factor: 2, originalLength: 40 }),
      },
    ]) {
      using cache = pe.cache({ heads: G, headDim: D, ...options });
      const one = () => pe.attention(all.q, cache, { append: { k: all.k, v: all.v } });
      const steps = 'capacity' in options ? 10000 : 2000;
      for (let i = 0; i < 100; ++i) one();
      const { heapBytes, liveBytes } = pe.info.memory();
      for (let i = 100; i < steps; ++i) one();
      expect(pe.info.memory()).toMatchObject({ heapBytes, liveBytes });
    }
  });

  it('takes the memory of a step over a full cache when it is made, that for distances included', async () => {
    const [heads, headDim, capacity, width] = [16, 4, 8192, 4];
    const by = (...shape: number[]) => randomTensor(shape, 9);
    const network = { hiddenWeight: by(width), hiddenBias: by(width), outWeight: by(heads, width) };
    const terms = {
      headDim: 64,
      u: by(1, 64),
      v: by(1, 64),
      relative: by(1, 64, 8),
    };
    for (const [id, kept, own] of [
      ['dynamic-bias', { heads, headDim }, { heads, ...network }],
      ['transformer-xl', { heads: 1, headDim: 64 }, { heads: 1, ...terms }],
    ] as const) {
      using fresh = await load({ fresh: true });
      using encoding = anyEncoding(fresh, id, { reach: 64, ...own });
      using cache = fresh.cache({ ...kept, capacity, encoding });
      const one = by(1, kept.heads, 1, kept.headDim);
      // Attention over one key takes what a step takes anyway.
      fresh.attention(one, cache, { append: { k: one, v: one } });
      const { heapBytes } = fresh.info.memory();
      const piece = by(1, kept.heads, 63, kept.headDim);
      while (cache.length + 64 < capacity) cache.append(piece, piece);
      expect(fresh.info.memory().heapBytes, 'appending').toBe(heapBytes);
      while (cache.length < capacity) cache.append(one, one);
      cache.truncate(capacity - 1);
      fresh.attention(one, cache, { append: { k: one, v: one } });
      expect(fresh.info.memory().heapBytes, id).toBe(heapBytes);
    }
  });

  it('takes it at the first step for an encoding that is given beside its own', async () => {
    const [heads, headDim, capacity, width] = [16, 4, 8192, 4];
    const by = (...shape: number[]) => randomTensor(shape, 9);
    const bias = { hiddenWeight: by(width), hiddenBias: by(width), outWeight: by(heads, width) };
    for (const own of [true, false]) {
      using fresh = await load({ fresh: true });
      using rope = fresh.encoding('rope', { headDim });
      using beside = fresh.encoding('dynamic-bias', { heads, reach: 64, ...bias });
      using cache = fresh.cache({ heads, headDim, capacity, ...(own && { encoding: rope }) });
      const one = by(1, heads, 1, headDim);
      const step = () =>
        fresh.attention(one, cache, {
          append: { k: one, v: one },
          encoding: own ? [rope, beside] : [beside],
        });
      step();
      const { heapBytes } = fresh.info.memory();
      const piece = by(1, heads, 63, headDim);
      while (cache.length + 64 < capacity) cache.append(piece, piece);
      while (cache.length < capacity - 1) cache.append(one, one);
      step();
      expect(fresh.info.memory().heapBytes, `with one of its own: ${own}`).toBe(heapBytes);
    }
  });

  it('gives its memory back, once', () => {
    const { liveBytes } = pe.info.memory();
    const cache = pe.cache({ ...geometry, capacity: 500 });
    const fork = cache.fork();
    expect(pe.info.memory().liveBytes).toBeGreaterThan(liveBytes);
    cache.dispose();
    cache.dispose();
    fork.dispose();
    expect(pe.info.memory().liveBytes).toBe(liveBytes);
  });
});

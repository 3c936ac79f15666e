// SPDX-License-Identifier: Apache-2.0
/** What a cache refuses: it says why, and nothing has changed. */

import { type AttentionOptions, type CacheOptions, load, type Tensor } from 'posenc';
import { describe, expect, it } from 'vitest';
import { D, G, geometry, rowsOf, step, text } from './support/cache.ts';
import { caught } from './support/failure.ts';
import { pe } from './support/instance.ts';
import { expectSame, randomTensor, tensor } from './support/numbers.ts';

describe('a refused call says why and changes nothing', () => {
  const all = text(9);
  const refused = (call: () => unknown, code: string, field: string) => {
    const { live, liveBytes } = pe.info.memory();
    const error = caught(call);
    expect([error.code, error.field, error.message]).toEqual([code, field, error.message]);
    expect(error.message.length).toBeLessThanOrEqual(200);
    expect(pe.info.memory()).toMatchObject({ live, liveBytes });
  };
  const make = (options: object) => () => pe.cache({ ...geometry, ...options } as CacheOptions);

  it.each([
    [{ heads: 0 }, 'OUT_OF_RANGE', 'heads'],
    [{ headDim: 2.5 }, 'NOT_INTEGER', 'headDim'],
    [{ capacity: undefined }, 'MISSING_OPTION', 'capacity'],
    [{ capacity: 2 ** 29 }, 'TOO_LARGE', 'capacity'],
    [{ dtype: 'bf16' }, 'OUT_OF_RANGE', 'dtype'],
    [{ sinks: 2 }, 'MISSING_OPTION', 'window'],
    [{ positions: 'cache' }, 'OPTION_NOT_APPLICABLE', 'positions'],
    [{ encoding: {} }, 'WRONG_TYPE', 'encoding'],
    [{ size: 3 }, 'UNKNOWN_OPTION', 'size'],
    [{ dtype: null }, 'WRONG_TYPE', 'dtype'],
    [{ sinks: null }, 'WRONG_TYPE', 'sinks'],
    [{ encoding: pe.encoding('rope', { headDim: 4 }) }, 'SHAPE_MISMATCH', 'headDim'],
  ])('pe.cache(%j)', (options, code, field) => refused(make(options), code, field));

  it('pe.cache of encodings that no call could use together', () => {
    const of = (id: string, options: object) =>
      pe.encoding(id as 'rope', { headDim: D, ...options } as { headDim: number });
    const rerope = of('rerope', { window: 4 });
    const selfExtend = of('self-extend', { group: 2, window: 4 });
    refused(make({ encoding: [rerope, selfExtend] }), 'UNSUPPORTED', 'encoding');
    const mrope = of('mrope', { sections: [D / 2 - 2, 1, 1] });
    const grid = of('rope-2d', { variant: 'pixtral' });
    refused(make({ encoding: [mrope, grid] }), 'SHAPE_MISMATCH', 'encoding');
    const heads = geometry.heads + 1;
    const frequencies = tensor([2, heads, D / 2], new Array(heads * D).fill(0.5));
    refused(
      make({ encoding: of('rope-mixed', { heads, frequencies }) }),
      'SHAPE_MISMATCH',
      'heads',
    );
  });

  it('where tokens do not fit, or the question does not', async () => {
    using cache = pe.cache({ ...geometry, capacity: 8 });
    step(all, cache, 6);
    const q = rowsOf(all.q, 6, 7);
    const append = { k: rowsOf(all.k, 6, 9), v: rowsOf(all.v, 6, 9) };
    refused(() => cache.append(append.k, append.v), 'CACHE_FULL', 'append');
    refused(() => pe.attention(q, cache, { append }), 'CACHE_FULL', 'append');
    const full = caught(() => cache.append(append.k, append.v));
    expect(full.details).toMatchObject({ capacity: 8, used: 6 });
    expect(full.message).toMatch(/at most 2 tokens: 6 of 8 are used, got 3/);
    refused(() => cache.append(randomTensor([1, 3, 1, D]), append.v), 'SHAPE_MISMATCH', 'k');
    refused(() => cache.append(append.k, randomTensor([1, G, 2, D])), 'SHAPE_MISMATCH', 'v');
    refused(() => pe.attention(randomTensor([1, 3, 1, D]), cache), 'HEADS_NOT_DIVISIBLE', 'q');
    refused(() => pe.attention(randomTensor([1, 4, 1, 6]), cache), 'SHAPE_MISMATCH', 'k');
    refused(
      () => pe.attention(q, cache, { keyLengths: [3] }),
      'OPTION_NOT_APPLICABLE',
      'keyLengths',
    );
    refused(
      () => pe.attention(q, cache, { keyPositions: [3] }),
      'OPTION_NOT_APPLICABLE',
      'keyPositions',
    );
    refused(() => pe.attention(q, all.k, all.v, { append }), 'OPTION_NOT_APPLICABLE', 'append');
    refused(() => cache.truncate(7), 'OUT_OF_RANGE', 'length');
    refused(() => cache.fromBytes(new Uint8Array(10)), 'BAD_HEADER', 'bytes');
    refused(() => cache.fromBytes(cache.toBytes().subarray(0, 200)), 'TRUNCATED', 'bytes');
    using rope = pe.encoding('rope', { headDim: D });
    using other = pe.encoding('rope', { headDim: D });
    using turned = pe.cache({ ...geometry, encoding: rope });
    refused(() => pe.attention(q, turned, { encoding: other }), 'CACHE_STALE', 'encoding');
    refused(() => turned.fromBytes(cache.toBytes()), 'SHAPE_MISMATCH', 'bytes');
    const elsewhere = await load({ fresh: true });
    refused(() => elsewhere.attention(q, cache), 'FOREIGN_HANDLE', 'cache');
    expect(cache.length).toBe(6);
  });

  it('after dispose, of itself or of its encoding', () => {
    const gone = pe.cache(geometry);
    gone.dispose();
    for (const call of [
      () => gone.length,
      () => gone.append(all.k, all.v),
      () => pe.attention(all.q, gone),
      () => gone.fork(),
      () => gone.toBytes(),
    ])
      refused(call, 'DISPOSED', 'cache');
    const rope = pe.encoding('rope', { headDim: D });
    using cache = pe.cache({ ...geometry, encoding: rope });
    rope.dispose();
    refused(() => pe.attention(all.q, cache), 'DISPOSED', 'encoding');
  });

  it('when its own call is answered with another', () => {
    using cache = pe.cache(geometry);
    const meddling = {
      get data() {
        if (cache.length === 0) cache.append(all.k, all.v);
        return all.q.data;
      },
      shape: all.q.shape,
    };
    const error = caught(() => pe.attention(meddling, cache, { append: { k: all.k, v: all.v } }));
    expect(error.code).toBe('REENTRANT');
    expect(cache.length).toBe(9);
  });

  it('when it is changed and then filled to the same length while its call is read', () => {
    using cache = pe.cache(geometry);
    cache.append(all.k, all.v);
    const [k, v] = [rowsOf(all.k, 0, 1), rowsOf(all.v, 0, 1)];
    const append = {
      get k() {
        cache.truncate(1);
        return k;
      },
      v,
    };
    const maskOf = (keys: number) => ({
      get data() {
        cache.append(rowsOf(all.k, 0, 8), rowsOf(all.v, 0, 8));
        return new Float32Array(keys);
      },
      shape: [keys],
    });
    const q = rowsOf(all.q, 0, 1);
    // Two keys are what there is in between, ten what there was.
    for (const [keys, code] of [
      [2, 'BAD_MASK'],
      [10, 'REENTRANT'],
    ] as const) {
      const options = { append, mask: maskOf(keys), weights: true } as unknown as AttentionOptions;
      expect(caught(() => pe.attention(q, cache, options)).code).toBe(code);
      expect(cache.length).toBe(9);
    }
    const swap = {
      get k() {
        cache.truncate(8);
        cache.append(k, v);
        return k;
      },
      v,
    };
    expect(caught(() => pe.attention(q, cache, { append: swap } as AttentionOptions)).code).toBe(
      'REENTRANT',
    );
    const data = { ...k, data: undefined };
    Object.defineProperty(data, 'data', {
      get: () => {
        cache.truncate(8);
        cache.append(k, v);
        return k.data;
      },
    });
    expect(caught(() => cache.append(data as unknown as Tensor, v)).code).toBe('REENTRANT');
    expect(cache.length).toBe(9);
  });

  it('when its encoding is gone, also as bytes', () => {
    const rope = pe.encoding('rope', { headDim: D });
    using cache = pe.cache({ ...geometry, encoding: rope });
    cache.append(all.k, all.v);
    using fork = cache.fork();
    rope.dispose();
    refused(() => cache.toBytes(), 'DISPOSED', 'encoding');
    refused(() => fork.toBytes(), 'DISPOSED', 'encoding');
    refused(() => fork.append(all.k, all.v), 'DISPOSED', 'encoding');
  });

  it('where bytes were turned by other frequencies', () => {
    using near = pe.encoding('rope', { headDim: D, base: 10000 });
    using far = pe.encoding('rope', { headDim: D, base: 500000 });
    using same = pe.encoding('rope', { headDim: D });
    using a = pe.cache({ ...geometry, encoding: near });
    using b = pe.cache({ ...geometry, encoding: far });
    using c = pe.cache({ ...geometry, encoding: same });
    a.append(all.k, all.v);
    refused(() => b.fromBytes(a.toBytes()), 'SHAPE_MISMATCH', 'bytes');
    c.fromBytes(a.toBytes());
    expect(c.length).toBe(9);
  });

  it('where bytes were turned in pairs, axes or amplitudes of another kind', () => {
    const single = { batch: 1, heads: 1, headDim: 8, capacity: 8 };
    const x = { data: new Float32Array(8).fill(1), shape: [1, 1, 1, 8] };
    const sections = [2, 1, 1];
    for (const [id, one, other] of [
      ['rope', {}, { layout: 'interleaved' }],
      ['rope', {}, { rotaryDim: 4 }],
      ['xpos', {}, { scaleBase: 64 }],
      ['xpos', {}, { center: 3 }],
      ['mrope', { sections }, { sections: [1, 1, 2] }],
      ['mrope', { sections }, { sections, interleaved: true }],
      ['rope-2d', { variant: 'pixtral' }, { variant: 'qwen-vl' }],
    ] as const) {
      const make = (options: object) => pe.encoding(id as 'rope', { headDim: 8, ...options });
      using a = pe.cache({ ...single, encoding: make(one) });
      using b = pe.cache({ ...single, encoding: make(other) });
      using c = pe.cache({ ...single, encoding: make(one) });
      const axes = id === 'mrope' ? 3 : id === 'rope-2d' ? 2 : 1;
      a.append(x, x, axes === 1 ? [2] : (Array.from({ length: axes }, (_, i) => [i]) as never));
      refused(() => b.fromBytes(a.toBytes()), 'SHAPE_MISMATCH', 'bytes');
      c.fromBytes(a.toBytes());
      expect(c.length, `${id} ${JSON.stringify(other)}`).toBe(1);
    }
  });

  it('where a list says different things of sequences that are alike', () => {
    using cache = pe.cache({ ...geometry, batch: 2 });
    const two = text(4, 2);
    cache.append(two.k, two.v);
    const ask = (options: AttentionOptions) =>
      pe.attention(two.q, cache, { causal: true, ...options }).output.data;
    expectSame(ask({ prefix: [2, 2] }), ask({ prefix: 2 }));
    expectSame(ask({ queryOffset: Int32Array.of(1, 1) }), ask({ queryOffset: 1 }));
    refused(() => ask({ prefix: [1, 2] }), 'UNSUPPORTED', 'prefix');
    refused(() => ask({ queryOffset: [1, 2] }), 'UNSUPPORTED', 'queryOffset');
    refused(() => ask({ queryOffset: [1] }), 'SHAPE_MISMATCH', 'queryOffset');
  });

  it('where queries stand so far away that 32 bits do not count it', () => {
    const most = 2 ** 31 - 1;
    using cache = pe.cache(geometry);
    cache.append(all.k, all.v, [0, 2, 4, 6, 8, 10, 12, 14, 16]);
    for (const queryOffset of [most, most - 8, -most])
      refused(
        () => pe.attention(all.q, cache, { queryOffset }),
        'MISSING_OPTION',
        'queryPositions',
      );
    using ring = pe.cache({ heads: G, headDim: D, window: 3, sinks: 1, positions: 'text' });
    ring.append(all.k, all.v);
    for (const queryOffset of [-most, -5])
      refused(
        () => pe.attention(all.q, ring, { queryOffset, window: { left: 2 } }),
        'OUT_OF_RANGE',
        'window',
      );
  });

  it('where what it would hold only seems to fit 32 bits', () => {
    // The largest is to blame.
    for (const [field, options] of [
      ['headDim', { headDim: 2 ** 30 - 1, capacity: 1 }],
      ['headDim', { headDim: 2 ** 29, valueDim: 2 ** 29 - 2, capacity: 1 }],
      ['headDim', { headDim: 2 ** 24, capacity: 64 }],
      ['heads', { heads: 2 ** 16, batch: 2 ** 15, headDim: 1, capacity: 1 }],
      ['batch', { batch: 2 ** 30 - 1 }],
      ['sinks', { capacity: undefined, window: 5, sinks: 2 ** 30 - 1 }],
    ] as const)
      refused(make({ heads: 1, ...options }), 'TOO_LARGE', field);
  });

  it('where bytes lie in the memory of the module, which moves when it grows', async () => {
    const fresh = await load({ fresh: true });
    const cache = fresh.cache(geometry);
    const { heapBytes } = fresh.info.memory();
    const large = fresh.tensor([heapBytes / 8]);
    const { buffer, byteOffset, byteLength } = large.data;
    const bytes = new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
    const filler = fresh.tensor([(fresh.info.memory().heapBytes - heapBytes) / 8 + 1024]);
    expect(caught(() => cache.fromBytes(bytes)).code).toBe('BAD_HEADER');
    filler.dispose();
    large.dispose();
    cache.dispose();
  });
});

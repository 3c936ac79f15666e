// SPDX-License-Identifier: Apache-2.0
/** What a cache promises beside decoding: batches of unlike prompts, numbers it can hold. */

import type { AttentionOptions } from 'posenc';
import { describe, expect, it } from 'vitest';
import { caught } from './support/failure.ts';
import { pe } from './support/instance.ts';
import { expectClose, expectSame, randomTensor, tensor } from './support/numbers.ts';
import { close, D, decoded, G, H, rows, text } from './support/pieces.ts';

describe('a batch of prompts of unlike lengths', () => {
  it('padded at the left decodes as each of them alone', () => {
    using rope = pe.encoding('rope', { headDim: D });
    const lengths = [3, 7, 1];
    const [B, most, steps] = [lengths.length, 7, 4];
    const texts = lengths.map((n, b) => ({
      q: randomTensor([1, H, n + steps, D], 10 + b),
      k: randomTensor([1, G, n + steps, D], 20 + b),
      v: randomTensor([1, G, n + steps, D], 30 + b),
    }));
    // Padding holds NaN, which no result may see.
    const piece = (name: 'q' | 'k' | 'v', from: number, to: number) =>
      tensor(
        [B, name === 'q' ? H : G, to - from, D],
        texts.flatMap((one, b) => {
          const x = one[name];
          const n = x.shape[2];
          return Array.from({ length: x.shape[1] * (to - from) * D }, (_, i) => {
            const t = from + (Math.floor(i / D) % (to - from)) - (most - lengths[b]);
            const head = Math.floor(i / (D * (to - from)));
            return t < 0 ? Number.NaN : x.data[(head * n + t) * D + (i % D)];
          });
        }),
      );
    const places = (from: number, to: number) => ({
      shape: [B, to - from],
      data: Int32Array.from({ length: B * (to - from) }, (_, i) => {
        const b = Math.floor(i / (to - from));
        return Math.max(0, from + (i % (to - from)) - (most - lengths[b]));
      }),
    });
    const mask = (to: number) => ({
      shape: [B, 1, 1, to],
      data: Uint8Array.from({ length: B * to }, (_, i) =>
        i % to < most - lengths[Math.floor(i / to)] ? 0 : 1,
      ),
    });
    for (const rules of [{}, { window: { left: 2 } }] as AttentionOptions[]) {
      using cache = pe.cache({ batch: B, heads: G, headDim: D, capacity: 20, encoding: rope });
      for (let from = 0, to = most; to <= most + steps; from = to++) {
        const [q, k, v] = (['q', 'k', 'v'] as const).map((name) => piece(name, from, to));
        const got = pe.attention(q, cache, {
          causal: true,
          ...rules,
          mask: mask(to),
          append: { k, v, positions: places(from, to) as never },
        }).output;
        for (const [b, one] of texts.entries()) {
          const n = to - (most - lengths[b]);
          const want = pe.attention(rows(one.q, n - 1, n), rows(one.k, 0, n), rows(one.v, 0, n), {
            causal: true,
            ...rules,
            encoding: rope,
          }).output;
          const last = Array.from({ length: H }, (_, h) => {
            const end = (b * H + h + 1) * (to - from) * D;
            return [...got.data.subarray(end - D, end)];
          }).flat();
          expectClose(last, want.data, close, `sequence ${b} of ${n} tokens`);
        }
      }
    }
  });
});

describe('encodings beside those of a cache', () => {
  it('act where the keys that are kept allow it', () => {
    const all = text(9);
    using rope = pe.encoding('rope', { headDim: D });
    using alibi = pe.encoding('alibi', { heads: H });
    using cache = pe.cache({ heads: G, headDim: D, capacity: 9, encoding: rope });
    const got = decoded(all, cache, [4, 1, 4], { encoding: [alibi, rope] });
    const { data } = pe.attention(all.q, all.k, all.v, {
      causal: true,
      encoding: [rope, alibi],
    }).output;
    const want = Array.from({ length: 9 }, (_, t) =>
      Array.from({ length: H }, (_, h) => [...data.subarray((h * 9 + t) * D, (h * 9 + t + 1) * D)]),
    ).flat(2);
    expectClose(got, want, close);
  });

  it('are refused where that comes too late, by name', () => {
    using rope = pe.encoding('rope', { headDim: D });
    using xpos = pe.encoding('xpos', { headDim: D });
    using dynamic = pe.encoding('rope-dynamic-ntk', { headDim: D, factor: 2, originalLength: 4 });
    using cache = pe.cache({ heads: G, headDim: D, capacity: 9, encoding: rope });
    const x = text(1);
    for (const encoding of [[], xpos, [alibiOf()], [rope, xpos], [rope, dynamic], [rope, rope]]) {
      const append = { k: x.k, v: x.v };
      const error = caught(() => pe.attention(x.q, cache, { encoding: encoding as never, append }));
      expect(error).toMatchObject({ code: 'CACHE_STALE', field: 'encoding' });
      expect(error.message).not.toContain('undefined');
    }
    expect(cache.length).toBe(0);
  });
  const alibiOf = () => pe.encoding('alibi', { heads: H });
});

describe('JSON', () => {
  it('says of caches, encodings and tensors what they are, and no more', () => {
    using shaw = pe.encoding('shaw', {
      headDim: 4,
      maxDistance: 1,
      keyTable: randomTensor([3, 4]),
    });
    using ring = pe.cache({ heads: 1, headDim: 4, window: 3, sinks: 1, dtype: 'f16' });
    using plain = pe.cache({ heads: 1, headDim: 4, capacity: 3, encoding: shaw });
    using owned = pe.tensor([2, 3]);
    const told = (x: unknown) => JSON.parse(JSON.stringify(x));
    expect(told(shaw)).toEqual({
      id: 'shaw',
      options: { headDim: 4, maxDistance: 1, keyTable: { shape: [3, 4] } },
    });
    const geometry = { batch: 1, heads: 1, headDim: 4, valueDim: 4 };
    const rings = { window: 3, sinks: 1, positions: 'cache' };
    expect(told(ring)).toEqual({ ...geometry, dtype: 'f16', ...rings, encoding: [] });
    const capacity = { capacity: 3, encoding: ['shaw'] };
    expect(told(plain)).toEqual({ ...geometry, dtype: 'f32', ...capacity });
    expect(told(owned)).toEqual({ shape: [2, 3] });
  });
});

describe('numbers that a cache cannot hold', () => {
  const with_ = (shape: number[], at: number, value: number) => {
    const x = randomTensor(shape, 4);
    x.data[at] = value;
    return x;
  };
  const shape = [1, G, 3, D];
  it.each([
    ['f16', 70000, 'OUT_OF_RANGE'],
    ['f16', -65520, 'OUT_OF_RANGE'],
    ['i8', Number.NaN, 'NOT_FINITE'],
    ['i8', Infinity, 'NOT_FINITE'],
  ] as const)('%s refuses %f before anything is stored', (dtype, value, code) => {
    for (const options of [{ capacity: 9 }, { window: 2 }, { window: 2, sinks: 1 }]) {
      using cache = pe.cache({ heads: G, headDim: D, dtype, ...options });
      cache.append(randomTensor(shape, 1), randomTensor(shape, 2));
      const before = cache.toBytes();
      const fine = randomTensor(shape, 5);
      const bad = with_(shape, 29, value);
      const q = randomTensor([1, H, 3, D], 6);
      const tries: [() => unknown, string][] = [
        [() => cache.append(bad, fine), 'k'],
        [() => cache.append(fine, bad), 'v'],
        [() => pe.attention(q, cache, { append: { k: bad, v: fine } }), 'append.k'],
        [() => pe.attention(q, cache, { append: { k: fine, v: bad } }), 'append.v'],
      ];
      for (const [call, field] of tries) {
        const error = caught(call);
        expect(error).toMatchObject({ code, field });
        // What came is told where it is a number.
        const received = Number.isNaN(value) ? {} : { received: value };
        expect(error.details).toMatchObject({ index: 29, ...received });
        expectSame(cache.toBytes(), before);
      }
    }
  });

  it('keeps what float16 has: its greatest number, infinity and NaN', () => {
    for (const value of [65504, -65504, 65519, Infinity, -Infinity, Number.NaN]) {
      using cache = pe.cache({ heads: 1, headDim: 1, capacity: 1, dtype: 'f16' });
      cache.append(tensor([1, 1, 1], [0]), tensor([1, 1, 1], [value]));
      const { data } = pe.attention(tensor([1, 1, 1], [0]), cache).output;
      expect(data[0]).toBe(Number.isFinite(value) ? Math.sign(value) * 65504 : value);
    }
  });

  it('looks at keys as they are kept: turned', () => {
    using rope = pe.encoding('rope', { headDim: 2 });
    using cache = pe.cache({ heads: 1, headDim: 2, capacity: 4, dtype: 'f16', encoding: rope });
    const k = tensor([1, 1, 1, 2], [60000, 60000]);
    cache.append(k, k, [0]);
    // cos 5.5 - sin 5.5 = 1.414
    expect(caught(() => cache.append(k, k, [5.5]))).toMatchObject({
      code: 'OUT_OF_RANGE',
      field: 'k',
    });
  });
});

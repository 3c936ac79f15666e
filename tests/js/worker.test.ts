// SPDX-License-Identifier: Apache-2.0
/** Computing in workers: the same answers and errors, and what stays there. */

import type { PosencError, Tensor } from 'posenc';
import { load, type PosencWorker } from 'posenc/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failure } from './support/failure.ts';
import { pe as local } from './support/instance.ts';
import { expectSame, randomTensor } from './support/numbers.ts';
import { collected } from './support/patience.ts';

let pe: PosencWorker;
beforeAll(async () => {
  pe = await load({ fresh: true });
});
afterAll(() => pe.dispose());

const [q, k, v] = [1, 2, 3].map((seed) => randomTensor([2, 4, 9, 8], seed));

describe('load', () => {
  it('gives one instance to everyone who asks alike', async () => {
    const [a, b] = await Promise.all([load(), load()]);
    expect(a).toBe(b);
    expect(await failure(load({ workers: 2 }))).toMatchObject({ code: 'ALREADY_LOADED' });
    expect(await load({ workers: 1 })).toBe(a);
    expect(await load({ build: 'simd' })).toBe(a);
    a.dispose();
    const c = await load({ workers: 2 });
    expect(c).not.toBe(a);
    expect(c.info.workers).toBe(2);
    expect(await load()).toBe(c);
    expect(await failure(load({ workers: 1 }))).toMatchObject({ code: 'ALREADY_LOADED' });
    c.dispose();
  });

  it('says what is loaded, and what there is', async () => {
    const { version, build, workers, loading } = pe.info;
    expect([version, build, workers]).toEqual([local.info.version, 'simd', 1]);
    expect(loading).toBe(local.info.loading);
    expect(pe.encodings).toEqual(local.encodings);
    expect(Object.isFrozen(pe.encodings[0].fields)).toBe(true);
    const { liveBytes, heapBytes } = await pe.info.memory();
    expect(heapBytes % 65536).toBe(0);
    expect(liveBytes).toBeLessThan(heapBytes);
  });

  it.each([0, 65, 1.5, '2', Number.NaN, null])('refuses %s workers', async (workers) => {
    const error = await failure(load({ workers: workers as number, fresh: true }));
    expect(error).toMatchObject({ field: 'workers', kind: 'argument' });
  });

  it('refuses what load refuses, before a worker is made', async () => {
    const bytes = new TextEncoder().encode('<!doctype html>');
    expect(await failure(load({ bytes, fresh: true }))).toMatchObject({ code: 'NOT_WASM' });
    const odd = { bild: 'simd' } as object;
    expect(await failure(load(odd))).toMatchObject({ code: 'UNKNOWN_OPTION', field: 'bild' });
  });
});

describe('calls', () => {
  it('give the same bits as without a worker', async () => {
    const rope = await pe.encoding('rope', { headDim: 8 });
    const table = randomTensor([8, 4], 5);
    const t5 = await pe.encoding('t5', { heads: 4, buckets: 8, maxDistance: 20, table });
    const own = [
      local.encoding('rope', { headDim: 8 }),
      local.encoding('t5', { heads: 4, buckets: 8, maxDistance: 20, table }),
    ] as const;
    const options = { causal: true, logSumExp: true, weights: true } as const;
    const got = await pe.attention(q, k, v, { ...options, encoding: [rope, t5] });
    const want = local.attention(q, k, v, { ...options, encoding: own });
    for (const name of ['output', 'weights', 'logSumExp'] as const) {
      expect(got[name]?.shape).toEqual(want[name]?.shape);
      expectSame(got[name]?.data ?? [], want[name]?.data ?? []);
    }
    const turned = await rope.rotate(q, { start: 3 }, { role: 'key' });
    expectSame(turned.data, own[0].rotate(q, { start: 3 }, { role: 'key' }).data);
    expectSame((await t5.bias([0, 1], [0, 1, 2])).data, own[1].bias([0, 1], [0, 1, 2]).data);
    expect(await rope.plan(7)).toEqual(own[0].plan(7));
    expect([rope.id, rope.sites, JSON.stringify(rope)]).toEqual([
      own[0].id,
      own[0].sites,
      JSON.stringify(own[0]),
    ]);
    const rows = got.logSumExp as Tensor;
    const back = await pe.attentionBackward(q, k, v, got.output, rows, q, {
      causal: true,
      encoding: [rope, t5],
    });
    const localBack = local.attentionBackward(q, k, v, want.output, rows, q, {
      causal: true,
      encoding: own,
    });
    expectSame(back.dk.data, localBack.dk.data);
    expectSame(back.encodings[1].table.data, localBack.encodings[1].table.data);
    const merged = await pe.merge([{ output: got.output, logSumExp: rows }]);
    expectSame(merged.output.data, got.output.data);
    rope.dispose();
    t5.dispose();
  });

  it('take the tensors of other libraries', async () => {
    class Session {
      readonly dims = [2, 4, 9, 8];
      get data() {
        return q.data;
      }
      get type() {
        return 'float32';
      }
    }
    const flow = { shape: k.shape, dtype: 'float32', dataSync: () => k.data };
    const list = { shape: v.shape, data: Array.from(v.data) };
    const { output } = await pe.attention(new Session(), flow, list);
    expectSame(output.data, local.attention(q, k, v).output.data);
    const gone = { ...flow, isDisposed: true };
    expect(await failure(pe.attention(q, gone, v))).toMatchObject({ code: 'NOT_ON_CPU' });
  });

  it('put results where they are told', async () => {
    const out = { data: new Float32Array(q.data.length), shape: q.shape };
    const { output } = await pe.attention(q, k, v, { out });
    expect(output).toBe(out);
    expectSame(out.data, local.attention(q, k, v).output.data);
    const rope = await pe.encoding('rope', { headDim: 8 });
    const x = { data: q.data.slice(), shape: q.shape };
    expect(await rope.rotate(x, undefined, { out: x })).toBe(x);
    expectSame(x.data, local.encoding('rope', { headDim: 8 }).rotate(q).data);
    const bad = { data: new Float32Array(3), shape: [3] };
    expect(await failure(rope.rotate(q, undefined, { out: bad }))).toMatchObject({
      code: 'BAD_OUT',
      field: 'out',
    });
  });

  it('copy what they are given, or take it where that is asked for', async () => {
    const whole = [q, k, v].map(({ data, shape }) => ({ data: data.slice(), shape }));
    const padded = new Float32Array(q.data.length + 4);
    padded.set(q.data, 4);
    const part = { data: padded.subarray(4), shape: q.shape };
    const want = local.attention(q, k, v).output.data;
    const kept = await pe.attention(whole[0], whole[1], whole[2]);
    expectSame(kept.output.data, want);
    expect(whole[0].data.length).toBe(q.data.length);
    const { output } = await pe.attention(part, whole[1], whole[2], { transfer: true });
    expectSame(output.data, want);
    expect(whole.map(({ data }) => data.length)).toEqual([q.data.length, 0, 0]);
    expect(part.data.length).toBe(q.data.length);
    const one = { data: q.data.slice(), shape: q.shape };
    const same = await pe.attention(one, one, one, { transfer: true });
    expectSame(same.output.data, local.attention(q, q, q).output.data);
    expect(await failure(pe.attention(one, k, v))).toMatchObject({ code: 'DETACHED', field: 'q' });
    // Memory of a module cannot go: it is copied, and stays.
    using owned = local.tensor(q.shape, q.data);
    const { output: copied } = await pe.attention(owned, owned, owned, { transfer: true });
    expectSame(copied.data, local.attention(q, q, q).output.data);
    expectSame(owned.data, q.data);
  });

  it('fail with the same errors, all of their fields', async () => {
    const wrong: [string, (at: typeof local | PosencWorker) => unknown][] = [
      ['UNKNOWN_ENCODING', (at) => at.encoding('roep' as 'rope', { headDim: 4 })],
      ['NOT_INTEGER', (at) => at.encoding('rope', { headDim: 4.5 })],
      ['UNKNOWN_OPTION', (at) => at.attention(q, k, v, { cuasal: true } as object)],
      ['SHAPE_MISMATCH', (at) => at.attention(q, randomTensor([2, 4, 9, 7]), v)],
      ['WRONG_TYPE', (at) => at.attention(q, (() => q) as never, v)],
      ['WRONG_TYPE', (at) => at.attention(q, k, v, { scale: Symbol('s') as never })],
      ['WRONG_TYPE', (at) => at.attention(q, k, v, { encoding: {} as never })],
      ['OUT_OF_RANGE', (at) => at.cache({ heads: 0, headDim: 4, capacity: 4 })],
    ];
    for (const [code, call] of wrong) {
      const want = await failure((async () => call(local))());
      const got = await failure(call(pe) as Promise<unknown>);
      expect(got).toMatchObject({ code });
      const parts = ({ name, kind, message, field, details }: PosencError) => ({
        ...{ name, kind, message, field, details },
      });
      expect(parts(got)).toEqual(parts(want));
    }
  });
});

describe('what stays in a worker', () => {
  it('is a cache, whose length is known here', async () => {
    const encoding = await pe.encoding('rope', { headDim: 8 });
    const cache = await pe.cache({ batch: 2, heads: 4, headDim: 8, capacity: 20, encoding });
    const mine = local.cache({
      batch: 2,
      heads: 4,
      headDim: 8,
      capacity: 20,
      encoding: local.encoding('rope', { headDim: 8 }),
    });
    const got = await pe.attention(q, cache, { append: { k, v }, causal: true });
    const want = local.attention(q, mine, { append: { k, v }, causal: true });
    expectSame(got.output.data, want.output.data);
    expect([cache.length, cache.stored]).toEqual([9, 9]);
    const other = await cache.fork();
    await other.append(k, v);
    expect([cache.length, other.length]).toEqual([9, 18]);
    const full = await failure(other.append(k, v));
    expect(full).toMatchObject({ code: 'CACHE_FULL', kind: 'resource' });
    await cache.truncate(4);
    expect(cache.length).toBe(4);
    await cache.fromBytes(await other.toBytes());
    expect(cache.length).toBe(18);
    cache.dispose();
    expect(await failure(cache.reset())).toMatchObject({ code: 'DISPOSED', field: 'cache' });
    await other.reset();
    expect(other.length).toBe(0);
  });

  it('is a tensor, used in place', async () => {
    const x = await pe.tensor([2, 4, 9, 8], q.data);
    const out = await pe.tensor([2, 4, 9, 8]);
    const rope = await pe.encoding('rope', { headDim: 8 });
    expect(await rope.rotate(x, undefined, { out })).toBe(out);
    const want = local.encoding('rope', { headDim: 8 }).rotate(q);
    expectSame((await out.read()).data, want.data);
    await out.write(k.data);
    expectSame((await out.read()).data, k.data);
    expect(await failure(out.write([1, 2]))).toMatchObject({
      code: 'SHAPE_MISMATCH',
      field: 'data',
    });
    expect(() => out.data).toThrow(expect.objectContaining({ code: 'UNSUPPORTED', field: 'data' }));
  });

  it('is let go: at once, or when it is forgotten', async () => {
    // Of its own: what other tests left to be collected would be counted too.
    const own = await load({ fresh: true });
    const { liveBytes } = await own.info.memory();
    const x = await own.tensor([100]);
    expect((await own.info.memory()).liveBytes).toBe(liveBytes + 400);
    const read = x.read();
    x.dispose();
    x.dispose();
    // What was asked for before is still answered.
    expect((await read).data.length).toBe(100);
    expect((await own.info.memory()).liveBytes).toBe(liveBytes);
    const { gc } = globalThis as { gc?: () => void };
    if (gc !== undefined) {
      // Within a function that ends: one that waits may hold what it waited for before.
      await (async () => void (await own.tensor([100])))();
      const live = async () => (await own.info.memory()).liveBytes;
      expect(await collected(gc, live, liveBytes)).toBe(liveBytes);
    }
    own.dispose();
  });

  it('belongs to those it was made with', async () => {
    const other = await load({ fresh: true });
    const rope = await other.encoding('rope', { headDim: 8 });
    const encoding = rope as never;
    expect(await failure(pe.attention(q, k, v, { encoding }))).toMatchObject({
      code: 'FOREIGN_HANDLE',
    });
    other.dispose();
    expect(await failure(rope.plan())).toMatchObject({ code: 'DISPOSED' });
  });
});

// SPDX-License-Identifier: Apache-2.0
/** Several workers: calls are split by batch or heads, and not a bit of the results changes. */

import { type AttentionResult, type EncodingInfo, encodings, type Tensor } from 'posenc';
import type { PosencWorker } from 'posenc/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inputsOf, optionsOf, tensor, tokens } from '../support/examples.mjs';
import { type AnyEncoding, anyEncoding, pe as local } from './support/instance.ts';
import { expectSame, sizeOf } from './support/numbers.ts';
import { loadBreakable } from './support/workers.ts';

let pe: PosencWorker;
let calls: readonly string[][];
beforeAll(async () => {
  const { load, workers } = await loadBreakable();
  pe = await load({ workers: 2 });
  calls = workers.map((worker) => worker.calls);
});
afterAll(() => pe.dispose());

/** How many workers a call asked. */
async function spread<T>(method: string, call: () => Promise<T>): Promise<[T, number]> {
  const count = () => calls.map((list) => list.filter((name) => name === method).length);
  const before = count();
  const result = await call();
  return [result, count().filter((n, i) => n > before[i]).length];
}

function expectSameResult(got: AttentionResult, want: AttentionResult): void {
  expect(Object.keys(got).sort()).toEqual(Object.keys(want).sort());
  for (const name of Object.keys(want) as (keyof AttentionResult)[]) {
    expect(got[name]?.shape, name).toEqual(want[name]?.shape);
    expectSame(got[name]?.data ?? [], want[name]?.data ?? []);
  }
}

/** Those whose formulas number the heads, with no table or offset that says which they are. */
const undivided = ['sandwich', 'pope'];
const perHead = (info: EncodingInfo) => info.fields.some(({ name }) => name === 'heads');

/** An encoding here and in the workers, while `use` runs. */
async function made(
  info: EncodingInfo,
  use: (here: AnyEncoding, there: Remote, options: object) => Promise<void>,
) {
  const options = optionsOf(info);
  const here = anyEncoding(local, info.id, options);
  const make = pe.encoding as unknown as (id: string, options: object) => Promise<Remote>;
  const there = await make.call(pe, info.id, options);
  await use(here, there, options);
  here.dispose();
  there.dispose();
}
type Remote = { dispose(): void } & Record<
  'rotate' | 'embed',
  (...args: unknown[]) => Promise<Tensor>
>;
const acting = (...sites: string[]) =>
  encodings
    .filter((info) => info.sites.some((site) => sites.includes(site)))
    .map((info) => ({ id: info.id, info }));

describe('split', () => {
  const inside = [...acting('rotate', 'score', 'value'), { id: 'none', info: encodings[0] }];
  it.each(inside)('attention: $id', async ({ id, info }) => {
    await made(info, async (here, there, options) => {
      for (const batch of [1, 3]) {
        // Two query heads to a key head, so that groups must stay whole.
        const { q, k, v, positions } = inputsOf(info, options, { batch, group: 2 });
        const at = positions && { queryPositions: positions, keyPositions: positions };
        const common = { causal: true, weights: true, logSumExp: true, ...at };
        const want = local.attention(q, k, v, { ...common, encoding: here });
        const run = () => pe.attention(q, k, v, { ...common, encoding: there as never });
        const [got, workers] = await spread('attention', run);
        expectSameResult(got, want);
        expect(workers).toBe(batch === 1 && undivided.includes(id) ? 1 : 2);
      }
    });
  });

  it.each(acting('rotate'))('rotate: $id', async ({ info }) => {
    await made(info, async (here, there, options) => {
      for (const batch of [1, 3]) {
        const { q, positions } = inputsOf(info, options, { batch });
        const run = () => there.rotate(q, positions, { role: 'key' });
        const [got, workers] = await spread('rotate', run);
        const want = here.rotate(q, positions, { role: 'key' });
        expect(got.shape).toEqual(want.shape);
        expectSame(got.data, want.data);
        expect(workers).toBe(batch === 1 && perHead(info) ? 1 : 2);
      }
    });
  });

  it.each(acting('embed'))('embed: $id', async ({ info }) => {
    await made(info, async (here, there, options) => {
      const { x, positions } = inputsOf(info, options, { batch: 5 });
      const [got, workers] = await spread('embed', () => there.embed(x, positions));
      expectSame(got.data, here.embed(x, positions).data);
      expect(workers).toBe(2);
    });
  });
});

describe('what goes with the tensors', () => {
  const [B, H, G, D] = [3, 4, 2, 8];
  const q = tensor([B, H, tokens, D], 1);
  const [k, v] = [2, 3].map((seed) => tensor([B, G, tokens, D], seed));
  const first = (x: Tensor): Tensor => {
    const shape = [1, ...x.shape.slice(1)];
    return { data: x.data.slice(0, sizeOf(shape)), shape };
  };
  const swapped = ({ data, shape: [b, n, m, w] }: Tensor): Tensor => {
    const out = new Float32Array(data.length);
    for (let i = 0; i < data.length / w; ++i) {
      const [at, x, y] = [Math.floor(i / (n * m)), Math.floor(i / m) % n, i % m];
      out.set(data.subarray(i * w, (i + 1) * w), ((at * m + y) * n + x) * w);
    }
    return { data: out, shape: [b, m, n, w] };
  };
  const bytes = (shape: readonly number[]) => ({
    data: Uint8Array.from(tensor(shape, 9).data, (x) => (x > -0.8 ? 1 : 0)),
    shape,
  });
  const rows = (n: number, seed: number) =>
    Array.from(tensor([B, n], seed).data, (x) => Math.floor(50 * x + 50));
  const cases: Record<string, (batch: number) => object> = {
    'masks of each entry and head': (b) => ({ mask: bytes([b, H, tokens, tokens]) }),
    'a mask of floats for each entry': (b) => ({ mask: tensor([b, 1, tokens, tokens], 7) }),
    'a mask for each head': () => ({ mask: bytes([H, tokens, tokens]) }),
    'a mask for all': () => ({ mask: bytes([tokens]) }),
    sinks: () => ({ sinks: [0.5, -1, 2, 0] }),
    'norms of heads': () => ({
      qNorm: { weight: tensor([H, D], 5) },
      kNorm: { weight: tensor([G, D], 6), place: 'after' },
    }),
    'norms of all': () => ({ qNorm: { weight: tensor([D], 5) }, kNorm: { kind: 'l2' } }),
    lengths: (b) => ({
      keyLengths: [20, 37, 5].slice(0, b),
      queryLengths: Int32Array.of(37, 9, 1).subarray(0, b),
    }),
    'offsets and prefixes': (b) => ({
      causal: true,
      queryOffset: [0, 5, -3].slice(0, b),
      prefix: [3, 0, 9].slice(0, b),
    }),
    'windows, caps and factors': () => ({
      causal: true,
      window: { left: 9, first: 2 },
      softcap: 5,
      scale: 0.3,
      queryScale: { kind: 'logn', length: 8 },
    }),
  };

  it.each(Object.entries(cases))('%s', async (_, optionsFor) => {
    for (const batch of [1, B]) {
      const inputs = batch === 1 ? [first(q), first(k), first(v)] : [q, k, v];
      for (const layout of ['bhnd', 'bnhd'] as const) {
        const [a, b, c] = layout === 'bhnd' ? inputs : inputs.map(swapped);
        const options = { ...optionsFor(batch), layout, weights: true, logSumExp: true };
        const run = () => pe.attention(a, b, c, options);
        const [got, workers] = await spread('attention', run);
        expectSameResult(got, local.attention(a, b, c, options));
        expect(workers).toBe(2);
      }
    }
  });

  it('positions of each entry, and without a batch', async () => {
    const rope = await pe.encoding('rope', { headDim: D });
    const own = local.encoding('rope', { headDim: D });
    const positions = { data: rows(tokens, 5), shape: [B, tokens] };
    const at = { queryPositions: positions, keyPositions: positions };
    const [got, workers] = await spread('attention', () =>
      pe.attention(q, k, v, { encoding: rope, ...at }),
    );
    expectSameResult(got, local.attention(q, k, v, { encoding: own, ...at }));
    expect(workers).toBe(2);
    expectSame((await rope.rotate(q, positions)).data, own.rotate(q, positions).data);
    const [x, y, z] = [q, k, v]
      .map(first)
      .map(({ data, shape }) => ({ data, shape: shape.slice(1) }));
    const [flat, two] = await spread('attention', () => pe.attention(x, y, z, { encoding: rope }));
    expectSameResult(flat, local.attention(x, y, z, { encoding: own }));
    expect(two).toBe(2);
  });

  it('packed sequences, and what one worker alone can see through', async () => {
    const packed = { cuSeqlens: { q: [0, 7, tokens] }, causal: true };
    const [a, b, c] = [q, k, v].map(first);
    expectSameResult(await pe.attention(a, b, c, packed), local.attention(a, b, c, packed));
    const list = { data: Array.from(q.data), shape: q.shape };
    expectSameResult(await pe.attention(list, k, v), local.attention(q, k, v));
  });

  it('an output of the user, and buffers given away', async () => {
    const out = { data: new Float32Array(q.data.length), shape: q.shape };
    const { output } = await pe.attention(q, k, v, { out });
    expect(output).toBe(out);
    const want = local.attention(q, k, v).output.data;
    expectSame(out.data, want);
    const given = [q, k, v].map(({ data, shape }) => ({ data: data.slice(), shape }));
    const taken = await pe.attention(given[0], given[1], given[2], { transfer: true });
    expectSame(taken.output.data, want);
  });

  it('errors, which tell of the whole', async () => {
    const rope = await pe.encoding('rope', { headDim: 16 });
    const own = local.encoding('rope', { headDim: 16 });
    const got = await pe.attention(q, k, v, { encoding: rope }).catch((error) => error);
    let want: unknown;
    try {
      local.attention(q, k, v, { encoding: own });
    } catch (error) {
      want = error;
    }
    expect(got.message).toBe((want as Error).message);
  });
});

describe('what stays in a worker', () => {
  it('goes to one after the other, and what belongs together can be put together', async () => {
    const shape = { heads: 2, headDim: 4, capacity: 8 };
    const caches = [await pe.cache(shape), await pe.cache(shape)];
    const x = tensor([1, 2, 3, 4], 1);
    const append = () => Promise.all(caches.map((cache) => cache.append(x, x)));
    expect((await spread('append', append))[1]).toBe(2);
    const beside = await pe.tensor(x.shape, x.data, { beside: caches[0] });
    const apart = await pe.tensor(x.shape, x.data, { beside: caches[1] });
    const { output } = await pe.attention(beside, caches[0]);
    expect(output.shape).toEqual(x.shape);
    const error = await pe.attention(apart, caches[0]).catch((reason) => reason);
    expect(error).toMatchObject({
      code: 'FOREIGN_HANDLE',
      message: expect.stringMatching(/beside/),
    });
    const odd = await pe.tensor([1], [1], { beside: {} as never }).catch((reason) => reason);
    expect(odd).toMatchObject({ code: 'WRONG_TYPE', field: 'beside' });
  });
});

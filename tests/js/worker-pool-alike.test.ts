// SPDX-License-Identifier: Apache-2.0
/** Three workers against none: random calls, valid or not, and what happens to arguments meanwhile. */

import { type Encoding, type EncodingInfo, encodings, type Positions, type Tensor } from 'posenc';
import { load, type PosencWorker } from 'posenc/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failure } from './support/failure.ts';
import { type AnyEncoding, anyEncoding, pe as local } from './support/instance.ts';
import { expectSame, noise, randomTensor } from './support/numbers.ts';
import { runs } from './support/runs.ts';
import { loadBreakable, type Meddle } from './support/workers.ts';

let pe: PosencWorker;
beforeAll(async () => {
  pe = await load({ workers: 3, fresh: true });
});
afterAll(() => pe.dispose());

type There = { rotate(...args: unknown[]): Promise<Tensor>; dispose(): void };
type Made = { id: string; info: EncodingInfo; here: AnyEncoding; there: There };
async function make(id: string, options: object): Promise<Made> {
  const remote = pe.encoding as unknown as (id: string, options: object) => Promise<There>;
  const info = encodings.find((one) => one.id === id) as EncodingInfo;
  const here = anyEncoding(local, id, options);
  return { id, info, here, there: await remote.call(pe, id, options) };
}

/** What came of a call, to be compared. */
async function outcome(call: () => unknown): Promise<unknown> {
  try {
    const value = (await call()) as Tensor & Record<string, Tensor>;
    if (value.data !== undefined) return plain(value);
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]));
  } catch (error) {
    const { code, field, message } = error as Record<string, unknown>;
    return { code, field, message };
  }
}
const plain = ({ shape, data }: Tensor) => ({ shape: [...shape], data: Array.from(data) });

describe('random calls', () => {
  const D = 4;
  const rotation = (x: Tensor, positions: unknown) => ({
    here: (made?: Made) => made?.here.rotate(x, positions as Positions),
    there: (made?: Made) => made?.there.rotate(x, positions),
  });
  const attention = ([q, k, v]: Tensor[], { transfer, ...options }: Record<string, unknown>) => ({
    here: (made?: Made) =>
      local.attention(q, k, v, { ...options, encoding: made?.here as Encoding }),
    there: (made?: Made) =>
      pe.attention(q, k, v, {
        ...options,
        encoding: made?.there as never,
        transfer: transfer === true,
      }),
  });

  it('end alike', { timeout: 600_000 }, async () => {
    const { numRuns, seed } = runs(500);
    const next = noise(seed);
    const below = (n: number) => Math.floor(((next() + 1) / 2) * n);
    const pick = <T>(list: readonly T[]): T => list[below(list.length)];
    const tensor = (shape: readonly number[]) => randomTensor(shape, 1 + below(1e9));
    const integers = (count: number, most: number) =>
      Array.from({ length: count }, () => below(most));
    const perHead = { heads: 4, headDim: D, frequencies: tensor([2, 4, 2]) };
    const all: readonly (Made | undefined)[] = [
      undefined,
      await make('rope', { headDim: D }),
      await make('rope-dynamic-ntk', { headDim: D, factor: 2, originalLength: 4 }),
      await make('rope-yarn', { headDim: D, factor: 2, originalLength: 4, dynamic: true }),
      await make('alibi', { heads: 4 }),
      await make('alibi', { heads: 6 }),
      await make('rope-mixed', perHead),
    ];

    let [refused, answered] = [0, 0];
    for (let i = 0; i < numRuns; ++i) {
      const encoding = pick(all);
      const [B, G, group] = [pick([1, 2, 3, 5]), pick([1, 2, 3, 4, 6]), pick([1, 2])];
      const H = pick([G * group, G * group, 4, 6]);
      const T = pick([1, 3, 6]);
      const S = pick([T, 6, 8]);
      const batched = below(3) > 0;
      const layout = pick(['bhnd', 'bnhd', undefined] as const);
      const rows = (heads: number, n: number) => {
        const inner = layout === 'bnhd' ? [n, heads, D] : [heads, n, D];
        return tensor(batched ? [B, ...inner] : inner);
      };
      const axes = encoding?.info.axes ?? 1;
      const oneAxis = (n: number) =>
        pick<() => unknown>([
          () => ({ start: 3 }),
          () => integers(n, 9),
          () => ({ data: integers(B * n, 30), shape: [B, n] }),
          () => ({ data: integers(H * n, 30), shape: [H, n] }),
          () => Int32Array.from(integers(n, 9)),
        ])();
      const positions = (n: number) =>
        below(2) === 0 ? undefined : axes === 1 ? oneAxis(n) : [oneAxis(n), oneAxis(n)];
      const mask = () => {
        const shapes = [[T, S], [H, T, S], [B, 1, T, S], [B, H, T, S], [S], [H, 1, S], [G, T, S]];
        const floats = tensor(pick(shapes));
        if (below(2) === 0) return floats;
        return {
          shape: floats.shape,
          data: Uint8Array.from(floats.data, (x) => (x > -0.5 ? 1 : 0)),
        };
      };
      const sometimes: Record<string, () => unknown> = {
        causal: () => true,
        mask,
        sinks: () => integers(pick([H, H, G]), 3),
        keyLengths: () => integers(pick([B, B, H]), S + 1),
        queryOffset: () => pick([2, integers(B, 4)]),
        prefix: () => pick([2, integers(pick([B, H]), 4)]),
        window: () => ({ left: below(4) }),
        qNorm: () => ({ weight: tensor([...pick([[H], [G], []]), D]) }),
        kNorm: () => pick([{ weight: tensor([pick([G, H]), D]) }, { kind: 'l2' }]),
        weights: () => true,
        logSumExp: () => true,
        queryPositions: () => positions(T),
        keyPositions: () => positions(S),
      };
      const chosen = Object.entries(sometimes).filter(() => below(5) === 0);
      const entries = chosen.map(([name, value]) => [name, value()] as const);
      const options = Object.fromEntries(entries.filter(([, value]) => value !== undefined));
      if (layout !== undefined) options.layout = layout;
      if (below(4) === 0) options.transfer = true;

      const rotates = encoding?.info.sites.includes('rotate') && below(3) === 0;
      const call = rotates
        ? rotation(tensor([...pick([[H], [B, H], [B], [2, B, H]]), T, D]), positions(T))
        : attention([rows(H, T), rows(G, S), rows(G, S)], options);
      // With workers afterwards: `transfer` takes the arguments.
      const want = await outcome(() => call.here(encoding));
      const got = await outcome(() => call.there(encoding));
      const what = `POSENC_SEED=${seed}, call ${i}: ${encoding?.id} ${JSON.stringify(entries)}`;
      expect(got, what).toEqual(want);
      if ((want as { code?: string }).code === undefined) ++answered;
      else ++refused;
    }
    console.log(`seed ${seed}: ${answered} answered, ${refused} refused`);
    expect(Math.min(answered, refused)).toBeGreaterThan(numRuns / 5);
  });
});

describe('a call in parts', () => {
  const [B, H, G, D] = [3, 6, 3, 8];
  const q = randomTensor([B, H, 9, D], 1);
  const [k, v] = [2, 3].map((seed) => randomTensor([B, G, 9, D], seed));
  const copies = (...all: Tensor[]) =>
    all.map(({ data, shape }) => ({ data: data.slice(), shape }));

  it('is refused for other heads after one that was right', async () => {
    const { here, there } = await make('alibi', { heads: 6 });
    const few = randomTensor([1, 4, 9, D], 1);
    const [x, y] = [2, 3].map((seed) => randomTensor([1, 2, 9, D], seed));
    const first = [q, k, v].map(({ data, shape: [, ...rest] }) => ({
      data: data.slice(0, data.length / B),
      shape: [1, ...rest],
    }));
    for (const [a, b, c] of [[few, x, y], first, [few, x, y]]) {
      const want = await outcome(() => local.attention(a, b, c, { encoding: here as Encoding }));
      expect(await outcome(() => pe.attention(a, b, c, { encoding: there as never }))).toEqual(
        want,
      );
    }
  });

  it('with buffers given away that parts share, which all go', async () => {
    const mask = { data: new Uint8Array(81).fill(1), shape: [9, 9] };
    const sinks = Float32Array.from({ length: H }, (_, i) => i);
    const want = local.attention(q, k, v, { mask, sinks }).output.data;
    const given = copies(q, k, v);
    const options = { mask, sinks, transfer: true };
    const { output } = await pe.attention(given[0], given[1], given[2], options);
    expectSame(output.data, want);
    const left = [...given.map(({ data }) => data), mask.data, sinks];
    expect(left.map(({ length }) => length)).toEqual([0, 0, 0, 0, 0]);
    const again = copies(q, k, v);
    const wrong = { keyLengths: Int32Array.of(1, 2, 99), transfer: true };
    expect(await failure(pe.attention(again[0], again[1], again[2], wrong))).toMatchObject({
      message: expect.stringContaining('keyLengths[2]'),
    });
  });

  it('whose output went in the meantime', async () => {
    const out = { data: new Float32Array(q.data.length), shape: q.shape };
    const call = failure(pe.attention(q, k, v, { out }));
    structuredClone(out.data, { transfer: [out.data.buffer] });
    expect(await call).toMatchObject({ code: 'DETACHED', field: 'out' });
  });

  it('that is taken back for no reason, or for one like an error of ours', async () => {
    for (const why of [null, { kind: 'argument' }]) {
      const controller = new AbortController();
      const call = pe.attention(q, k, v, { signal: controller.signal });
      controller.abort(why);
      await expect(call.catch((reason) => ({ reason }))).resolves.toEqual({ reason: why });
    }
  });

  it('is refused as the arguments were, whatever became of them, and leaves nothing', async () => {
    const own = await load({ workers: 3, fresh: true });
    const rope = await own.encoding('rope', { headDim: D });
    const before = local.encoding('rope', { headDim: D });
    // All workers have it, and what it holds is then known.
    await own.attention(q, k, v, { encoding: rope });
    const empty = await load({ workers: 3, fresh: true });
    const { liveBytes } = await empty.info.memory();
    const keyLengths = Int32Array.of(1, 2, 99);
    const want = await outcome(() => local.attention(q, k, v, { keyLengths, encoding: before }));
    const call = outcome(() => own.attention(q, k, v, { keyLengths, encoding: rope }));
    keyLengths[2] = 3;
    rope.dispose();
    expect(await call).toEqual(want);
    expect((await own.info.memory()).liveBytes).toBe(liveBytes);
    own.dispose();
    empty.dispose();
  });

  it('copies its tensors once, and keeps none of them here while the workers compute', async () => {
    const meddle: Meddle = {};
    const { load: loadOwn } = await loadBreakable(undefined, meddle);
    const own = await loadOwn({ workers: 2 });
    const sent: number[] = [];
    const back: number[] = [];
    meddle.post = (message, transfer) => {
      if ((message as { method?: string }).method === 'attention')
        sent.push(transfer.reduce((sum, { byteLength }) => sum + byteLength, 0));
    };
    meddle.reply = (reply) => {
      for (const data of reply.back ?? []) back.push(data?.byteLength ?? 0);
      return undefined;
    };
    await own.attention(q, k, v);
    const bytes = 4 * (q.data.length + k.data.length + v.data.length);
    expect(sent.reduce((a, b) => a + b)).toBe(bytes);
    expect(back.reduce((a, b) => a + b)).toBe(bytes);
    own.dispose();
  });

  it('of which one part alone was refused has the result of the whole', async () => {
    const meddle: Meddle = {};
    const { load: loadOwn } = await loadBreakable(undefined, meddle);
    const own = await loadOwn({ workers: 2 });
    const error = { name: 'PosencError', message: 'odd', code: 'OUT_OF_RANGE', kind: 'argument' };
    let refusals = 1;
    meddle.reply = (reply) => (refusals-- > 0 ? { ...reply, value: undefined, error } : undefined);
    const given = copies(q, k, v);
    const call = own.attention(given[0], given[1], given[2]);
    for (const { data } of given) data.fill(0);
    expectSame((await call).output.data, local.attention(q, k, v).output.data);
    own.dispose();
  });
});

// SPDX-License-Identifier: Apache-2.0
/** Calls in workers that end early: taken back by a signal, or lost with their worker. */

import { load, type PosencWorker } from 'posenc/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failure } from './support/failure.ts';
import { pe as local } from './support/instance.ts';
import { expectSame, randomTensor } from './support/numbers.ts';
import { loadBreakable, type Meddle, type Reply } from './support/workers.ts';

let pe: PosencWorker;
beforeAll(async () => {
  pe = await load({ fresh: true });
});
afterAll(() => pe.dispose());

const [q, k, v] = [1, 2, 3].map((seed) => randomTensor([2, 4, 9, 8], seed));
const long = [1, 2, 3].map((seed) => randomTensor([8, 2000, 32], seed));
const trapped = { name: 'PosencError', message: 'unreachable', code: 'TRAP', kind: 'internal' };

describe('a signal', () => {
  const work = (signal: AbortSignal) => pe.attention(long[0], long[1], long[2], { signal });

  it('that has gone off stops a call before it begins', async () => {
    const why = new Error('no longer wanted');
    await expect(pe.attention(q, k, v, { signal: AbortSignal.abort(why) })).rejects.toBe(why);
    const odd = failure(pe.attention(q, k, v, { signal: 5 as never }));
    expect(await odd).toMatchObject({ code: 'WRONG_TYPE', field: 'signal' });
  });

  it('takes back a call that waits, and stops one that runs; what was made works on', async () => {
    const own = await load({ fresh: true });
    const rope = await own.encoding('rope', { headDim: 8 });
    const [first, second] = [new AbortController(), new AbortController()];
    const call = (signal: AbortSignal) =>
      own.attention(long[0], long[1], long[2], { signal, causal: true });
    const running = call(first.signal);
    const waiting = call(second.signal);
    const after = rope.rotate(q);
    second.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
    first.abort();
    await expect(running).rejects.toMatchObject({ name: 'AbortError' });
    expectSame((await after).data, local.encoding('rope', { headDim: 8 }).rotate(q).data);
    own.dispose();
  });

  it('leaves a worker that holds something to its end', async () => {
    const x = await pe.tensor([4], [1, 2, 3, 4]);
    const controller = new AbortController();
    const running = work(controller.signal);
    controller.abort();
    await expect(running).rejects.toMatchObject({ name: 'AbortError' });
    expectSame((await x.read()).data, [1, 2, 3, 4]);
    x.dispose();
  });
});

describe('a worker that is lost', () => {
  it('takes along the call it was at and what it held; the next call gets another', async () => {
    const { load: loadOwn, workers } = await loadBreakable();
    const own = await loadOwn();
    const rope = await own.encoding('rope', { headDim: 8 });
    const cache = await own.cache({ batch: 2, heads: 4, headDim: 8, capacity: 20 });
    // Long enough that its answer cannot be on the way already.
    const running = failure(own.attention(long[0], long[1], long[2]));
    const waiting = rope.rotate(q);
    const waitingForCache = failure(cache.append(k, v));
    workers[0].break();
    const lost = { code: 'WORKER_LOST', kind: 'state', field: 'worker' };
    expect(await running).toMatchObject(lost);
    expectSame((await waiting).data, local.encoding('rope', { headDim: 8 }).rotate(q).data);
    expect(await waitingForCache).toMatchObject({
      ...lost,
      message: expect.stringContaining('the cache was in a worker'),
    });
    expect(await failure(cache.reset())).toMatchObject(lost);
    const encoding = rope;
    const { output } = await own.attention(q, k, v, { encoding });
    const want = local.attention(q, k, v, { encoding: local.encoding('rope', { headDim: 8 }) });
    expectSame(output.data, want.output.data);
    expect(workers.length).toBe(2);
    cache.dispose();
    own.dispose();
    expect(await failure(rope.plan())).toMatchObject({ code: 'DISPOSED' });
  });

  it('is told from one that never came', async () => {
    const { load: loadOwn } = await loadBreakable('./no-such-script.js');
    expect(await failure(loadOwn())).toMatchObject({ code: 'WORKER_LOST', field: 'worker' });
  });

  it('is not one that could not be told to let go of something', async () => {
    const meddle: Meddle = {};
    const { load: loadOwn, workers } = await loadBreakable(undefined, meddle);
    const own = await loadOwn();
    const rope = await own.encoding('rope', { headDim: 8 });
    meddle.post = () => {
      throw new Error('no memory for a message');
    };
    expect(() => rope.dispose()).not.toThrow();
    meddle.post = undefined;
    const other = await own.encoding('rope', { headDim: 8 });
    expectSame((await other.rotate(q)).data, local.encoding('rope', { headDim: 8 }).rotate(q).data);
    expect(workers.length).toBe(1);
    own.dispose();
  });

  it('answers all that wait when the instance is disposed of', async () => {
    const own = await load({ fresh: true });
    const calls = [1, 2, 3].map(() => failure(own.attention(q, k, v)));
    own.dispose();
    own.dispose();
    for (const error of await Promise.all(calls)) expect(error).toMatchObject({ code: 'DISPOSED' });
  });

  it.each([
    // An instance that dies while an encoding is made again, each time.
    [
      'trap',
      {
        reply: (data: Reply) =>
          data.value === undefined ||
          data.error !== undefined ||
          !('json' in (data.value as object))
            ? data
            : { posenc: 'done', id: data.id, error: trapped },
      },
      { code: 'TRAP', kind: 'internal' },
    ],
    [
      'send',
      {
        post: () => {
          throw new Error('no memory for a message');
        },
      },
      { code: 'WORKER_LOST', message: expect.stringContaining('no memory for a message') },
    ],
  ] as const)('ends a call that it cannot be prepared for: %s', async (_, how, expected) => {
    const meddle: Meddle = {};
    const { load: loadOwn, workers } = await loadBreakable(undefined, meddle);
    const own = await loadOwn();
    const rope = await own.encoding('rope', { headDim: 8 });
    const controller = new AbortController();
    const running = own.attention(long[0], long[1], long[2], { signal: controller.signal });
    controller.abort();
    await expect(running).rejects.toMatchObject({ name: 'AbortError' });
    Object.assign(meddle, how);
    const failed = [failure(rope.rotate(q)), failure(rope.rotate(k))];
    for (const one of failed) expect(await one).toMatchObject(expected);
    meddle.reply = undefined;
    meddle.post = undefined;
    expectSame((await rope.rotate(q)).data, local.encoding('rope', { headDim: 8 }).rotate(q).data);
    // One for each call that failed, at most.
    expect(workers.length).toBeLessThanOrEqual(4);
    own.dispose();
  });
});

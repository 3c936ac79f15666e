// SPDX-License-Identifier: Apache-2.0
/** What is disposed of, foreign or too large; the error itself; numbers that are not finite. */

import { load, PosencError } from 'posenc';
import { describe, expect, it } from 'vitest';
import { caught, expectRefusal } from './support/failure.ts';
import { anyEncoding, expectGoldenAnswer, pe } from './support/instance.ts';
import { expectSame, randomTensor, tensor } from './support/numbers.ts';
import { attend, four, make, neverCalled, q, rope, rotate } from './support/refused-calls.ts';

describe('lifetime', () => {
  const disposable = () => {
    const one = pe.encoding('rope', { headDim: 4 });
    one.dispose();
    one.dispose();
    return one;
  };
  it('54 an encoding after dispose', () => {
    const one = disposable();
    expectRefusal(() => one.rotate(q), { code: 'DISPOSED', says: ['encoding'] });
    expectRefusal(() => one.plan(), { code: 'DISPOSED' });
    expectRefusal(attend({ encoding: one }), { code: 'DISPOSED', field: 'encoding' });
  });
  it('54 a tensor after dispose', () => {
    const one = pe.tensor([2, 3, 4]);
    one.dispose();
    expectRefusal(() => one.data, { code: 'DISPOSED' });
    expectRefusal(rotate(one), { code: 'DISPOSED', field: 'x' });
    expectRefusal(attend({ out: one }), { code: 'DISPOSED', field: 'out' });
  });
  it('57 what belongs to another instance', async () => {
    const other = await load({ fresh: true });
    const encoding = other.encoding('rope', { headDim: 4 });
    expectRefusal(attend({ encoding }), { code: 'FOREIGN_HANDLE', field: 'encoding' });
    const owned = other.tensor([2, 3, 4], q.data);
    expectRefusal(rotate(owned), { code: 'FOREIGN_HANDLE', field: 'x' });
    expectRefusal(attend({ out: owned }), { code: 'FOREIGN_HANDLE', field: 'out' });
    // Its numbers may be read all the same.
    expectSame(four.rotate({ data: owned.data, shape: q.shape }).data, four.rotate(q).data);
    other.dispose();
  });
  it('a method of a site that the encoding does not act at', () => {
    const alibi = anyEncoding(pe, 'alibi', { heads: 2 });
    expectRefusal(() => alibi.rotate(q), { code: 'UNSUPPORTED', says: ['rotate', 'score'] });
    expectRefusal(() => alibi.table([0]), { code: 'UNSUPPORTED' });
    const bias = (one: unknown) => (one as typeof alibi).bias([0], [0]);
    expectRefusal(() => bias(four), { code: 'UNSUPPORTED' });
    const keyTable = randomTensor([3, 4]);
    const shaw = pe.encoding('shaw', { headDim: 4, maxDistance: 1, keyTable });
    expectRefusal(() => bias(shaw), { code: 'UNSUPPORTED', says: ['depend on q and k'] });
  });
});

describe('resources', () => {
  it('75 76 an allocation that does not fit', () => {
    const big = 2 ** 29 - 2 ** 16;
    const refusal = { code: 'OUT_OF_MEMORY', says: ['free for', 'fresh'] } as const;
    const held = pe.tensor([2 ** 20]);
    expectRefusal(() => pe.tensor([big - 2 ** 14]), refusal);
    held.dispose();
    expectRefusal(() => pe.tensor([2 ** 30]), { code: 'TOO_LARGE', says: ['2 GiB'] });
  });

  it('75 weights that do not fit, asked for in attention', () => {
    const long = tensor([1, 30000, 1], new Float32Array(30000));
    const refused = caught(() => pe.attention(long, long, long, { weights: true }));
    expect(['OUT_OF_MEMORY', 'TOO_LARGE']).toContain(refused.code);
    expectGoldenAnswer(pe);
  });

  it('stays usable after 10,000 failing calls of every kind', () => {
    const before = pe.info.memory();
    const learned = pe.encoding('learned', { table: randomTensor([2, 4]) });
    const calls = [
      rope(63),
      make('rope', { headDim: 4, rotaryDim: 6 }),
      () => learned.table([2]),
      attend({ encoding: pe.encoding('alibi', { heads: 3 }) }),
      attend({ mask: { data: Float32Array.of(Number.NaN), shape: [1] } }),
      rotate(null),
      make('nothing'),
      () => pe.tensor([2 ** 29]),
    ];
    const { live } = pe.info.memory();
    for (let i = 0; i < 10_000; ++i)
      expect(PosencError.is(caught(calls[i % calls.length]))).toBe(true);
    expect(pe.info.memory().live).toBe(live);
    expect(pe.info.memory().heapBytes).toBeLessThanOrEqual(Math.max(before.heapBytes, 2 ** 28));
    expectGoldenAnswer(pe);
  });
});

describe('PosencError', () => {
  it('is recognised across copies and realms by its brand', () => {
    const error = caught(rope(63));
    expect(PosencError.is(error)).toBe(true);
    expect(error).toBeInstanceOf(Error);
    expect([error.name, error.constructor.name]).toEqual(['PosencError', 'PosencError']);
    const foreign = Object.create({ [Symbol.for('posenc.PosencError')]: true });
    expect(PosencError.is(foreign)).toBe(true);
    for (const other of [new Error('x'), null, undefined, 'x', {}])
      expect(PosencError.is(other)).toBe(false);
  });
  it('carries the facts for programs, which can be cloned', () => {
    const { details } = caught(rope(63));
    expect(details).toMatchObject({ parameter: 'headDim', received: 63 });
    for (const call of [rope(Symbol('x')), rotate(neverCalled), make({}), rope([])])
      expect(structuredClone(caught(call).details)).toEqual(caught(call).details);
  });
});

describe('data that is not finite', () => {
  it('47 spoils only the rows that use it', () => {
    const spoilt = { data: Float32Array.from(q.data), shape: q.shape };
    spoilt.data[5] = Number.NaN; // head 0, row 1
    const clean = pe.attention(q, q, q, { causal: true }).output.data;
    const got = pe.attention(spoilt, q, q, { causal: true }).output.data;
    for (let i = 0; i < 24; ++i)
      if (i >= 4 && i < 8) expect(got[i]).toBeNaN();
      else expect(got[i]).toBe(clean[i]);
  });
  it('never passes a mask', () => {
    const spoilt = { data: Float32Array.from(q.data), shape: q.shape };
    spoilt.data.fill(Number.NaN, 8, 12); // head 0, key 2
    spoilt.data.fill(Infinity, 20, 24); // head 1, key 2
    const mask = { data: Uint8Array.of(1, 1, 0), shape: [3] };
    const clean = pe.attention(q, q, q, { mask }).output.data;
    expectSame(pe.attention(q, spoilt, spoilt, { mask }).output.data, clean);
    const added = { data: Float32Array.of(0, 0, -Infinity), shape: [3] };
    expectSame(pe.attention(q, spoilt, spoilt, { mask: added }).output.data, clean);
    const first = pe.attention(q, spoilt, spoilt, { causal: true }).output.data.slice(0, 8);
    expectSame(first, pe.attention(q, q, q, { causal: true }).output.data.slice(0, 8));
  });
  it('48 a score that overflows spoils its own row only, and tiny numbers are kept', () => {
    const huge = tensor([1, 2, 2], [1e38, 1e38, -1e38, 1e38]);
    const one = tensor([1, 2, 2], [1, 2, 3, 4]);
    const { data } = pe.attention(huge, one, one).output;
    expect(Number.isFinite(data[2]) && Number.isFinite(data[3])).toBe(true);
    const tiny = tensor([1, 2, 2], [1e-40, 0, 0, 1e-42]);
    const turned = pe.encoding('rope', { headDim: 2 }).rotate(tiny, [0, 0]);
    expectSame(turned.data, tiny.data);
  });
});

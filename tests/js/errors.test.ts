// SPDX-License-Identifier: Apache-2.0
/**
 * Bad input, row by row. Every row is checked for class and code, for what the message says, for
 * memory as before, and for an instance that still gives the right answer.
 */

import { type AttentionOptions, load, PosencError, type TensorInput } from 'posenc';
import { describe, expect, it } from 'vitest';
import { detached, shrunk } from './support/buffers.ts';
import { caught, expectRefusal, type Refusal } from './support/failure.ts';
import { anyEncoding, expectGoldenAnswer, pe } from './support/instance.ts';
import { expectSame, randomTensor, tensor } from './support/numbers.ts';

type Row = [name: string, call: () => unknown, refusal: Refusal];

const make = (id: unknown, options?: unknown) => () =>
  anyEncoding(pe, id as string, options as object);
const rope = (headDim: unknown) => make('rope', { headDim });

function check(title: string, rows: readonly Row[]): void {
  describe(title, () => {
    for (const [name, call, refusal] of rows) it(name, () => void expectRefusal(call, refusal));
  });
}

const neverCalled = {
  valueOf() {
    throw new Error('valueOf must not be called');
  },
  toString() {
    throw new Error('toString must not be called');
  },
};

check('scalars', [
  ...[Number.NaN, Infinity, -Infinity].map(
    (value): Row => [
      `1 headDim ${value}`,
      rope(value),
      { code: 'NOT_FINITE', field: 'headDim', says: [`${value} (number)`] },
    ],
  ),
  ...[0, -64].map(
    (value): Row => [
      `2 headDim ${value}`,
      rope(value),
      { code: 'OUT_OF_RANGE', field: 'headDim', says: ['from 1 to', `${value} (number)`] },
    ],
  ),
  ['3 headDim 63', rope(63), { code: 'NOT_EVEN', field: 'headDim', says: ['rotaryDim', '63'] }],
  ['4 headDim 64.5', rope(64.5), { code: 'NOT_INTEGER', field: 'headDim', says: ['64.5'] }],
  ['5 headDim "64"', rope('64'), { code: 'WRONG_TYPE', field: 'headDim', says: ['(string)'] }],
  ['6 headDim 64n', rope(64n), { code: 'WRONG_TYPE', says: ['bigint', 'Number()'] }],
  ...[null, {}, [64], true, Symbol('64'), neverCalled, () => 64].map(
    (value): Row => [
      `7 headDim of type ${value === null ? 'null' : typeof value}`,
      rope(value),
      { code: 'WRONG_TYPE', field: 'headDim' },
    ],
  ),
  ['7 headDim missing', make('rope', {}), { code: 'MISSING_OPTION', field: 'headDim' }],
  ['7 headDim undefined', rope(undefined), { code: 'MISSING_OPTION', field: 'headDim' }],
  ...[2 ** 31, 2 ** 32 + 64, Number.MAX_SAFE_INTEGER, 2 ** 53, 1e300].map(
    (value): Row => [`8 headDim ${value}`, rope(value), { code: 'OUT_OF_RANGE', field: 'headDim' }],
  ),
  ...[0, -1, 1, 5e-324, 1e308].map(
    (base): Row => [
      `10 base ${base}`,
      make('rope', { headDim: 4, base }),
      { code: 'OUT_OF_RANGE', field: 'base', says: ['above 1'] },
    ],
  ),
  ...[0, -1, 2 ** 20, 2.5].map(
    (heads): Row => [
      `20 heads ${heads}`,
      make('alibi', { heads }),
      { code: heads === 2.5 ? 'NOT_INTEGER' : 'OUT_OF_RANGE', field: 'heads' },
    ],
  ),
  ...['roep', '__proto__', 'constructor', '', 'x'.repeat(1e6), 7, null, undefined, {}].map(
    (id): Row => [
      `21 id ${String(id).slice(0, 20)}`,
      make(id, {}),
      { code: 'UNKNOWN_ENCODING', field: 'id', says: id === 'roep' ? ["'rope'"] : ['alibi'] },
    ],
  ),
  [
    '22 a misspelt option',
    make('rope', { headDim: 4, basse: 1e4 }),
    { code: 'UNKNOWN_OPTION', field: 'basse', says: ['Did you mean base?'] },
  ],
  [
    '22 an option named __proto__',
    make('rope', JSON.parse('{"headDim":4,"__proto__":{"base":5}}')),
    { code: 'UNKNOWN_OPTION', field: '__proto__' },
  ],
  [
    '22 an unprintable option',
    make('none', { '\u0000\u001b[31m\u2028x': 1 }),
    { code: 'UNKNOWN_OPTION', says: [/^[ -~…·]*$/] },
  ],
  [
    '23 an option of another encoding',
    make('rope', { headDim: 4, maxDistance: 3 }),
    { code: 'OPTION_NOT_APPLICABLE', field: 'maxDistance', says: ['t5', 'shaw'] },
  ],
  ['options of the wrong type', make('rope', 4), { code: 'WRONG_TYPE', field: 'options' }],
  ['options null', make('rope', null), { code: 'WRONG_TYPE', field: 'options' }],
  ['options as an array', make('rope', [4]), { code: 'WRONG_TYPE', field: 'options' }],
  [
    'a choice that is none',
    make('rope', { headDim: 4, layout: 'halves' }),
    { code: 'OUT_OF_RANGE', field: 'layout', says: ["'half', 'interleaved'", '"halves"'] },
  ],
  [
    'rotaryDim beyond headDim',
    make('rope', { headDim: 4, rotaryDim: 6 }),
    { code: 'OUT_OF_RANGE', field: 'rotaryDim' },
  ],
  [
    'a list with a wrong element',
    make('alibi', { heads: 2, slopes: [1, Number.NaN] }),
    { code: 'NOT_FINITE', field: 'slopes', says: ['slopes[1]'] },
  ],
  [
    'a list of the wrong length',
    make('alibi', { heads: 2, slopes: [1, 2, 3] }),
    { code: 'SHAPE_MISMATCH', field: 'slopes', says: ['2 numbers', '3 numbers'] },
  ],
  [
    'a table of the wrong shape',
    make('t5', { heads: 2, table: randomTensor([32, 3]) }),
    { code: 'SHAPE_MISMATCH', field: 'table', says: ['[32, 2]', '[32, 3]'] },
  ],
  [
    'a table of the wrong rank',
    make('learned', { table: randomTensor([8]) }),
    { code: 'SHAPE_MISMATCH', field: 'table', says: ['[rows, E]', '[8]'] },
  ],
  ['a missing table', make('learned', {}), { code: 'MISSING_OPTION', field: 'table' }],
  [
    'an offset beyond the table',
    make('learned', { table: randomTensor([2, 2]), offset: 2 }),
    { code: 'OUT_OF_RANGE', field: 'offset' },
  ],
]);

const four = pe.encoding('rope', { headDim: 4 });
const rotate = (x: unknown) => () => four.rotate(x as TensorInput);
const q = randomTensor([2, 3, 4], 1);
const attend =
  (options: unknown, [a, b, c] = [q, q, q]) =>
  () =>
    pe.attention(a, b, c, options as AttentionOptions);

check('shapes and buffers', [
  [
    '26 no data for a shape',
    rotate({ data: new Float32Array(0), shape: [1, 4] }),
    { code: 'SHAPE_MISMATCH', field: 'x', says: ['4 numbers', '0 numbers'] },
  ],
  ...[[], [1, 1, 1, 1, 1, 1, 4], [-1, 4], [1.5, 4], [Number.NaN, 4], ['1', 4]].map(
    (shape): Row => [
      `27 shape [${shape}]`,
      rotate({ data: new Float32Array(4), shape }),
      { code: 'BAD_SHAPE', field: 'x' },
    ],
  ),
  ...[
    [65536, 65536, 2],
    [2 ** 27, 2 ** 27],
    [2 ** 53, 4],
    [0, 2 ** 31, 4],
  ].map(
    (shape): Row => [
      `28 shape [${shape}]`,
      rotate({ data: new Float32Array(4), shape }),
      { code: 'SHAPE_OVERFLOW', field: 'x', says: ['2147483647'] },
    ],
  ),
  [
    '28 an owned tensor of that size',
    () => pe.tensor([65536, 65536, 2]),
    { code: 'SHAPE_OVERFLOW', field: 'shape' },
  ],
  [
    '31 q, k, v that differ in width',
    attend({}, [q, randomTensor([2, 3, 6]), q]),
    { code: 'SHAPE_MISMATCH', field: 'k', says: ['q [2, 3, 4]', 'k [2, 3, 6]', 'v [2, 3, 4]'] },
  ],
  [
    '31 in rank',
    attend({}, [q, randomTensor([1, 2, 3, 4]), q]),
    { code: 'SHAPE_MISMATCH', says: ['k [1, 2, 3, 4]'] },
  ],
  [
    '31 of rank 2',
    attend({}, [tensor([1, 4], q.data.slice(0, 4)), q, q]),
    { code: 'SHAPE_MISMATCH', says: ['[B, H, T, D]'] },
  ],
  [
    '31 in batch',
    attend({}, [
      randomTensor([2, 1, 1, 4]),
      randomTensor([3, 1, 1, 4]),
      randomTensor([3, 1, 1, 4]),
    ]),
    { code: 'SHAPE_MISMATCH', field: 'k', says: ['B = 2'] },
  ],
  [
    '31 in length',
    attend({}, [q, q, randomTensor([2, 5, 4])]),
    { code: 'SHAPE_MISMATCH', field: 'v', says: ['S = 3'] },
  ],
  [
    '31 in heads of k and v',
    attend({}, [q, q, randomTensor([1, 3, 4])]),
    { code: 'SHAPE_MISMATCH', field: 'v', says: ['G = 2'] },
  ],
  [
    '20 heads that are no multiple',
    attend({}, [randomTensor([3, 3, 4]), q, q]),
    { code: 'HEADS_NOT_DIVISIBLE', says: ['2 of k', '3 heads'] },
  ],
  [
    '31 an encoding for another number of heads',
    attend({ encoding: pe.encoding('alibi', { heads: 3 }) }),
    { code: 'SHAPE_MISMATCH', says: ['heads'] },
  ],
  [
    '31 an encoding for another width',
    attend({ encoding: pe.encoding('rope', { headDim: 8 }) }),
    { code: 'SHAPE_MISMATCH', says: ['headDim'] },
  ],
  [
    '31 rows of another width',
    rotate(randomTensor([3, 6])),
    { code: 'SHAPE_MISMATCH', says: [/4|6/] },
  ],
  ['31 a single row', rotate(randomTensor([4])), { code: 'SHAPE_MISMATCH', field: 'x' }],
  ...(
    [
      [Float64Array.of(1, 2, 3, 4), 'WRONG_DTYPE'],
      [Int8Array.of(1, 2, 3, 4), 'WRONG_DTYPE'],
      [BigInt64Array.of(1n, 2n, 3n, 4n), 'WRONG_DTYPE'],
      [[1, 2, 3, 4], 'WRONG_DTYPE'],
      [[[1, 2, 3, 4]], 'WRONG_DTYPE'],
      [new DataView(new ArrayBuffer(16)), 'WRONG_DTYPE'],
      [new ArrayBuffer(16), 'WRONG_TYPE'],
      ['1234', 'WRONG_TYPE'],
      [null, 'WRONG_TYPE'],
      [undefined, 'WRONG_TYPE'],
      [new Proxy(Float32Array.of(1, 2, 3, 4), {}), 'WRONG_TYPE'],
    ] as const
  ).map(
    ([data, code]): Row => [
      `32 data as ${Object.prototype.toString.call(data)}`,
      rotate({ data, shape: [1, 4] }),
      { code, field: 'x', says: ['Float32Array'] },
    ],
  ),
  ...[4, 'x', null, undefined, [1, 2, 3, 4], [[1, 2, 3, 4]], Float32Array.of(1, 2, 3, 4), {}].map(
    (x): Row => [
      `32 ${Object.prototype.toString.call(x)} for a tensor`,
      rotate(x),
      { code: 'WRONG_TYPE', field: 'x', says: ['{ data: Float32Array, shape }'] },
    ],
  ),
  [
    '34 a transferred buffer',
    rotate({ data: detached(new Float32Array(4)), shape: [1, 4] }),
    { code: 'DETACHED', field: 'x', says: ['transferred'] },
  ],
  [
    '35 a buffer that a getter transfers',
    rotate({
      data: new Float32Array(4),
      get shape() {
        detached((this as { data: Float32Array<ArrayBuffer> }).data);
        return [1, 4];
      },
    }),
    { code: 'DETACHED', field: 'x' },
  ],
  [
    '37 a buffer that shrank',
    rotate({ data: shrunk(), shape: [1, 4] }),
    { code: 'DETACHED', says: ['resizable buffer shrank'] },
  ],
  ...(
    [
      ['a wrong length', { data: new Float32Array(3), shape: [2, 3, 4] }],
      ['a wrong type', { data: new Float64Array(24), shape: [2, 3, 4] }],
      ['a wrong shape', { data: new Float32Array(24), shape: [3, 2, 4] }],
      ['a detached view', { data: detached(new Float32Array(24)), shape: [2, 3, 4] }],
      ['a number', 5],
      ['null', null],
    ] as const
  ).map(
    ([name, out]): Row => [
      `41 out with ${name}`,
      () => four.rotate(q, undefined, { out: out as never }),
      { code: 'BAD_OUT', field: 'out', says: ['[2, 3, 4]'] },
    ],
  ),
  [
    '42 out that overlaps the input partly',
    () => {
      const both = new Float32Array(28);
      const x = { data: both.subarray(0, 24), shape: [2, 3, 4] };
      return four.rotate(x, undefined, { out: { data: both.subarray(4, 28), shape: x.shape } });
    },
    { code: 'OVERLAP', field: 'out' },
  ],
  [
    '42 out that is q',
    attend({ out: q }),
    { code: 'OVERLAP', field: 'out', says: ['apart from the inputs'] },
  ],
  [
    '44 bytes out of step',
    rotate({ data: new Uint8Array(new ArrayBuffer(20), 1, 16), shape: [1, 4] }),
    { code: 'MISALIGNED', says: ['offset 1', 'slice'] },
  ],
  ...(
    [
      ['a wrong shape', { data: new Uint8Array(10), shape: [2, 5] }],
      ['another number of elements', { data: new Uint8Array(8), shape: [3, 3] }],
      ['numbers in an array', { data: [1, 0, 1], shape: [3] }],
      ['floats of 64 bits', { data: new Float64Array(9), shape: [3, 3] }],
      ['NaN', { data: Float32Array.of(0, Number.NaN, 0), shape: [3] }],
      ['plus infinity', { data: Float32Array.of(0, Infinity, 0), shape: [3] }],
      ['no object', 7],
      ['null', null],
    ] as const
  ).map(
    ([name, mask]): Row => [
      `49 a mask with ${name}`,
      attend({ mask }),
      { code: 'BAD_MASK', field: 'mask' },
    ],
  ),
  [
    '50 a tensor on a GPU',
    rotate({
      dims: [1, 4],
      type: 'float32',
      location: 'gpu-buffer',
      get data() {
        throw new Error('not on the CPU');
      },
    }),
    { code: 'NOT_ON_CPU', says: ['gpu-buffer', 'getData'] },
  ],
  [
    '50 a tensor disposed of elsewhere',
    rotate({ shape: [1, 4], isDisposed: true, dataSync: () => new Float32Array(4) }),
    { code: 'NOT_ON_CPU', says: ['disposed'] },
  ],
  ...['int64', 'string', 'float16', 'bool'].map(
    (type): Row => [
      `51 a tensor of ${type}`,
      rotate({ dims: [1, 4], type, data: new Float32Array(4) }),
      { code: 'WRONG_DTYPE', says: [type, 'float32'] },
    ],
  ),
]);

check('attention options', [
  ...[0, Number.NaN, Infinity].map(
    (scale): Row => [
      `24 scale ${scale}`,
      attend({ scale }),
      { code: scale === 0 ? 'OUT_OF_RANGE' : 'NOT_FINITE', field: 'scale' },
    ],
  ),
  ...[
    'window',
    'prefix',
    'keyLengths',
    'queryLengths',
    'cuSeqlens',
    'softcap',
    'sinks',
    'append',
  ].map(
    (name): Row => [
      `${name}, which is not there yet`,
      attend({ [name]: { left: 2 } }),
      { code: 'UNSUPPORTED', field: name, says: [name] },
    ],
  ),
  ['a misspelt option', attend({ casual: true }), { code: 'UNKNOWN_OPTION', says: ['causal?'] }],
  ['causal 1', attend({ causal: 1 }), { code: 'WRONG_TYPE', field: 'causal' }],
  ['layout BHND', attend({ layout: 'BHND' }), { code: 'OUT_OF_RANGE', field: 'layout' }],
  ['queryOffset 0.5', attend({ queryOffset: 0.5 }), { code: 'NOT_INTEGER', field: 'queryOffset' }],
  [
    'queryOffset 2^32',
    attend({ queryOffset: 2 ** 32 }),
    { code: 'OUT_OF_RANGE', field: 'queryOffset' },
  ],
  ['encoding by name', attend({ encoding: 'rope' }), { code: 'WRONG_TYPE', field: 'encoding' }],
  [
    'a list with something else',
    attend({ encoding: [four, {}] }),
    { code: 'WRONG_TYPE', field: 'encoding', says: ['encoding[1]'] },
  ],
  ['options as a number', attend(3), { code: 'WRONG_TYPE', field: 'options' }],
]);

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
    expect(error.name).toBe('PosencError');
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

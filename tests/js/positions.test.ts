// SPDX-License-Identifier: Apache-2.0
/** Positions in every accepted form and at every size; what is defined nowhere is an error. */

import type { Positions } from 'posenc';
import { describe, it } from 'vitest';
import { detached } from './support/buffers.ts';
import { expectRefusal } from './support/failure.ts';
import { pe } from './support/instance.ts';
import { expectClose, expectSame, randomTensor, tensor } from './support/numbers.ts';

const rope = pe.encoding('rope', { headDim: 4 });
const t5 = pe.encoding('t5', { heads: 2, table: randomTensor([32, 2]) });
const learned = pe.encoding('learned', { table: randomTensor([16, 4]) });
const x = randomTensor([3, 4]);

describe('forms of positions', () => {
  it('agree', () => {
    const want = rope.rotate(x, [5, 6, 7]).data;
    const forms: Positions[] = [
      Int32Array.of(5, 6, 7),
      Float64Array.of(5, 6, 7),
      BigInt64Array.of(5n, 6n, 7n),
      { start: 5 },
      { data: [5, 6, 7], shape: [3] },
      { data: BigInt64Array.of(5n, 6n, 7n), dims: [1, 3] },
      [[5, 6, 7]],
    ];
    for (const form of forms) expectSame(rope.rotate(x, form).data, want);
    expectSame(rope.rotate(x, { start: 0 }).data, rope.rotate(x).data);
  });

  it('may repeat, run backwards, be negative and be fractions', () => {
    const one = (p: number) => Array.from(rope.rotate(tensor([1, 4], [1, 0, 0, 0]), [p]).data);
    for (const p of [0, -1, -7, 0.25, 1.75, 1e6, -1e6]) {
      const [a, , c] = one(p);
      expectClose([a, c], [Math.cos(p), Math.sin(p)], { rtol: 0, atol: 1e-6 });
    }
    const rows = tensor([3, 4], [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4]);
    const { data } = rope.rotate(rows, [9, 2, 9]);
    expectSame(data.slice(0, 4), data.slice(8));
  });

  it('treats -0 as 0', () => {
    expectSame(rope.rotate(x, [-0, -0, -0]).data, x.data);
    expectSame(learned.table([-0]).data, learned.table([0]).data);
  });

  it('reach to 2^53 with the right angle', () => {
    const row = tensor([1, 4], [1, 0, 0, 0]);
    // cos and sin of 2^53 from a calculation with 200 bits.
    const [a, , c] = rope.rotate(row, [2 ** 53]).data;
    expectClose([a, c], [-0.528511784413, -0.848925964655], { rtol: 0, atol: 2e-6 });
    const [p] = rope.rotate(row, [2 ** 31]).data;
    expectClose([p], [Math.cos(2 ** 31)], { rtol: 0, atol: 1e-6 });
    rope.rotate(row, [-(2 ** 53)]);
    // Beyond 2^20, from where on libm takes the angle modulo pi/2, in float64 and where angles are float32.
    const single = pe.encoding('rope', { headDim: 4, precision: 'hf-f32' });
    for (const p of [2 ** 21 + 1, -(2 ** 29), 2 ** 33 + 2 ** 10, 3 * 2 ** 45, 2 ** 52 + 2 ** 30])
      for (const each of [rope, single]) {
        const [x, , y] = each.rotate(row, [p]).data;
        expectClose([x, y], [Math.cos(p), Math.sin(p)], { rtol: 0, atol: 1e-6 });
      }
    single.dispose();
  });
});

describe('positions that are refused', () => {
  const refused: [string, unknown, Parameters<typeof expectRefusal>[1]][] = [
    ['NaN', [0, Number.NaN, 2], { code: 'NOT_FINITE', says: ['positions[1]'] }],
    ['Infinity', Float64Array.of(0, 1, Infinity), { code: 'NOT_FINITE', says: ['positions[2]'] }],
    ['past 2^53', [0, 1, 2 ** 53 + 2], { code: 'OUT_OF_RANGE', says: ['positions[2]', '2^53'] }],
    ['1e300', [1e300, 1, 2], { code: 'OUT_OF_RANGE', says: ['1e+300'] }],
    [
      'a huge BigInt',
      BigInt64Array.of(0n, 2n ** 60n, 0n),
      { code: 'OUT_OF_RANGE', says: ['positions[1]', '1152921504606846976'] },
    ],
    [
      'a start whose end is too far',
      { start: 2 ** 53 },
      { code: 'OUT_OF_RANGE', says: ['positions[1]', '9007199254740993'] },
    ],
    // The last sum is 2^53 + 1, which a double rounds to 2^53.
    [
      'a start one too far',
      { start: 2 ** 53 - 1 },
      { code: 'OUT_OF_RANGE', says: ['positions[2]', '9007199254740993'] },
    ],
    ['a start before -2^53', { start: -(2 ** 53) - 2 }, { code: 'OUT_OF_RANGE' }],
    ['a start that is no number', { start: '0' }, { code: 'WRONG_TYPE' }],
    ['too few', [0, 1], { code: 'SHAPE_MISMATCH', says: ['3', '2 positions'] }],
    ['too many', [0, 1, 2, 3], { code: 'SHAPE_MISMATCH', says: ['4 positions'] }],
    ['holes', new Array(3), { code: 'WRONG_TYPE', says: ['positions[0]', 'undefined'] }],
    ['strings', ['0', '1', '2'], { code: 'WRONG_TYPE', says: ['positions[0]', 'string'] }],
    ['BigInts in an array', [0n, 1n, 2n], { code: 'WRONG_TYPE', says: ['BigInt64Array'] }],
    ['a number', 3, { code: 'WRONG_TYPE' }],
    ['null', null, { code: 'WRONG_TYPE' }],
    ['clamped bytes', Uint8ClampedArray.of(0, 1, 2), { code: 'WRONG_TYPE', says: ['Int32Array'] }],
    ['a DataView', new DataView(new ArrayBuffer(24)), { code: 'WRONG_TYPE' }],
    ['something like an array', { length: 3, 0: 0, 1: 1, 2: 2 }, { code: 'WRONG_TYPE' }],
    [
      'two axes',
      [
        [0, 1, 2],
        [0, 1, 2],
      ],
      { code: 'WRONG_TYPE' },
    ],
    [
      'a batch that is not there',
      { data: [0, 1, 2, 3, 4, 5], shape: [2, 3] },
      { code: 'SHAPE_MISMATCH' },
    ],
  ];
  for (const [name, positions, refusal] of refused)
    it(name, () => {
      expectRefusal(() => rope.rotate(x, positions as Positions), refusal);
    });

  it('fractions where only whole numbers are defined', () => {
    const refusal = { code: 'NOT_INTEGER', says: ['[1]', '3.5'] } as const;
    expectRefusal(() => t5.bias([0, 3.5], [0]), refusal);
    expectRefusal(() => learned.table([0, 3.5]), refusal);
  });

  it('rows outside a table', () => {
    for (const outside of [-1, 16, 2 ** 31, -(2 ** 53)])
      expectRefusal(() => learned.table([0, outside]), {
        code: 'POSITION_OUT_OF_TABLE',
        says: ['positions[1]', '15'],
      });
    const clamped = pe.encoding('learned', { table: randomTensor([16, 4]), pastEnd: 'clamp' });
    expectSame(clamped.table([99]).data, clamped.table([15]).data);
    expectRefusal(() => clamped.table([-1]), { code: 'POSITION_OUT_OF_TABLE' });
  });

  it('a start where how many is not known', () => {
    expectRefusal(() => learned.table({ start: 0 }), { code: 'WRONG_TYPE', field: 'positions' });
  });

  it('a transferred buffer', () => {
    const gone = detached(Float64Array.of(0, 1, 2));
    expectRefusal(() => rope.rotate(x, gone), { code: 'DETACHED', field: 'positions' });
  });
});

describe('positions in attention', () => {
  const [q, k, v] = [1, 2, 3].map((seed) => randomTensor([2, 4, 4], seed));
  it('default to places', () => {
    const given = { queryPositions: [0, 1, 2, 3], keyPositions: { start: 0 } };
    const a = pe.attention(q, k, v, { encoding: rope, causal: true });
    expectSame(
      pe.attention(q, k, v, { encoding: rope, causal: true, ...given }).output.data,
      a.output.data,
    );
  });
  it('can differ for each batch entry', () => {
    const four = [1, 2, 3].map((seed) => randomTensor([2, 2, 3, 4], seed));
    const positions = { data: [0, 1, 2, 7, 9, 4], shape: [2, 3] };
    const both = pe.attention(four[0], four[1], four[2], {
      encoding: rope,
      queryPositions: positions,
      keyPositions: positions,
    });
    const entry = (b: number) =>
      four.map((t) => tensor([2, 3, 4], t.data.slice(b * 24, (b + 1) * 24)));
    for (const [b, own] of [
      [0, [0, 1, 2]],
      [1, [7, 9, 4]],
    ] as const) {
      const [qb, kb, vb] = entry(b);
      const one = pe.attention(qb, kb, vb, {
        encoding: rope,
        queryPositions: own,
        keyPositions: own,
      });
      expectSame(both.output.data.slice(b * 24, (b + 1) * 24), one.output.data);
    }
  });
  it('name the argument that is wrong', () => {
    const refusal = { code: 'SHAPE_MISMATCH', field: 'keyPositions' } as const;
    expectRefusal(() => pe.attention(q, k, v, { encoding: rope, keyPositions: [1] }), refusal);
    const fractions = { encoding: t5, queryPositions: [0, 1, 2, 2.5] };
    expectRefusal(() => pe.attention(q, k, v, fractions), {
      code: 'NOT_INTEGER',
      field: 'queryPositions',
    });
  });
});

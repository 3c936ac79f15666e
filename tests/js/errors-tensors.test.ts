// SPDX-License-Identifier: Apache-2.0
/** Bad input: shapes, buffers, masks and where results go. */

import { detached, shrunk } from './support/buffers.ts';
import { pe } from './support/instance.ts';
import { randomTensor, tensor } from './support/numbers.ts';
import { attend, check, four, q, type Row, rotate } from './support/refused-calls.ts';

/** One query of width 4, and four keys. */
const row = randomTensor([1, 1, 4]);
const rows = randomTensor([1, 4, 4]);

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
      [BigInt64Array.of(1n, 2n, 3n, 4n), 'WRONG_DTYPE'],
      [BigUint64Array.of(1n, 2n, 3n, 4n), 'WRONG_DTYPE'],
      [new Uint8Array(16), 'WRONG_DTYPE'],
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
  ...[
    ['nested', [[1, 2, 3, 4]]],
    ['of text', ['1', '2', '3', '4']],
    ['of BigInts', [1n, 2n, 3n, 4n]],
    ['with holes', new Array(4)],
  ].flatMap(([name, data]): Row[] => [
    [`32 arrays ${name}`, rotate({ data, shape: [1, 4] }), { code: 'WRONG_TYPE', field: 'x' }],
    [`32 arrays ${name}, dims`, rotate({ data, dims: [1, 4] }), { code: 'WRONG_TYPE', field: 'x' }],
  ]),
  [
    '33 halves as their bits',
    rotate({ data: new Uint16Array(4), dims: [1, 4], type: 'float16' }),
    { code: 'WRONG_DTYPE', field: 'x', says: ['float16'] },
  ],
  [
    '51 truth values as bytes',
    rotate({ data: new Uint8Array(4), dims: [1, 4], type: 'bool' }),
    { code: 'WRONG_DTYPE', field: 'x', says: ['bool'] },
  ],
  [
    '34 transferred integers',
    rotate({ data: detached(new Int32Array(4)), shape: [1, 4] }),
    { code: 'DETACHED', field: 'x' },
  ],
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
    '34 a transferred buffer for an owned tensor',
    () => pe.tensor([4], detached(new Float32Array(4))),
    { code: 'DETACHED', field: 'data' },
  ],
  [
    '34 a transferred buffer of slopes',
    () => pe.encoding('alibi', { heads: 4, slopes: detached(new Float64Array(4)) }),
    { code: 'DETACHED', field: 'slopes' },
  ],
  [
    '34 a transferred mask',
    attend({ mask: { data: detached(new Uint8Array(3)), shape: [3] } }),
    { code: 'DETACHED', field: 'mask' },
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
    '42 out that is the mask, which weights read once more',
    () => {
      const mask = pe.tensor([1, 1, 4], [0, 0, -Infinity, 0]);
      try {
        return pe.attention(row, rows, rows, { mask, out: mask, weights: true });
      } finally {
        mask.dispose();
      }
    },
    { code: 'OVERLAP', field: 'out' },
  ],
  [
    '42 out that is the weight of a norm',
    () => {
      const weight = pe.tensor([4], [1, 1, 1, 1]);
      const out = { data: weight.data, shape: [1, 1, 4] };
      try {
        return pe.attention(row, rows, rows, { qNorm: { weight }, out });
      } finally {
        weight.dispose();
      }
    },
    { code: 'OVERLAP', field: 'out' },
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

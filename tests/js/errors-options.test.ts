// SPDX-License-Identifier: Apache-2.0
/** Bad input: options and scalars. */

import { randomTensor } from './support/numbers.ts';
import {
  attend,
  check,
  four,
  make,
  neverCalled,
  q,
  type Row,
  rope,
} from './support/refused-calls.ts';

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
      { code: 'UNKNOWN_ENCODING', field: 'id', says: id === 'roep' ? ["'rope'"] : ['sinusoidal'] },
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

check('attention options', [
  ...[0, Number.NaN, Infinity].map(
    (scale): Row => [
      `24 scale ${scale}`,
      attend({ scale }),
      { code: scale === 0 ? 'OUT_OF_RANGE' : 'NOT_FINITE', field: 'scale' },
    ],
  ),
  [
    'append, which needs a cache',
    attend({ append: { k: q, v: q } }),
    { code: 'OPTION_NOT_APPLICABLE', field: 'append', says: ['append'] },
  ],
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

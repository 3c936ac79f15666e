// SPDX-License-Identifier: Apache-2.0
/** Options of attention that make no sense, alone or together, and what is said of each. */

import { fromTotal, type TensorInput } from 'posenc';
import { pe } from './support/instance.ts';
import { randomTensor, tensor } from './support/numbers.ts';
import { attend, check, four, type Row } from './support/refused-calls.ts';

// q of refused-calls: two heads of three tokens, no batch.
const row = (
  name: string,
  options: object,
  code: string,
  field: string,
  ...says: (string | RegExp)[]
): Row => [name, attend(options), { code, field, says } as Row[2]];

const batch = randomTensor([2, 2, 3, 4], 1);
check('null, which is not left out', [
  ...(
    [
      ['layout'],
      ['causal'],
      ['queryOffset'],
      ['prefix'],
      ['scale'],
      ['softcap'],
      ['weights'],
      ['logSumExp'],
      ['encoding'],
      ['sinks'],
      ['keyLengths'],
      ['queryLengths'],
      ['cuSeqlens'],
      ['queryPositions'],
      ['keyPositions'],
      ['window'],
      ['window', { left: null }],
      ['window', { first: null }],
      ['queryScale'],
      ['queryScale', { kind: 'llama4', length: null }],
      ['queryScale', { kind: 'llama4', factor: null }],
      ['qNorm'],
      ['qNorm', { kind: null }],
      ['qNorm', { place: null }],
      ['kNorm', { epsilon: null }],
      ['kNorm', { weight: null }],
    ] as const
  ).map(([field, given = null]): Row => {
    const inner = given === null ? '' : `.${Object.keys(given).at(-1)}`;
    return [
      `as ${field}${inner}`,
      attend({ [field]: given }),
      { code: 'WRONG_TYPE', field: `${field}${inner}`, says: ['null'] },
    ];
  }),
  ['as mask', attend({ mask: null }), { code: 'BAD_MASK', field: 'mask', says: ['null'] }],
  ['as out', attend({ out: null }), { code: 'BAD_OUT', field: 'out', says: ['null'] }],
  ...['role', 'length', 'inverse'].map(
    (field): Row => [
      `as ${field} of rotate`,
      () => four.rotate(batch, undefined, { [field]: null }),
      { code: 'WRONG_TYPE', field, says: ['null'] },
    ],
  ),
  [
    'as layout of merge',
    () => pe.merge([], { layout: null } as never),
    { code: 'WRONG_TYPE', field: 'layout' },
  ],
]);

check('rules', [
  row('a window that is a number', { window: 3 }, 'WRONG_TYPE', 'window'),
  row('a window of negative width', { window: { left: -1 } }, 'OUT_OF_RANGE', 'window.left'),
  row('half a key', { window: { right: 1.5 } }, 'NOT_INTEGER', 'window.right'),
  row('a misspelt side', { window: { lefft: 1 } }, 'UNKNOWN_OPTION', 'window.lefft'),
  row('half a chunk', { chunk: 1.5 }, 'NOT_INTEGER', 'chunk'),
  row('first keys as text', { window: { first: '1' } }, 'WRONG_TYPE', 'window.first'),
  row('a negative prefix', { prefix: -1 }, 'OUT_OF_RANGE', 'prefix'),
  row('prefixes of two in a batch of one', { prefix: [1, 2] }, 'SHAPE_MISMATCH', 'prefix'),
  row('offsets of two in a batch of one', { queryOffset: [1, 2] }, 'SHAPE_MISMATCH', 'queryOffset'),
  row('a length beyond the keys', { keyLengths: [4] }, 'OUT_OF_RANGE', 'keyLengths', '3'),
  row('a length beyond the queries', { queryLengths: [4] }, 'OUT_OF_RANGE', 'queryLengths', '3'),
  row('lengths of two in a batch of one', { keyLengths: [1, 2] }, 'SHAPE_MISMATCH', 'keyLengths'),
  row('a length that is a number', { keyLengths: 3 }, 'WRONG_TYPE', 'keyLengths'),
  row('no borders', { cuSeqlens: {} }, 'WRONG_TYPE', 'cuSeqlens.q'),
  row('borders that fall', { cuSeqlens: { q: [0, 2, 1, 3] } }, 'OUT_OF_RANGE', 'cuSeqlens.q'),
  row('borders that end early', { cuSeqlens: { q: [0, 2] } }, 'SHAPE_MISMATCH', 'cuSeqlens.q'),
  row('borders that begin late', { cuSeqlens: { q: [1, 3] } }, 'OUT_OF_RANGE', 'cuSeqlens.q'),
  row(
    'more sequences of keys than of queries',
    { cuSeqlens: { q: [0, 3], k: [0, 1, 3] } },
    'SHAPE_MISMATCH',
    'cuSeqlens.k',
  ),
  row(
    'lengths of padding where there is none',
    { cuSeqlens: { q: [0, 3] }, keyLengths: [3] },
    'OPTION_NOT_APPLICABLE',
    'keyLengths',
    'cuSeqlens',
  ),
  row(
    'a prefix for each of three sequences where there are two',
    { cuSeqlens: { q: [0, 1, 3] }, prefix: [1, 1, 1] },
    'SHAPE_MISMATCH',
    'prefix',
    'sequence',
  ),
  [
    'packed sequences in a batch',
    attend({ cuSeqlens: { q: [0, 3] } }, [batch, batch, batch]),
    { code: 'SHAPE_MISMATCH', field: 'cuSeqlens', says: ['B = 1'] },
  ],
  [
    'a mask of rank 5',
    attend({ mask: { data: new Uint8Array(3), shape: [1, 1, 1, 1, 3] } }),
    { code: 'BAD_MASK', field: 'mask', says: ['[1, 2, 3, 3]'] },
  ],
  ['a window of no key', () => fromTotal(0), { code: 'OUT_OF_RANGE', field: 'total', says: ['1'] }],
]);

check('scores', [
  row('a negative cap', { softcap: -1 }, 'OUT_OF_RANGE', 'softcap'),
  row('a cap that float32 does not hold', { softcap: 1e-50 }, 'OUT_OF_RANGE', 'softcap'),
  row('a sink for one head of two', { sinks: [1] }, 'SHAPE_MISMATCH', 'sinks', '2'),
  row('a sink that takes everything', { sinks: [0, Infinity] }, 'NOT_FINITE', 'sinks'),
  row('a scale of 0', { scale: 0 }, 'OUT_OF_RANGE', 'scale'),
  row('an unknown temperature', { queryScale: { kind: 'log' } }, 'OUT_OF_RANGE', 'queryScale.kind'),
  row('log-n of no length', { queryScale: { kind: 'logn' } }, 'WRONG_TYPE', 'queryScale.length'),
  row(
    'log-n of length 1',
    { queryScale: { kind: 'logn', length: 1 } },
    'OUT_OF_RANGE',
    'queryScale.length',
  ),
  row(
    'log-n with a factor',
    { queryScale: { kind: 'logn', length: 9, factor: 1 } },
    'UNKNOWN_OPTION',
    'queryScale.factor',
  ),
  row('an unknown norm', { qNorm: { kind: 'layer' } }, 'OUT_OF_RANGE', 'qNorm.kind'),
  row('a norm somewhere', { kNorm: { place: 'between' } }, 'OUT_OF_RANGE', 'kNorm.place'),
  row('a negative epsilon', { qNorm: { epsilon: -1 } }, 'OUT_OF_RANGE', 'qNorm.epsilon'),
  row('a weight too short', { qNorm: { weight: [1, 1] } }, 'SHAPE_MISMATCH', 'qNorm.weight', '4'),
  row(
    'a weight for other heads',
    { kNorm: { weight: tensor([3, 4], new Array(12).fill(1)) } },
    'SHAPE_MISMATCH',
    'kNorm.weight',
    '[2, 4]',
  ),
]);

const cope = pe.encoding('cope', { headDim: 4, table: randomTensor([4, 3], 1) });
check('encodings together', [
  [
    'positions of one axis beside rows and columns',
    attend({
      encoding: [
        pe.encoding('rope-2d', { headDim: 4, variant: 'qwen-vl' }),
        pe.encoding('alibi', { heads: 2 }),
      ],
      queryPositions: [
        [0, 1, 2],
        [0, 1, 2],
      ],
      keyPositions: [
        [0, 1, 2],
        [0, 1, 2],
      ],
    }),
    { code: 'SHAPE_MISMATCH', field: 'encoding', says: ['axes'] },
  ],
  [
    'two that sum over keys',
    attend({ encoding: [cope, cope] }),
    { code: 'UNSUPPORTED', field: 'encoding', says: ['sums over keys'] },
  ],
]);

const part = { output: randomTensor([2, 3, 4], 1), logSumExp: randomTensor([2, 3], 2) };
const merging = (results: unknown, options?: object) => () =>
  pe.merge(results as readonly { output: TensorInput }[], options);
check('merge', [
  ['no list', merging(part), { code: 'WRONG_TYPE', field: 'results', says: ['list'] }],
  ['nothing', merging([]), { code: 'BAD_SHAPE', field: 'results', says: ['at least one'] }],
  [
    'a part without its sum',
    merging([part, { output: part.output }]),
    { code: 'MISSING_OPTION', field: 'results', says: ['logSumExp: true'] },
  ],
  [
    'parts of two shapes',
    merging([part, { ...part, output: randomTensor([2, 3, 5], 1) }]),
    { code: 'SHAPE_MISMATCH', field: 'results', says: ['[2, 3, 4]'] },
  ],
  [
    'sums of another layout',
    merging([part], { layout: 'bnhd' }),
    { code: 'SHAPE_MISMATCH', field: 'results', says: ['[3, 2]'] },
  ],
  [
    'a matrix',
    merging([{ ...part, output: randomTensor([2, 3], 1) }]),
    { code: 'SHAPE_MISMATCH', says: ['D'] },
  ],
  [
    'a misspelt option',
    merging([part], { layuot: 'bhnd' }),
    { code: 'UNKNOWN_OPTION', says: ['layout'] },
  ],
  [
    'sinks of other heads',
    merging([part], { sinks: [1] }),
    { code: 'SHAPE_MISMATCH', field: 'sinks', says: ['2'] },
  ],
]);

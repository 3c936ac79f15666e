// SPDX-License-Identifier: Apache-2.0
/** Whatever is passed, the answer is a right one or an error of the library. */

import fc from 'fast-check';
import {
  type AttentionOptions,
  encodings,
  PosencError,
  type Positions,
  type TensorInput,
} from 'posenc';
import { describe, expect, it } from 'vitest';
import { anyEncoding, expectGoldenAnswer, pe } from './support/instance.ts';
import { randomTensor } from './support/numbers.ts';
import { runs } from './support/runs.ts';

/** Anything, typed arrays, shapes and option objects more often than chance would have it. */
const garbage: fc.Arbitrary<unknown> = fc.oneof(
  fc.anything({
    withBigInt: true,
    withTypedArray: true,
    withSparseArray: true,
    withNullPrototype: true,
  }),
  fc.record({ data: fc.anything({ withTypedArray: true }), shape: fc.anything() }),
  fc.record({
    data: fc.float32Array({ maxLength: 12 }),
    shape: fc.array(fc.integer({ min: -1, max: 4 })),
  }),
  fc.record({ data: fc.float32Array({ maxLength: 12 }), dims: fc.array(fc.nat(3)) }),
  fc.record({ start: fc.anything() }),
);

const optionNames = [
  ...new Set(encodings.flatMap((e) => [...e.fields, ...e.tables].map((f) => f.name))),
];
const options = fc.dictionary(fc.oneof(fc.constantFrom(...optionNames), fc.string()), garbage, {
  maxKeys: 6,
});
const attentionNames = [
  'encoding',
  'layout',
  'scale',
  'causal',
  'queryOffset',
  'queryPositions',
  'keyPositions',
  'mask',
  'weights',
  'logSumExp',
  'out',
  'window',
  'prefix',
  'keyLengths',
  'queryLengths',
  'cuSeqlens',
  'softcap',
  'sinks',
  'queryScale',
  'qNorm',
  'kNorm',
];
const attentionOptions = fc.dictionary(fc.constantFrom(...attentionNames), garbage, { maxKeys: 4 });

/** Whether the call succeeded; the only way it may fail is an error of the library. */
function survives(call: () => unknown): boolean {
  const { live, liveBytes } = pe.info.memory();
  try {
    call();
    return true;
  } catch (error) {
    if (!PosencError.is(error)) throw error;
    expect(error.kind).not.toBe('internal');
    expect(pe.info.memory()).toMatchObject({ live, liveBytes });
    return false;
  }
}

describe('garbage', () => {
  const rope = anyEncoding(pe, 'rope', { headDim: 4 });
  const t5 = anyEncoding(pe, 't5', { heads: 2, table: randomTensor([32, 2]) });
  const learned = anyEncoding(pe, 'learned', { table: randomTensor([8, 4]) });
  const x = randomTensor([2, 3, 4]);

  const check = (name: string, property: fc.IRawProperty<unknown>) =>
    it(name, () => {
      fc.assert(property, runs(1500));
      expectGoldenAnswer(pe);
    });

  check(
    'as options of an encoding',
    fc.property(
      fc.oneof(fc.constantFrom(...encodings.map((e) => e.id)), garbage),
      options,
      (id, given) => {
        survives(() => anyEncoding(pe, id as string, given).dispose());
      },
    ),
  );
  check(
    'as tensors',
    fc.property(garbage, garbage, garbage, (a, b, c) => {
      survives(() => rope.rotate(a as TensorInput));
      survives(() => pe.attention(a as TensorInput, b as TensorInput, c as TensorInput));
      survives(() => pe.attention(x, x, a as TensorInput));
      survives(() => pe.tensor(a as number[], b as number[]).dispose());
    }),
  );
  check(
    'as positions',
    fc.property(garbage, garbage, (a, b) => {
      survives(() => rope.rotate(x, a as Positions));
      survives(() => t5.bias(a as Positions, b as Positions));
      survives(() => learned.table(a as Positions));
      survives(() => rope.plan(a as number));
    }),
  );
  check(
    'as options of a call',
    fc.property(attentionOptions, garbage, (given, other) => {
      survives(() => pe.attention(x, x, x, given as AttentionOptions));
      survives(() => pe.attention(x, x, x, other as AttentionOptions));
      survives(() => rope.rotate(x, undefined, other as object));
    }),
  );
});

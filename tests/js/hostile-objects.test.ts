// SPDX-License-Identifier: Apache-2.0
/** Objects that break in the hands of whoever reads them. */

import {
  explain,
  frequenciesOf,
  fromConfig,
  fromGGUF,
  learnedTable,
  load,
  mropePositions,
  PosencError,
  type Positions,
  readGGUFHeader,
  readSafetensors,
  type Tensor,
} from 'posenc';
import { describe, expect, it } from 'vitest';
import { caught, expectRefusal } from './support/failure.ts';
import { anyEncoding, expectGoldenAnswer, pe } from './support/instance.ts';
import { randomTensor } from './support/numbers.ts';
import { attend, check, four, q, rope, rotate } from './support/refused-calls.ts';

function revoked<T extends object>(target: T = {} as T): T {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}
const wrong = { code: 'WRONG_TYPE', says: ['revoked proxy'] } as const;
const mrope = anyEncoding(pe, 'mrope', { headDim: 8, sections: [2, 1, 1] });
const at = (positions: unknown) => () => four.rotate(q, positions as Positions);

check('a revoked proxy is refused by name', [
  ['as id', () => anyEncoding(pe, revoked() as never), { code: 'UNKNOWN_ENCODING' }],
  ['as options', () => anyEncoding(pe, 'rope', revoked()), wrong],
  ['as an option', rope(revoked()), wrong],
  ['as a list', () => anyEncoding(pe, 'mrope', { headDim: 8, sections: revoked([]) }), wrong],
  ['as a table', () => anyEncoding(pe, 'learned', { table: revoked() }), wrong],
  ['as a tensor', rotate(revoked()), wrong],
  ['as an array', rotate(revoked([])), wrong],
  ['as data', rotate({ data: revoked(), shape: [1, 4] }), wrong],
  ['as converted data', rotate({ data: revoked([]), dims: [1, 4] }), wrong],
  ['as a shape', rotate({ data: q.data, shape: revoked([]) }), wrong],
  ['as positions', at(revoked()), wrong],
  ['as a list of positions', at(revoked([])), wrong],
  ['as the data of positions', at({ data: revoked([]), shape: [3] }), wrong],
  ['as an axis', () => mrope.rotate(randomTensor([1, 8]), [[0], revoked([]), [0]]), wrong],
  ['as axes', () => mrope.rotate(randomTensor([1, 8]), revoked([]) as never), wrong],
  ['as options of a call', () => four.rotate(q, undefined, revoked()), wrong],
  ['as options of attention', attend(revoked()), wrong],
  ['as an encoding', attend({ encoding: revoked() }), wrong],
  ['as encodings', attend({ encoding: revoked([]) }), wrong],
  ['as a mask', attend({ mask: revoked() }), wrong],
  [
    'as the shape of a mask',
    attend({ mask: { data: new Uint8Array(9), shape: revoked([]) } }),
    wrong,
  ],
  ['as out', attend({ out: revoked() }), wrong],
  [
    'as the shape of out',
    attend({ out: { data: q.data, shape: revoked([]) } }),
    { code: 'BAD_OUT' },
  ],
  ['as a shape to make', () => pe.tensor(revoked([])), wrong],
  ['as data to copy', () => pe.tensor([1], revoked([])), wrong],
  ['as token ids', () => mropePositions(revoked([])), wrong],
  ['as token ids in a tensor', () => mropePositions(revoked() as never), wrong],
  ['as a grid', () => mropePositions([1], { imageGrids: revoked([]) }), wrong],
  ['as bytes', () => readSafetensors(revoked() as never), wrong],
  ['as bytes of another file', () => readGGUFHeader(revoked() as never), wrong],
  ['as a view of a file', () => learnedTable(revoked() as never), wrong],
  ['as a model', () => explain(revoked() as never), wrong],
  ['as an encoding to plan', () => frequenciesOf(revoked() as never), wrong],
] as never);

describe('a revoked proxy', () => {
  it('is refused as a configuration', () => {
    for (const call of [
      () => fromConfig(revoked()),
      () => fromConfig({}, revoked()),
      () => fromGGUF(revoked()),
      () => fromGGUF({ 'general.architecture': 'llama' }, revoked({})),
    ])
      expect(caught(call).kind).toBe('config');
  });

  it('is refused by load', async () => {
    for (const [field, value] of [
      ['options', revoked()],
      ['url', revoked()],
      ['bytes', revoked()],
      ['module', revoked()],
    ] as const) {
      const options = field === 'options' ? value : { [field]: value };
      await expect(load(options), field).rejects.toMatchObject({ code: 'WRONG_TYPE', field });
    }
  });

  it('is no error of the library', () => {
    expect(PosencError.is(revoked())).toBe(false);
    expect(PosencError.is({})).toBe(false);
  });

  it('revoked while it is read is refused, and what a getter throws passes through', () => {
    const { proxy, revoke } = Proxy.revocable({ data: q.data, shape: q.shape } as Tensor, {
      get(target, name) {
        if (name === 'shape') revoke();
        return Reflect.get(target, name);
      },
    });
    expectRefusal(() => four.rotate(proxy), { code: 'WRONG_TYPE', field: 'x' });
    const mine = new Error('mine');
    const throws = {
      get data(): never {
        throw mine;
      },
      shape: [1, 4],
    };
    expect(() => four.rotate(throws)).toThrow(mine);
  });
});

describe('an instance disposed of by a getter', () => {
  const cases: Record<string, (it: typeof pe, trap: <T>(value: T) => T) => unknown> = {
    'of attention': (it, trap) =>
      it.attention(q, q, q, {
        get causal() {
          return trap(true);
        },
      }),
    'of a tensor': (it, trap) =>
      it.attention(q, q, {
        data: q.data,
        get shape() {
          return trap(q.shape);
        },
      }),
    'of out': (it, trap) =>
      it.attention(q, q, q, {
        out: {
          shape: q.shape,
          get data() {
            return trap(new Float32Array(24));
          },
        },
      }),
    'of a rotation': (it, trap) =>
      it.encoding('rope', { headDim: 4 }).rotate(q, undefined, {
        get length() {
          return trap(9);
        },
      }),
    'of an encoding': (it, trap) =>
      it.encoding('rope', {
        get headDim() {
          return trap(4);
        },
      }),
    'of a table': (it, trap) =>
      it.encoding('learned', {
        table: {
          data: q.data,
          get shape() {
            return trap([6, 4]);
          },
        },
      }),
    'of a new tensor': (it, trap) => it.tensor(trap([1])),
  };
  for (const [name, call] of Object.entries(cases))
    it(name, async () => {
      const other = await load({ fresh: true });
      const trap = <T>(value: T) => {
        other.dispose();
        return value;
      };
      expect(caught(() => call(other, trap))).toMatchObject({ code: 'DISPOSED', field: 'pe' });
      expectGoldenAnswer(pe);
    });
});

describe('options that mean nothing', () => {
  it('of positions are refused', () => {
    for (const one of [four, mrope])
      expectRefusal(() => one.rotate(randomTensor([1, 4]), { start: 3, foo: 1 } as never), {
        code: 'UNKNOWN_OPTION',
        field: 'foo',
      });
  });

  it('of a reader are refused', () => {
    const file = new Uint8Array(10);
    const given = { maxHeadersBytes: 9 } as never;
    expect(caught(() => readSafetensors(file, given))).toMatchObject({
      code: 'UNKNOWN_OPTION',
      field: 'maxHeadersBytes',
    });
  });

  it('of frequencies and explanations are refused', () => {
    const options = { headDim: 1e12 };
    expect(caught(() => frequenciesOf({ id: 'rope', options })).code).toBe('OUT_OF_RANGE');
    const model = fromConfig({ model_type: 'llama', hidden_size: 64, num_attention_heads: 4 });
    expect(caught(() => explain(model, { lenght: 9 } as never)).code).toBe('UNKNOWN_OPTION');
    expect(explain(model, { length: 9 }).length).toBe(9);
  });
});

describe('errors of load', () => {
  it('say which option was at fault', async () => {
    const bytes = new Uint8Array(8);
    for (const [options, field] of [
      [{ bytes }, 'bytes'],
      [{ url: 'http://[' }, 'url'],
      [{ url: 'posenc:nowhere' }, 'url'],
    ] as const)
      await expect(load({ ...options, fresh: true })).rejects.toMatchObject({
        kind: 'init',
        field,
      });
    await load();
    const other = new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));
    await expect(load({ module: other })).rejects.toMatchObject({ field: 'module' });
    await expect(load({ module: other, fresh: true })).rejects.toMatchObject({
      code: 'VERSION_MISMATCH',
      field: 'posenc.wasm',
    });
  });
});

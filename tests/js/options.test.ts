// SPDX-License-Identifier: Apache-2.0
/** Every encoding, from what the manifest says of it: nothing here knows a particular one. */

import {
  type EncodingInfo,
  type Extent,
  encodings,
  type FieldInfo,
  type Positions,
  type TableInfo,
} from 'posenc';
import { describe, expect, it } from 'vitest';
import { caught, expectRefusal, type Refusal } from './support/failure.ts';
import { type AnyEncoding, anyEncoding, pe } from './support/instance.ts';
import { expectClose, expectSame, randomTensor } from './support/numbers.ts';

type Options = Record<string, unknown>;

/** The errors of options that do not go together. */
const ofOptions =
  /OUT_OF_RANGE|NOT_EVEN|NOT_INTEGER|MISSING_OPTION|OPTION_NOT_APPLICABLE|SHAPE_MISMATCH/;

/** The same numbers on each axis. */
const onEachAxis = ({ axes }: EncodingInfo, positions: number[]): Positions =>
  axes === 1 ? positions : Array.from({ length: axes }, () => positions);

/** A size for an extent: the example's where the data may decide. */
function sizeOf(extent: Extent, info: EncodingInfo, options: Options): number {
  if (typeof extent === 'number') return extent;
  if ('free' in extent) return extent.example;
  const { option, times = 1, over = 1, plus = 0 } = extent;
  return Math.trunc((Number(optionValue(option, info, options)) * times) / over) + plus;
}

function optionValue(option: string, info: EncodingInfo, options: Options): unknown {
  const field = info.fields.find(({ name }) => name === option);
  return options[option] ?? field?.default ?? optionValue(field?.defaultFrom ?? '', info, options);
}

/** Of a list whose elements are alike, as many as the other options ask for. */
function exampleOf({ example, length }: FieldInfo, info: EncodingInfo, options: Options): unknown {
  return typeof example === 'number' && length !== undefined
    ? new Array(sizeOf(length, info, options)).fill(example)
    : example;
}

/** Whether every example has it: it must be there, or one of its kind must. */
const isUsual = ({ required, usual }: TableInfo) => required || usual === true;

/** What an encoding needs, and nothing more. */
function requiredOptions(info: EncodingInfo): Options {
  const options: Options = {};
  for (const field of info.fields)
    if (field.required) options[field.name] = exampleOf(field, info, options);
  for (const table of info.tables)
    if (isUsual(table)) options[table.name] = tableFor(table, info, options);
  return options;
}

function tableFor({ shape }: TableInfo, info: EncodingInfo, options: Options) {
  return randomTensor(shape.map((extent) => sizeOf(extent, info, options)));
}

function allowed(field: FieldInfo, info: EncodingInfo, options: Options): unknown[] {
  const { type, min = 0, max = 1, exclusiveMin, multipleOf = 1 } = field;
  if (type === 'boolean') return [true, false];
  if (type === 'choice') return [...(field.choices ?? [])];
  if (type === 'names') return [field.choices, field.choices?.slice(1), []];
  if (type === 'list') {
    const length = field.length === undefined ? 2 : sizeOf(field.length, info, options);
    return [new Array(length).fill(1), Float64Array.from({ length }, () => 0.5)];
  }
  const stepped = (x: number) => (type === 'integer' ? Math.ceil(x / multipleOf) * multipleOf : x);
  const low = exclusiveMin ? min + (type === 'integer' ? 1 : 1e-3) : min;
  return [stepped(low), stepped(Math.min(max, 64))];
}

function refusedFor(field: FieldInfo): [unknown, Refusal['code']][] {
  const { type, min, max, multipleOf, exclusiveMin } = field;
  const wrong = (values: unknown[]) =>
    values.map((value): [unknown, 'WRONG_TYPE'] => [value, 'WRONG_TYPE']);
  if (type === 'boolean') return wrong([0, 1, 'true', null, {}]);
  if (type === 'choice')
    return [...wrong([0, null, true]), ['', 'OUT_OF_RANGE'], ['__proto__', 'OUT_OF_RANGE']];
  if (type === 'names')
    return [
      ...wrong([0, null, true, field.choices?.[0], {}, [1]]),
      [[''], 'OUT_OF_RANGE'],
      [['__proto__'], 'OUT_OF_RANGE'],
    ];
  if (type === 'list')
    return [...wrong([1, 'a', null, {}, ['1']]), [[Number.NaN], 'SHAPE_MISMATCH' as const]].slice(
      0,
      5,
    ) as never;
  const rows: [unknown, Refusal['code']][] = [
    ...wrong(['4', 4n, null, true, [4], {}]),
    [Number.NaN, 'NOT_FINITE'],
    [Infinity, 'NOT_FINITE'],
  ];
  if (max !== undefined) rows.push([2 * Math.abs(max) + 2, 'OUT_OF_RANGE']);
  if (min !== undefined) rows.push([exclusiveMin ? min : min - 1, 'OUT_OF_RANGE']);
  if (type === 'integer') rows.push([(min ?? 0) + 0.5, 'NOT_INTEGER']);
  if (multipleOf === 2) rows.push([(min ?? 2) + 1, 'NOT_EVEN']);
  return rows;
}

for (const info of encodings) {
  describe(`encoding ${info.id}`, () => {
    const options = requiredOptions(info);
    const create = (more: Options = {}): AnyEncoding =>
      anyEncoding(pe, info.id, { ...options, ...more });

    it('describes itself', () => {
      const one = create();
      expect(one.id).toBe(info.id);
      expect(one.sites).toEqual(info.sites);
      expect(info.url).toMatch(/^https:/);
      for (const { name, doc } of [...info.fields, ...info.tables]) {
        expect(name).toMatch(/^[a-z][a-zA-Z0-9]*$/);
        expect(doc.length).toBeGreaterThan(5);
      }
      for (const field of info.fields)
        expect(
          field.required ? field.example : (field.default ?? field.defaultFrom ?? field.type),
        ).toBeDefined();
    });

    it('takes every value in range', () => {
      for (const field of info.fields)
        for (const value of allowed(field, info, options)) {
          const changed = { ...options, [field.name]: value };
          // A value in its own range may still not fit the others, which is an error of its own.
          const tables = Object.fromEntries([
            ...info.fields
              .filter((f) => f.required && f.type === 'list' && f.name !== field.name)
              .map((f) => [f.name, exampleOf(f, info, changed)]),
            ...info.tables.filter(isUsual).map((t) => [t.name, tableFor(t, info, changed)]),
          ]);
          try {
            anyEncoding(pe, info.id, { ...changed, ...tables }).dispose();
          } catch (error) {
            expect(error).toMatchObject({ code: expect.stringMatching(ofOptions) });
          }
        }
    });

    it('fills in the defaults that it documents', () => {
      const defaults = Object.fromEntries(
        info.fields.filter((f) => f.default !== undefined).map((f) => [f.name, f.default]),
      );
      compareBehaviour(info, create(), create(defaults));
    });

    for (const field of info.fields)
      it(`refuses wrong values of ${field.name}`, () => {
        for (const [value, code] of refusedFor(field))
          expectRefusal(() => create({ [field.name]: value }), { code, field: field.name });
      });

    for (const field of [...info.fields, ...info.tables].filter((f) => f.required))
      it(`needs ${field.name}`, () => {
        const { [field.name]: _, ...rest } = options;
        expectRefusal(() => anyEncoding(pe, info.id, rest), {
          code: 'MISSING_OPTION',
          field: field.name,
        });
      });

    for (const table of info.tables)
      it(`refuses tables of other shapes as ${table.name}`, () => {
        const right = table.shape.map((extent) => sizeOf(extent, info, options));
        const wrong = table.shape
          .map((extent, axis) => ({ extent, axis }))
          .filter(({ extent }) => !(typeof extent === 'object' && 'free' in extent))
          .map(({ axis }) => right.map((n, i) => (i === axis ? n + 1 : n)));
        for (const shape of [...wrong, [...right, 1], right.slice(1)])
          if (shape.length > 0)
            expectRefusal(() => create({ [table.name]: randomTensor(shape) }), {
              code: 'SHAPE_MISMATCH',
              field: table.name,
              says: [`[${shape.join(', ')}]`],
            });
      });

    it('suggests the right name for a misspelt option', () => {
      for (const { name } of info.fields.filter((f) => f.name.length > 4)) {
        const error = caught(() => create({ [`${name.slice(0, -1)}`]: 1 }));
        expect(['UNKNOWN_OPTION', 'OPTION_NOT_APPLICABLE']).toContain(error.code);
        if (error.code === 'UNKNOWN_OPTION') expect(error.message).toContain('Did you mean');
      }
    });

    it('has the methods of its sites, and no others', () => {
      const one = create();
      const x = randomTensor([Number(options.heads ?? 1), 3, Number(options.headDim ?? 4)]);
      const at = onEachAxis(info, [0, 1, 2]);
      const calls: [string, () => unknown][] = [
        ['embed', () => one.table(onEachAxis(info, [0, 1]))],
        ['rotate', () => one.rotate(x, at)],
        ['rotate', () => one.plan()],
      ];
      for (const [site, call] of calls)
        if (info.sites.includes(site as never)) call();
        else expectRefusal(call, { code: 'UNSUPPORTED' });
      const bias = () => one.bias(onEachAxis(info, [0, 1]), at);
      if (info.contentFree && info.sites.includes('score')) bias();
      else expectRefusal(bias, { code: 'UNSUPPORTED' });
    });

    it('acts in attention, and only differences of positions count if it says so', () => {
      const heads = Number(options.heads ?? 2);
      const width = Number(options.headDim ?? 8);
      const [q, k, v] = [1, 2, 3].map((seed) => randomTensor([heads, 5, width], seed));
      const encoding = create();
      const at = (shift: number) => {
        const positions = onEachAxis(
          info,
          [0, 1, 2, 3, 4].map((p) => p + shift),
        );
        return pe.attention(q, k, v, {
          encoding,
          queryPositions: positions,
          keyPositions: positions,
        }).output.data;
      };
      // What is added to the embeddings before has nothing to do here, and says so.
      if (info.sites.join() === 'embed') {
        expectRefusal(() => at(0), { code: 'UNSUPPORTED', field: info.id });
        return;
      }
      if (info.axes === 1 || info.textAxes)
        expectSame(at(0), pe.attention(q, k, v, { encoding }).output.data);
      else
        expectRefusal(() => pe.attention(q, k, v, { encoding }), {
          code: 'MISSING_OPTION',
          field: 'queryPositions',
        });
      // An index must stay inside its table.
      const shift = info.positions === 'index' ? 1 : 100;
      if (info.relative) expectClose(at(shift), at(0), { rtol: 1e-4, atol: 1e-4 });
    });

    it('gives back its memory', () => {
      create().dispose();
      const { live, liveBytes } = pe.info.memory();
      for (let i = 0; i < 100; ++i) create().dispose();
      expect(pe.info.memory()).toMatchObject({ live, liveBytes });
    });
  });
}

/** Two encodings that must do the same. */
function compareBehaviour(info: EncodingInfo, a: AnyEncoding, b: AnyEncoding): void {
  const at = onEachAxis(info, [0, 3]);
  if (info.sites.includes('embed')) expectSame(a.table(at).data, b.table(at).data);
  if (info.sites.includes('rotate')) expect(a.plan()).toEqual(b.plan());
  if (info.contentFree && info.sites.includes('score'))
    expectSame(
      a.bias(onEachAxis(info, [0, 5]), onEachAxis(info, [0, 2, 6])).data,
      b.bias(onEachAxis(info, [0, 5]), onEachAxis(info, [0, 2, 6])).data,
    );
}

describe('the manifest', () => {
  it('is the same with and without an instance', () => {
    expect(pe.encodings).toBe(encodings);
  });
  it('has unique ids, the first of which does nothing', () => {
    const ids = encodings.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(encodings[0].sites).toEqual([]);
  });
});

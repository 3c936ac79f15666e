// SPDX-License-Identifier: Apache-2.0
/**
 * The options of an encoding against what the manifest says of them, before anything crosses into
 * the module; the module checks the same fields again as a second wall.
 */

import { encodings } from './encodings.gen.js';
import type { Engine } from './engine.js';
import { fault, nearest, quote, shapeText, text } from './errors.js';
import { isArray, typedArrayLength } from './intrinsics.js';
import type { EncodingInfo, Extent, FieldInfo, TableInfo } from './manifest.js';
import { isNumberView, list } from './number-lists.js';
import { capture, type Source } from './tensor.js';
import {
  boolean,
  choice,
  finite,
  integer,
  names,
  reading,
  record,
  unknownOption,
} from './validate.js';

export const catalogue: readonly EncodingInfo[] = encodings;

export type Value = number | boolean | string | Float64Array;

export interface CheckedOptions {
  /** Given ones only: what is left out is for the core to decide. */
  readonly values: ReadonlyMap<string, Value>;
  readonly tables: ReadonlyMap<string, Source>;
}

export function findEncoding(id: unknown): EncodingInfo {
  const found = catalogue.find((info) => info.id === id);
  if (found !== undefined) return found;
  const ids = catalogue.map((info) => info.id);
  const like = typeof id === 'string' ? nearest(id, ids) : undefined;
  throw fault('UNKNOWN_ENCODING', {
    where: 'pe.encoding',
    field: 'id',
    expected: `one of ${ids.join(', ')}`,
    received: id,
    ...(like === undefined ? {} : { advice: `Did you mean '${like}'?` }),
    more: { known: ids, ...(like === undefined ? {} : { nearest: like }) },
  });
}

export function checkOptions(engine: Engine, info: EncodingInfo, given: unknown): CheckedOptions {
  const where = `pe.encoding('${info.id}')`;
  const read = record(where, 'options', given);
  for (const name of read.keys()) refuseUnknown(where, info, name);
  const values = new Map<string, Value>();
  for (const field of info.fields) {
    const value = read.get(field.name);
    if (value !== undefined) values.set(field.name, checkField(where, info, field, value, values));
    else if (field.required) throw missing(where, field.name, describeField(field));
  }
  const tables = new Map<string, Source>();
  for (const table of info.tables) {
    const value = read.get(table.name);
    if (value !== undefined)
      tables.set(table.name, checkTable(engine, where, info, table, value, values));
    else if (table.required)
      throw missing(where, table.name, `a tensor of shape ${namedShape(table)}`);
  }
  return { values, tables };
}

function refuseUnknown(where: string, info: EncodingInfo, name: string): void {
  const own = namesOf(info);
  if (own.includes(name)) return;
  const others = catalogue.filter((other) => namesOf(other).includes(name)).map(({ id }) => id);
  if (others.length === 0) throw unknownOption(where, name, own);
  throw fault('OPTION_NOT_APPLICABLE', {
    where,
    field: name,
    expected: `left out: it is an option of ${others.slice(0, 4).join(', ')}`,
    received: text(quote(name)),
    more: { encodings: others },
  });
}

const namesOf = ({ fields, tables }: EncodingInfo) =>
  [...fields, ...tables].map(({ name }) => name);

function missing(where: string, field: string, expected: string) {
  return fault('MISSING_OPTION', { where, field, expected, received: undefined });
}

function describeField({ type, choices }: FieldInfo): string {
  const nouns = { integer: 'an integer', number: 'a number', boolean: 'true or false' };
  if (type === 'choice') return `one of ${choices?.map((c) => `'${c}'`).join(', ')}`;
  if (type === 'names') return `a list of ${choices?.map((c) => `'${c}'`).join(', ')}`;
  return type === 'list' ? 'a list of numbers' : nouns[type];
}

function checkField(
  where: string,
  info: EncodingInfo,
  field: FieldInfo,
  value: unknown,
  known: ReadonlyMap<string, Value>,
): Value {
  const { name, type } = field;
  switch (type) {
    case 'integer':
      return integer(where, name, value, { ...field, ...evenAdvice(info, field) });
    case 'number':
      return finite(where, name, value, field);
    case 'boolean':
      return boolean(where, name, value);
    case 'choice':
      return choice(where, name, value, field.choices ?? []);
    case 'names':
      return names(where, name, value, field.choices ?? []);
    default: {
      const length = field.length === undefined ? undefined : extent(info, field.length, known);
      const { min, max, exclusiveMin } = field;
      return list(where, name, value, { min, max, exclusiveMin, length });
    }
  }
}

/** An odd width is refused, but part of it can be used if an option takes its default from it. */
function evenAdvice(info: EncodingInfo, { name }: FieldInfo): { advice?: string } {
  const part = info.fields.find((field) => field.defaultFrom === name && field.multipleOf === 2);
  return part === undefined ? {} : { advice: `Use ${part.name} for a part of it.` };
}

/** The number behind an extent; undefined where any number goes. */
function extent(
  info: EncodingInfo,
  rule: Extent,
  known: ReadonlyMap<string, Value>,
): number | undefined {
  if (typeof rule === 'number') return rule;
  if ('free' in rule) return undefined;
  const value = numberOf(info, rule.option, known);
  const { times = 1, over = 1, plus = 0 } = rule;
  return value === undefined ? undefined : Math.trunc((value * times) / over) + plus;
}

function numberOf(
  info: EncodingInfo,
  option: string,
  known: ReadonlyMap<string, Value>,
): number | undefined {
  const given = known.get(option);
  if (typeof given === 'number') return given;
  const field = info.fields.find(({ name }) => name === option);
  if (field?.defaultFrom !== undefined) return numberOf(info, field.defaultFrom, known);
  return typeof field?.default === 'number' ? field.default : undefined;
}

function checkTable(
  engine: Engine,
  where: string,
  info: EncodingInfo,
  table: TableInfo,
  value: unknown,
  known: ReadonlyMap<string, Value>,
): Source {
  const source = capture(engine, where, table.name, tensorLike(where, table, value));
  const wanted = table.shape.map((rule) => extent(info, rule, known));
  const fits =
    source.shape.length === wanted.length &&
    wanted.every((n, axis) => n === undefined || n === source.shape[axis]);
  if (!fits)
    throw fault('SHAPE_MISMATCH', {
      where,
      field: table.name,
      expected: `of shape ${namedShape(table, wanted)}`,
      received: text(shapeText(source.shape)),
      more: { shape: source.shape },
    });
  return source;
}

/** A table with one axis may come as a bare list of numbers. */
function tensorLike(where: string, { name, shape }: TableInfo, value: unknown): unknown {
  if (shape.length !== 1) return value;
  if (isArray(value))
    return { data: value, dims: [reading(where, name, value, () => value.length)] };
  return isNumberView(value) ? { data: value, dims: [typedArrayLength(value)] } : value;
}

function namedShape({ shape }: TableInfo, known: readonly (number | undefined)[] = []): string {
  const axes = shape.map((rule, axis) => {
    if (known[axis] !== undefined) return String(known[axis]);
    if (typeof rule === 'number') return String(rule);
    if ('free' in rule) return rule.free;
    const { option, times = 1, over = 1, plus = 0 } = rule;
    const scaled = `${times === 1 ? '' : `${times}·`}${option}${over === 1 ? '' : `/${over}`}`;
    return `${scaled}${plus === 0 ? '' : ` + ${plus}`}`;
  });
  return `[${axes.join(', ')}]`;
}

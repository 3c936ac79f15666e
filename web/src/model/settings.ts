// SPDX-License-Identifier: Apache-2.0
// From a manifest entry and what the visitor changed to the options object of the package.
import {
  actsAt,
  type EncodingInfo,
  type Extent,
  type FieldInfo,
  type FieldValue,
} from './manifest.ts';
import { hash, normal } from './random.ts';

/** What the visitor changed of one encoding; everything absent has its default. */
export interface Settings {
  readonly fields: Readonly<Record<string, FieldValue>>;
  readonly sizes: Readonly<Record<string, number>>;
  readonly included: readonly string[];
}
export const untouched: Settings = { fields: {}, sizes: {}, included: [] };

export interface Table {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}
export type Options = Record<string, FieldValue | Table>;

/** The value a control shows while the visitor has not touched it; undefined means the encoding derives it. */
export const standing = (field: FieldInfo): FieldValue | undefined =>
  field.default ?? (field.required ? field.example : undefined);

/** Whether a value is the one that stands anyway; lists are compared by what is in them. */
export const stands = (field: FieldInfo, value: FieldValue): boolean =>
  JSON.stringify(value) === JSON.stringify(standing(field));

/** More numbers than any list takes: what is longer only shows that its length is wrong. */
const longestList = 1 << 16;

/** One number where a list is expected stands for that number all along it. */
function spread(
  info: EncodingInfo,
  field: FieldInfo,
  value: FieldValue,
  settings: Settings,
): FieldValue {
  if (field.type !== 'list' || typeof value !== 'number' || field.length === undefined)
    return value;
  const length = extent(info, field.length, settings) || 0;
  return Array<number>(Math.max(0, Math.min(longestList, Math.trunc(length)))).fill(value);
}

/** The value in force, following `defaultFrom`, for showing and for the shapes of tables. */
export function effective(
  info: EncodingInfo,
  name: string,
  settings: Settings,
): FieldValue | undefined {
  const field = info.fields.find((candidate) => candidate.name === name);
  if (!field) return undefined;
  const chosen = settings.fields[name] ?? standing(field);
  if (chosen !== undefined) return spread(info, field, chosen, settings);
  return field.defaultFrom ? effective(info, field.defaultFrom, settings) : undefined;
}

export interface FreeSize {
  readonly name: string;
  readonly example: number;
  /** What the last dimension of a table is as wide as: the rows of embeddings, or of values. */
  readonly widthOf: 'embeddings' | 'values' | undefined;
}
export function freeSizes(info: EncodingInfo): FreeSize[] {
  const found = new Map<string, FreeSize>();
  for (const table of info.tables)
    table.shape.forEach((size, axis) => {
      if (typeof size === 'number' || !('free' in size) || found.has(size.free)) return;
      const isLast = axis > 0 && axis === table.shape.length - 1;
      const widthOf = !isLast
        ? undefined
        : actsAt(info, 'embed')
          ? 'embeddings'
          : actsAt(info, 'value')
            ? 'values'
            : undefined;
      found.set(size.free, { name: size.free, example: size.example, widthOf });
    });
  return [...found.values()];
}

/**
 * How wide values have to be for this encoding, or where it does not care, `otherwise`: whoever wants the weights alone sums the less in
 * vain the narrower they are.
 */
export function valueWidth(info: EncodingInfo, settings: Settings, otherwise = 1): number {
  const size = freeSizes(info).find((candidate) => candidate.widthOf === 'values');
  return size ? sizeOf(size, settings) : otherwise;
}

export const sizeOf = (size: FreeSize, settings: Settings): number =>
  settings.sizes[size.name] ?? size.example;

export function tableShape(
  info: EncodingInfo,
  shape: readonly Extent[],
  settings: Settings,
): number[] {
  return shape.map((size) => extent(info, size, settings));
}

function extent(info: EncodingInfo, size: Extent, settings: Settings): number {
  if (typeof size === 'number') return size;
  if ('free' in size) return settings.sizes[size.free] ?? size.example;
  const value = effective(info, size.option, settings);
  return Math.trunc((Number(value ?? 0) * (size.times ?? 1)) / (size.over ?? 1)) + (size.plus ?? 0);
}

/** More than this would only exhaust the machine of a visitor who typed a nought too many. */
export const largestTable = 1 << 22;

export function optionsOf(info: EncodingInfo, settings: Settings): Options {
  const options: Options = {};
  for (const field of info.fields) {
    const value = settings.fields[field.name] ?? (field.required ? standing(field) : undefined);
    if (value !== undefined) options[field.name] = spread(info, field, value, settings);
  }
  for (const table of info.tables) {
    if (!table.required && !table.usual && !settings.included.includes(table.name)) continue;
    const shape = tableShape(info, table.shape, settings);
    const count = shape.reduce((product, size) => product * size, 1);
    if (!(count <= largestTable))
      throw new RangeError(
        `${table.name} would have ${count} numbers; this page makes at most ${largestTable}`,
      );
    options[table.name] = {
      shape,
      data: madeUp(`${table.name}:${shape.join('x')}`, count, table.deviation),
    };
  }
  return options;
}

/** Tables made before, the latest last: the largest takes 30 ms to make, and every drawing asks for its tables again. */
const made = new Map<string, Float32Array>();
const mostKept = 1 << 21;
function madeUp(name: string, count: number, deviation: number | undefined): Float32Array {
  const key = `${name}:${deviation}`;
  const data = made.get(key) ?? normal(hash(name), count, deviation);
  made.delete(key);
  made.set(key, data);
  let kept = 0;
  for (const { length } of made.values()) kept += length;
  for (const [old, { length }] of made) {
    if (kept <= mostKept || old === key) break;
    made.delete(old);
    kept -= length;
  }
  return data;
}

/** Shares `total` out in the proportions of `parts`, in whole numbers. */
function sharedOut(parts: readonly number[], total: number): number[] {
  const sum = parts.reduce((all, part) => all + part, 0);
  let passed = 0;
  let given = 0;
  return parts.map((part) => {
    passed += part;
    const upTo = Math.round((passed / sum) * total);
    const share = upTo - given;
    given = upTo;
    return share;
  });
}

/** Whether the example of this list shares the pairs of channels of a head out among the axes. */
function sharesPairs(info: EncodingInfo, field: FieldInfo): boolean {
  const headDim = info.fields.find((other) => other.name === 'headDim')?.example;
  return (
    field.required &&
    field.length === info.axes &&
    info.sites.includes('rotate') &&
    Array.isArray(field.example) &&
    2 * (field.example as readonly number[]).reduce((all, part) => all + part, 0) === headDim
  );
}

/** Fits an encoding to a layer of fixed size: the options that name a size of that layer take it. */
export function fitted(
  info: EncodingInfo,
  layer: { heads: number; headDim: number; width: number },
): Settings {
  const fields: Record<string, FieldValue> = {};
  for (const field of info.fields) {
    if (field.name === 'heads') fields[field.name] = layer.heads;
    else if (field.name === 'headDim') fields[field.name] = layer.headDim;
    else if (field.name === 'fraction' && typeof field.example === 'number')
      // Of so few channels a small part would be none, and nothing would turn.
      fields[field.name] = Math.max(field.example, 2 / layer.headDim);
    else if (sharesPairs(info, field))
      fields[field.name] = sharedOut(field.example as readonly number[], layer.headDim / 2);
    else if (field.name === 'dim' && info.sites.includes('embed')) fields[field.name] = layer.width;
  }
  const sizes: Record<string, number> = {};
  for (const size of freeSizes(info)) {
    if (size.widthOf === 'embeddings') sizes[size.name] = layer.width;
    if (size.widthOf === 'values') sizes[size.name] = layer.headDim;
  }
  return { fields, sizes, included: [] };
}

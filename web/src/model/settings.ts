// SPDX-License-Identifier: Apache-2.0
// From a manifest entry and what the visitor changed to the options object of the package.
import {
  actsAt,
  type Dimension,
  type EncodingInfo,
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

/** The value in force, following `defaultFrom`, for showing and for the shapes of tables. */
export function effective(
  info: EncodingInfo,
  name: string,
  settings: Settings,
): FieldValue | undefined {
  const field = info.fields.find((candidate) => candidate.name === name);
  if (!field) return undefined;
  const chosen = settings.fields[name] ?? spreadOut(info, field, settings);
  if (chosen !== undefined) return chosen;
  return field.defaultFrom ? effective(info, field.defaultFrom, settings) : undefined;
}

/** The standing value; of a list that is named by one number, as many of them as the list takes. */
function spreadOut(
  info: EncodingInfo,
  field: FieldInfo,
  settings: Settings,
): FieldValue | undefined {
  const value = standing(field);
  if (typeof value !== 'number' || field.type !== 'list' || field.length === undefined)
    return value;
  return Array.from({ length: tableShape(info, [field.length], settings)[0] ?? 0 }, () => value);
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
      if (typeof size === 'number' || size.free === undefined || found.has(size.free)) return;
      const isLast = axis > 0 && axis === table.shape.length - 1;
      const widthOf = !isLast
        ? undefined
        : actsAt(info, 'embed')
          ? 'embeddings'
          : actsAt(info, 'value')
            ? 'values'
            : undefined;
      found.set(size.free, { name: size.free, example: size.example ?? 64, widthOf });
    });
  return [...found.values()];
}

/** How wide values have to be for this encoding. */
export function valueWidth(info: EncodingInfo, settings: Settings, headDim: number): number {
  const size = freeSizes(info).find((candidate) => candidate.widthOf === 'values');
  return size ? sizeOf(size, settings) : headDim;
}

export const sizeOf = (size: FreeSize, settings: Settings): number =>
  settings.sizes[size.name] ?? size.example;

export function tableShape(
  info: EncodingInfo,
  shape: readonly (Dimension | number)[],
  settings: Settings,
): number[] {
  return shape.map((size) => {
    if (typeof size === 'number') return size;
    if (size.free !== undefined) return settings.sizes[size.free] ?? size.example ?? 64;
    const value = size.option === undefined ? 0 : effective(info, size.option, settings);
    return (
      Math.trunc((Number(value ?? 0) * (size.times ?? 1)) / (size.over ?? 1)) + (size.plus ?? 0)
    );
  });
}

/** More than this would only exhaust the machine of a visitor who typed a nought too many. */
export const largestTable = 1 << 22;

export function optionsOf(info: EncodingInfo, settings: Settings): Options {
  const options: Options = {};
  for (const field of info.fields) {
    const value =
      settings.fields[field.name] ??
      (field.required ? spreadOut(info, field, settings) : undefined);
    if (value !== undefined) options[field.name] = value;
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
      data: normal(hash(`${table.name}:${shape.join('x')}`), count, table.deviation ?? 1),
    };
  }
  return options;
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
    else if (field.name === 'dim' && info.sites.includes('embed')) fields[field.name] = layer.width;
  }
  const sizes: Record<string, number> = {};
  for (const size of freeSizes(info)) {
    if (size.widthOf === 'embeddings') sizes[size.name] = layer.width;
    if (size.widthOf === 'values') sizes[size.name] = layer.headDim;
  }
  return { fields, sizes, included: [] };
}

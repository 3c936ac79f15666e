// SPDX-License-Identifier: Apache-2.0
/** Random options for any encoding, from what the manifest says of it. */

import type { EncodingInfo, Extent, FieldInfo, TableInfo } from 'posenc';
import { sizeOf } from '../support/numbers.ts';

export type Options = Record<string, unknown>;
/** Numbers in [-1, 1). */
export type Noise = () => number;

const integerBelow = (noise: Noise, n: number) =>
  Math.min(n - 1, Math.floor(((noise() + 1) / 2) * n));
export const pick = <T>(noise: Noise, from: readonly T[]): T =>
  from[integerBelow(noise, from.length)];
export const chance = (noise: Noise, p: number) => noise() < 2 * p - 1;

/** `geometry` has the widths and head counts of the tensors under the names of options. */
export function randomOptions(
  info: EncodingInfo,
  geometry: Readonly<Record<string, number>>,
  noise: Noise,
  optional: boolean,
  amend: (info: EncodingInfo, options: Options, noise: Noise) => void,
): Options {
  const options: Options = {};
  for (const field of info.fields) {
    if (field.name in geometry) options[field.name] = geometry[field.name];
    else if (field.required) options[field.name] = exampleOf(field, info, options, geometry);
    else if (optional && chance(noise, 0.25)) {
      const value = randomValue(field, info, options, geometry, noise);
      if (value !== undefined) options[field.name] = value;
    }
  }
  amend(info, options, noise);
  // Of several tables that can stand in for each other, the usual ones.
  for (const table of info.tables)
    if (table.required || table.usual === true || (optional && chance(noise, 0.4)))
      options[table.name] = randomTable(table, info, options, geometry, noise);
  return options;
}

function exampleOf(
  { example, length }: FieldInfo,
  info: EncodingInfo,
  options: Options,
  geometry: Readonly<Record<string, number>>,
): unknown {
  if (length === undefined || typeof example !== 'number') return example;
  return new Array(extentOf(length, info, options, geometry)).fill(example);
}

function randomValue(
  field: FieldInfo,
  info: EncodingInfo,
  options: Options,
  geometry: Readonly<Record<string, number>>,
  noise: Noise,
): unknown {
  const { type, choices, min = -8, max = 8, multipleOf = 1 } = field;
  if (type === 'boolean') return noise() < 0;
  if (type === 'choice') return pick(noise, choices ?? []);
  if (type === 'names') return choices?.filter(() => noise() < 0.5);
  if (type === 'list') {
    if (field.length === undefined) return undefined;
    const length = extentOf(field.length, info, options, geometry);
    return Array.from({ length }, () => Math.max(min, Math.min(max, 1 + noise() / 2)));
  }
  // Near what is usual: the far ends of the ranges belong to the tests of single options.
  const usual = Number(field.default ?? field.example ?? Math.max(min, 1));
  const value = usual * 2 ** (2 * noise());
  const inside = Math.max(min, Math.min(max, value));
  return type === 'integer' ? Math.round(inside / multipleOf) * multipleOf : inside;
}

function extentOf(
  extent: Extent,
  info: EncodingInfo,
  options: Options,
  geometry: Readonly<Record<string, number>>,
): number {
  if (typeof extent === 'number') return extent;
  if ('free' in extent) return geometry[extent.free] ?? extent.example;
  const { option, times = 1, over = 1, plus = 0 } = extent;
  return Math.trunc((numberOf(option, info, options) * times) / over) + plus;
}

function numberOf(option: string, info: EncodingInfo, options: Options): number {
  const field = info.fields.find(({ name }) => name === option);
  if (options[option] !== undefined) return Number(options[option]);
  if (field?.defaultFrom !== undefined) return numberOf(field.defaultFrom, info, options);
  return Number(field?.default);
}

function randomTable(
  table: TableInfo,
  info: EncodingInfo,
  options: Options,
  geometry: Readonly<Record<string, number>>,
  noise: Noise,
) {
  const shape = table.shape.map((extent) => extentOf(extent, info, options, geometry));
  const spread = Math.min(1, 2 * table.deviation);
  return { data: Float32Array.from({ length: sizeOf(shape) }, () => noise() * spread), shape };
}

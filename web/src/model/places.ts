// SPDX-License-Identifier: Apache-2.0
// Where tokens stand. Text is a line; encodings of several axes see a grid instead, filled row by row.
import type { EncodingInfo } from './manifest.ts';
import { effective, type Settings } from './settings.ts';

export type Positions = Float64Array | readonly Float64Array[];

const product = (sizes: readonly number[]): number => sizes.reduce((all, size) => all * size, 1);

/** The extents of a grid that tables are made for: the required list with one number per axis. */
export function boundsOf(info: EncodingInfo, settings: Settings): readonly number[] | undefined {
  if (info.axes < 2 || info.positions !== 'index') return undefined;
  const field = info.fields.find((one) => one.required && one.length === info.axes);
  const value = field && effective(info, field.name, settings);
  return Array.isArray(value) ? (value as readonly number[]) : undefined;
}

/** The extents of the grid that takes `tokens`; undefined where they stand in a line. */
export function gridOf(
  info: EncodingInfo,
  settings: Settings,
  tokens: number,
): readonly number[] | undefined {
  // Axes that count the tokens of a text all have the index of the token.
  if (info.axes < 2 || info.textAxes) return undefined;
  const side = Math.ceil(tokens ** (1 / info.axes));
  return boundsOf(info, settings) ?? Array.from({ length: info.axes }, () => side);
}

/** How many tokens one step along each axis passes over. */
export const stridesOf = (grid: readonly number[]): number[] =>
  grid.map((_, axis) => product(grid.slice(axis + 1)));

/** The positions of the tokens with these indices, as the package takes them: one list per axis. */
export function placesIn(
  info: EncodingInfo,
  grid: readonly number[] | undefined,
  indices: Float64Array,
): Positions {
  if (info.axes < 2) return indices;
  if (!grid) return Array.from({ length: info.axes }, () => indices);
  const strides = stridesOf(grid);
  return grid.map((size, axis) =>
    indices.map((index) => {
      const steps = Math.floor(index / (strides[axis] as number));
      // Past the last row there is no other place, and the package says so.
      return axis === 0 ? steps : steps % size;
    }),
  );
}

/** At most as many tokens as a bounded grid has cells. */
export function tokensWithin(info: EncodingInfo, settings: Settings, tokens: number): number {
  const bounds = boundsOf(info, settings);
  return bounds ? Math.min(tokens, product(bounds)) : tokens;
}

export interface Surroundings {
  readonly query: number;
  readonly keys: number;
}

/** A query with keys on both sides; in the middle of the grid where the keys fill it. */
export function surroundings(info: EncodingInfo, settings: Settings, length: number): Surroundings {
  const wanted = 2 * length - 1;
  const keys = tokensWithin(info, settings, wanted);
  const bounds = boundsOf(info, settings);
  if (!bounds || keys < product(bounds)) return { query: length - 1, keys };
  return { query: bounds.reduce((index, size) => index * size + Math.floor(size / 2), 0), keys };
}

export const gridInWords = (grid: readonly number[]): string =>
  `Tokens fill a grid of ${grid.join(' × ')} row by row; positions and distances count along the rows.`;

// SPDX-License-Identifier: Apache-2.0
// The frequency of every channel of a table, found from its rows alone: a wave obeys x(p + s) + x(p − s) = 2 cos(sω) x(p)
// at every p and for every step s, and rows that were drawn or learned do not.
import { isPastTable } from '../engine.ts';
import type { Positions } from '../model/places.ts';
import type { Table } from '../model/settings.ts';

/** Rows looked at for each step. */
const rows = 16;
/** Radians a step should turn by: below, a second difference drowns in the rounding of float32. */
const enough = 0.4;
/** Of a wave in float32 it is some 1e-7; of free numbers about 1. */
const stray = 1e-3;
/** Radians per step that rows can still be seen to turn by: its square must stand out from 1e-7. */
const least = 1e-3;
const largestStep = 2 ** 40;

interface Fit {
  /** Radians per step. */
  readonly angle: number;
  readonly isWave: boolean;
}

function fit(data: Float32Array, channels: number, channel: number): Fit {
  const x = (row: number): number => data[row * channels + channel] as number;
  let [product, square, outer] = [0, 0, 0];
  for (let row = 1; row < rows - 1; row += 1) {
    const sides = x(row - 1) + x(row + 1);
    product += sides * x(row);
    square += x(row) ** 2;
    outer += sides ** 2;
  }
  // Zero everywhere is a wave that stands still; the squares of a difference add up to those three sums.
  if (square === 0) return { angle: 0, isWave: outer === 0 };
  const twice = product / square;
  const missed = Math.max(0, outer - twice * product);
  const isWave = missed <= stray ** 2 * (outer + square) && Math.abs(twice) <= 2 + stray;
  return { angle: Math.acos(Math.max(-1, Math.min(1, twice / 2))), isWave };
}

type Rows = (positions: Positions) => Table;
/** Radians per position of each channel; 'free' where one is no wave, 'unknown' where there are too few rows to tell. */
export type Waves = Float64Array | 'free' | 'unknown';

/** Undefined past the last row. */
function read(table: Rows, positions: Positions): Table | undefined {
  try {
    return table(positions);
  } catch (error) {
    if (isPastTable(error)) return undefined;
    throw error;
  }
}

function along(table: Rows, axes: number, axis: number, finest: number): Waves {
  const at = (count: number, place: (row: number) => number): Positions => {
    const places = Float64Array.from({ length: count }, (_, row) => place(row));
    const still = new Float64Array(count);
    return axes === 1
      ? places
      : Array.from({ length: axes }, (_, i) => (i === axis ? places : still));
  };
  /** Whether the last row stands for all after it: then the two that follow what was read are one. */
  const isPast = (step: number): boolean => {
    const next = read(
      table,
      at(2, (row) => (rows - 1 + row) * step),
    );
    const channels = next?.shape.at(-1) ?? 0;
    return !!next?.data.subarray(0, channels).every((x, i) => x === next.data[channels + i]);
  };
  let found: Float64Array | undefined;
  const settled = new Set<number>();
  for (let step = finest; step <= largestStep; step *= 2) {
    const seen = read(
      table,
      at(rows, (row) => row * step),
    );
    if (!seen) break;
    const channels = seen.shape.at(-1) as number;
    const next = found?.slice() ?? new Float64Array(channels);
    for (let channel = 0; channel < channels; channel += 1) {
      if (settled.has(channel)) continue;
      const { angle, isWave } = fit(seen.data, channels, channel);
      if (!isWave) return found && isPast(step) ? found : 'free';
      next[channel] = angle < least ? 0 : angle / step;
      // At the step before it was less than enough, so it has not come round unseen.
      if (angle >= enough) settled.add(channel);
    }
    found = next;
    if (settled.size === channels) break;
  }
  return found ?? 'unknown';
}

/** Per channel, along the axis on which it turns fastest. */
export function wavesOf(table: Rows, axes: number, whole: boolean): Waves {
  // Between whole positions a fast wave could not be told from a slow one.
  const finest = whole ? 1 : 2 ** -6;
  let fastest: Float64Array | undefined;
  for (let axis = 0; axis < axes; axis += 1) {
    const found = along(table, axes, axis, finest);
    if (typeof found === 'string') return found;
    fastest = fastest?.map((value, i) => Math.max(value, found[i] as number)) ?? found;
  }
  return fastest ?? 'unknown';
}

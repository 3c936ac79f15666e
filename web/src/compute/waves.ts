// SPDX-License-Identifier: Apache-2.0
// The frequency of every channel of a table, found from its rows alone: a wave obeys x(p + s) + x(p − s) = 2 cos(sω) x(p)
// at every p and for every step s, and rows that were drawn or learned do not.
import type { Positions } from '../model/places.ts';
import type { Table } from '../model/settings.ts';

/** Rows looked at for each step. */
const rows = 16;
/** Radians a step should turn by: below, a second difference drowns in the rounding of float32. */
const enough = 0.4;
/** Of a wave in float32 it is some 1e-7; of free numbers about 1. */
const stray = 1e-3;
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

/** Radians per position along one axis, or undefined where some channel is no wave or the table ends too early to tell. */
function along(
  table: (positions: Positions) => Table,
  axes: number,
  axis: number,
  finest: number,
): Float64Array | undefined {
  let found: Float64Array | undefined;
  for (let step = finest; step <= largestStep; step *= 2) {
    const places = Float64Array.from({ length: rows }, (_, row) => row * step);
    const still = new Float64Array(rows);
    const { data, shape } = table(
      axes === 1 ? places : Array.from({ length: axes }, (_, i) => (i === axis ? places : still)),
    );
    const channels = shape.at(-1) as number;
    found ??= new Float64Array(channels);
    let waiting = 0;
    for (let channel = 0; channel < channels; channel += 1) {
      if (found[channel]) continue;
      const { angle, isWave } = fit(data, channels, channel);
      if (!isWave) return undefined;
      // At the step before it was less than enough, so it has not come round unseen.
      if (angle >= enough) found[channel] = angle / step;
      else waiting += 1;
    }
    if (waiting === 0) break;
  }
  return found;
}

/** Per channel, along the axis on which it turns fastest. */
export function wavesOf(
  table: (positions: Positions) => Table,
  axes: number,
  whole: boolean,
): Float64Array | undefined {
  // Between whole positions a fast wave could not be told from a slow one.
  const finest = whole ? 1 : 2 ** -6;
  let fastest: Float64Array | undefined;
  try {
    for (let axis = 0; axis < axes; axis += 1) {
      const found = along(table, axes, axis, finest);
      if (!found) return undefined;
      fastest = fastest?.map((value, i) => Math.max(value, found[i] as number)) ?? found;
    }
  } catch {
    return undefined;
  }
  return fastest;
}

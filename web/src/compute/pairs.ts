// SPDX-License-Identifier: Apache-2.0
// What rows of turned pairs say: the cosine of every pair, and the sums of them all that the curve and its envelope are.
import { type Range, rangeBetween } from '../model/range.ts';

/** Where the channels of a pair lie in a row. */
export interface Pairs {
  readonly count: number;
  /** Channels of a row, those that do not turn counted in. */
  readonly headDim: number;
  /** From the first channel of a pair to that of the next. */
  readonly step: number;
  /** From the first channel of a pair to its second. */
  readonly second: number;
}
export const pairsOf = (headDim: number, count: number, layout: string): Pairs =>
  layout === 'half'
    ? { count, headDim, step: 1, second: count }
    : { count, headDim, step: 2, second: 1 };

/** What turning multiplies the product of a query's pair and a key's by, at a row: a complex number for each pair, one after the other. */
export function factorsAt(
  { count, headDim, step, second }: Pairs,
  rows: Float32Array,
  key: Float32Array,
  row: number,
  factors: Float64Array,
): void {
  for (let pair = 0; pair < count; pair += 1) {
    const channel = pair * step;
    const x = rows[row * headDim + channel] as number;
    const y = rows[row * headDim + channel + second] as number;
    const u = key[channel] as number;
    const v = key[channel + second] as number;
    factors[2 * pair] = x * u + y * v;
    factors[2 * pair + 1] = y * u - x * v;
  }
}

export interface PairSums {
  /** Of the cells. */
  readonly range: Range;
  /** Per row: Σ of the real parts of its factors, over the number of pairs; pairs that do not turn count as 1. */
  readonly agreement: Float64Array;
  /** Per row: the magnitude of the sum of its factors, over the same. */
  readonly envelope: Float64Array;
}

/**
 * Over rows that hold the unit vector of every pair, turned; cells [pairs, columns] take their first channels. In one pass: 8192 rows of 64
 * are 2 MB, which each further one would fetch again.
 */
export function readPairs(
  { count, headDim, step, second }: Pairs,
  rows: Float32Array,
  key: Float32Array,
  columns: number,
  cells: Float32Array,
): PairSums {
  const agreement = new Float64Array(columns);
  const envelope = new Float64Array(columns);
  const real = Float64Array.from({ length: count }, (_, pair) => key[pair * step] as number);
  const imaginary = real.map((_, pair) => key[pair * step + second] as number);
  const half = headDim / 2;
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (let column = 0; column < columns; column += 1) {
    let a = half - count;
    let b = 0;
    let at = column * headDim;
    for (let pair = 0, to = column; pair < count; pair += 1, to += columns, at += step) {
      const x = rows[at] as number;
      const y = rows[at + second] as number;
      const u = real[pair] as number;
      const v = imaginary[pair] as number;
      cells[to] = x;
      if (x < low) low = x;
      if (x > high) high = x;
      a += x * u + y * v;
      b += y * u - x * v;
    }
    agreement[column] = a / half;
    envelope[column] = Math.sqrt(a * a + b * b) / half;
  }
  return { range: rangeBetween(low, high), agreement, envelope };
}

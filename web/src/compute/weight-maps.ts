// SPDX-License-Identifier: Apache-2.0
// What is read off the weights of all heads: the map of one or of their mean, how far two maps differ, and what no word gets.
import type { Weights } from './words.ts';

const means = new WeakMap<Weights, Float32Array>();
function meanOf(weights: Weights, heads: number): Float32Array {
  const size = weights.length / heads;
  const mean = means.get(weights) ?? new Float32Array(size);
  if (means.has(weights)) return mean;
  means.set(weights, mean);
  // Cell by cell, since the sum then stays in a register.
  for (let i = 0; i < size; i += 1) {
    let sum = 0;
    for (let at = i; at < weights.length; at += size) sum += weights[at] as number;
    mean[i] = sum / heads;
  }
  return mean;
}

/** One head, or the mean of all for -1: [words, words], to be read only. */
export const mapOf = (weights: Weights, heads: number, head: number): Float32Array =>
  head < 0
    ? meanOf(weights, heads)
    : weights.subarray((head * weights.length) / heads, ((head + 1) * weights.length) / heads);

/** Per row, how much attention lies elsewhere: half the sum of all differences, that of a sink included, from 0 to 1. */
export function variation(a: Float32Array, b: Float32Array, count: number): Float64Array {
  return Float64Array.from({ length: count }, (_, row) => {
    let sum = 0;
    let rest = 0;
    for (let i = row * count; i < (row + 1) * count; i += 1) {
      const difference = (a[i] as number) - (b[i] as number);
      sum += Math.abs(difference);
      rest += difference;
    }
    return (sum + Math.abs(rest)) / 2;
  });
}

/** What of a row's attention no word gets. */
export const restOf = (map: Float32Array, count: number, row: number): number =>
  1 - map.subarray(row * count, (row + 1) * count).reduce((sum, weight) => sum + weight, 0);

/** The mean of that over all rows. */
export function meanRest(map: Float32Array, count: number): number {
  let sum = 0;
  for (let row = 0; row < count; row += 1) sum += restOf(map, count, row);
  return sum / count;
}

/** The largest change of a weight between two words when the words move: 0 where the map moves along rigidly. */
export function rigidity(
  before: Float32Array,
  after: Float32Array,
  order: readonly number[],
): number {
  const count = order.length;
  let most = 0;
  order.forEach((word, place) => {
    order.forEach((other, column) => {
      const change =
        (after[place * count + column] as number) - (before[word * count + other] as number);
      most = Math.max(most, Math.abs(change));
    });
  });
  return most;
}

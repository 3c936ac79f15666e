// SPDX-License-Identifier: Apache-2.0
// What every kind of picture is made with.
import type { Positions } from '../model/places.ts';
import { type Range, rangeBetween } from '../model/range.ts';

const mostCells = 1 << 22;
export function range(first: number, count: number): Float64Array {
  // A loop: from an iterator 8192 of them take 1 ms.
  const positions = new Float64Array(count);
  for (let i = 0; i < count; i += 1) positions[i] = first + i;
  return positions;
}
/** Throws where a picture would be too large to draw. */
export function limit(cells: number): void {
  if (cells > mostCells)
    throw new RangeError(
      `this picture would have ${cells} cells; the page draws at most ${mostCells}`,
    );
}

/**
 * Memory for as many cells, which is written all over: that of the spare ones where it is as large, since what is new is mapped page by
 * page. An array of its own in any case, since figures tell by the array whether they have painted these cells.
 */
export const cellsIn = (spare: Float32Array | undefined, count: number): Float32Array =>
  spare?.length === count ? spare.subarray() : new Float32Array(count);

/** Columns at a time: a cache line of each is read once for as many rows as it holds. */
const block = 16;

/** Row r of the cells is element `firsts[r]` of every `width` numbers of the data. Returns the range of the cells. */
export function transpose(
  data: Float32Array,
  width: number,
  firsts: readonly number[],
  cells: Float32Array,
  columns: number,
): Range {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (let start = 0; start < columns; start += block) {
    const end = Math.min(columns, start + block);
    for (let row = 0; row < firsts.length; row += 1) {
      let from = start * width + (firsts[row] as number);
      let to = row * columns + start;
      const last = row * columns + end;
      // Four at a time, which hides how long each load from another row takes.
      for (; to + 4 <= last; to += 4, from += 4 * width) {
        const a = data[from] as number;
        const b = data[from + width] as number;
        const c = data[from + 2 * width] as number;
        const d = data[from + 3 * width] as number;
        cells[to] = a;
        cells[to + 1] = b;
        cells[to + 2] = c;
        cells[to + 3] = d;
        if (a < low) low = a;
        if (a > high) high = a;
        if (b < low) low = b;
        if (b > high) high = b;
        if (c < low) low = c;
        if (c > high) high = c;
        if (d < low) low = d;
        if (d > high) high = d;
      }
      for (; to < last; to += 1, from += width) {
        const a = data[from] as number;
        cells[to] = a;
        if (a < low) low = a;
        if (a > high) high = a;
      }
    }
  }
  return rangeBetween(low, high);
}

/** Positions of tokens by their indices, in a line or on the grid that takes `tokens`. */
export type Placing = (indices: Float64Array) => Positions;

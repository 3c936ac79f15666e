// SPDX-License-Identifier: Apache-2.0

export interface Range {
  readonly low: number;
  readonly high: number;
}

/** Of the least and the greatest that were found; of none at all, 0 to 0. */
export const rangeBetween = (low: number, high: number): Range =>
  low <= high ? { low, high } : { low: 0, high: 0 };

/** NaN counts as no number. */
export function rangeOf(cells: ArrayLike<number>): Range {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  // Asked for once: at every cell it takes longer than the comparisons.
  const { length } = cells;
  for (let i = 0; i < length; i += 1) {
    const value = cells[i] as number;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return rangeBetween(low, high);
}

// SPDX-License-Identifier: Apache-2.0
// What several seeds come to: the median of their shares of right answers, and the worst and the best of them.
import type { Exam } from '../../train/run.ts';

export interface Spread {
  readonly seeds: number;
  readonly middle: Float64Array;
  readonly low: Float64Array;
  readonly high: Float64Array;
}

/** Shares of right answers at the lengths of the exam, by the latest exam; none before there is one. */
export function sharesOf(exams: readonly Exam[], asked: readonly number[]): Float64Array {
  const last = exams.at(-1);
  return Float64Array.from(asked, (count, i) => (last ? (last.right[i] ?? 0) / count : Number.NaN));
}

export function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const above = sorted[half] ?? Number.NaN;
  return sorted.length % 2 ? above : ((sorted[half - 1] ?? Number.NaN) + above) / 2;
}

/** Of the runs that have been examined. */
export function spreadOf(
  runs: readonly (readonly Exam[])[],
  asked: readonly number[],
): Spread | undefined {
  const shares = runs.filter((exams) => exams.length > 0).map((exams) => sharesOf(exams, asked));
  if (shares.length === 0) return undefined;
  const at = (reduce: (values: number[]) => number): Float64Array =>
    Float64Array.from(asked, (_, i) => reduce(shares.map((one) => one[i] as number)));
  return {
    seeds: shares.length,
    middle: at(medianOf),
    low: at((values) => Math.min(...values)),
    high: at((values) => Math.max(...values)),
  };
}

// SPDX-License-Identifier: Apache-2.0
// What repeated times say, and how sure they are.
import { uniform } from '../model/random.ts';

/** The value below which a share of the samples lies, straight between neighbours. */
export function quantile(samples: ArrayLike<number>, share: number): number {
  const sorted = Float64Array.from(samples).sort();
  if (!sorted.length) return Number.NaN;
  const place = share * (sorted.length - 1);
  const below = Math.floor(place);
  const low = sorted[below] as number;
  const high = sorted[Math.min(below + 1, sorted.length - 1)] as number;
  return low + (place - below) * (high - low);
}
export const median = (samples: ArrayLike<number>): number => quantile(samples, 0.5);

export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly least: number;
}
export const spreadOf = (samples: ArrayLike<number>): Spread => ({
  median: median(samples),
  low: quantile(samples, 0.25),
  high: quantile(samples, 0.75),
  least: quantile(samples, 0),
});

export interface Ratio {
  readonly ratio: number;
  /** 95 % interval. */
  readonly low: number;
  readonly high: number;
}

/**
 * Median of `theirs` over median of `ours`, with its bootstrap interval. Rounds are drawn, not samples: both contenders ran
 * in each round, so what slowed the machine down for a while slowed both.
 */
export function ratioOf(
  theirs: ArrayLike<number>,
  ours: ArrayLike<number>,
  draws = 2000,
  seed = 1,
): Ratio {
  const rounds = Math.min(theirs.length, ours.length);
  const next = uniform(seed);
  const [a, b] = [new Float64Array(rounds), new Float64Array(rounds)];
  const ratios = Float64Array.from({ length: draws }, () => {
    for (let i = 0; i < rounds; i += 1) {
      const round = Math.floor(next() * rounds);
      a[i] = theirs[round] as number;
      b[i] = ours[round] as number;
    }
    return median(a) / median(b);
  });
  return {
    ratio: median(theirs) / median(ours),
    low: quantile(ratios, 0.025),
    high: quantile(ratios, 0.975),
  };
}

export type Verdict = 'ahead' | 'behind' | 'same';
export const verdictOf = ({ low, high }: Ratio): Verdict =>
  low > 1 ? 'ahead' : high < 1 ? 'behind' : 'same';

/** How much slower the last tenth of the samples was than the first: a machine that warms up, or another program. */
export function drift(samples: readonly number[]): number {
  const tenth = Math.max(1, Math.ceil(samples.length / 10));
  return median(samples.slice(-tenth)) / median(samples.slice(0, tenth)) - 1;
}
export const notableDrift = 0.1;

// SPDX-License-Identifier: Apache-2.0
// What is seen of a decoder at a step, and what it comes to.
import type { Setup } from '../../train/run.ts';
import type { Look } from './course.ts';
import { percent } from './figures.ts';

export interface Seen {
  readonly title: string;
  readonly letter: string;
  readonly step: number;
  /** [places, places] of the chosen head. */
  readonly cells: Float32Array;
  /** Mean share of attention on the place that holds the answer, over the places that ask. */
  readonly found: number;
}

/** The last look up to a step; the latest of all for -1. */
export const lookAt = (looks: readonly Look[], step: number): Look | undefined =>
  step < 0 ? looks.at(-1) : (looks.filter((look) => look.step <= step).at(-1) ?? looks[0]);

/** At most forty words. */
export function probeNotice(
  seen: readonly Pick<Seen, 'title' | 'found'>[],
  { task }: Setup,
): string {
  const sorted = [...seen].sort((a, b) => b.found - a.found);
  const [best, worst] = [sorted[0], sorted.at(-1)];
  if (!best || !worst) return 'No decoder has been trained for these settings yet.';
  const where =
    task === 'copy'
      ? 'It lies four places left of the diagonal: a stripe.'
      : 'It lies where the key first stood: one dark cell in each row of the lower half.';
  return best === worst
    ? `${best.title} puts ${percent(best.found)} of this head’s attention on the place that holds the answer. ${where}`
    : `On the place that holds the answer, ${best.title} puts ${percent(best.found)} of this head’s attention, ${worst.title} ${percent(worst.found)}. ${where}`;
}

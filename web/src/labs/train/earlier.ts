// SPDX-License-Identifier: Apache-2.0
// Runs that were made before the page was, by tools/train.mjs, to show at once and to compare with.
import type { Exam, Setup } from '../../train/run.ts';
import type { Look } from './course.ts';

export interface EarlierRun {
  readonly id: string;
  readonly setup: Setup;
  readonly exams: readonly Exam[];
}
/** Maps of attention over the probe, weights as bytes in base64. */
interface EarlierLooks {
  readonly id: string;
  readonly setup: Setup;
  readonly steps: readonly number[];
  readonly maps: readonly string[];
}
export interface Earlier {
  readonly made: string;
  readonly command: string;
  readonly runs: readonly EarlierRun[];
  readonly looks: readonly EarlierLooks[];
}

export async function earlier(): Promise<Earlier> {
  const [runs, looks] = await Promise.all([import('./earlier.json'), import('./looks.json')]);
  return { ...runs.default, ...looks.default } as unknown as Earlier;
}

/** How many steps were planned changes no run, nor do other seeds. */
const alike = (one: Setup, other: Pick<Setup, 'task' | 'longest'>): boolean =>
  one.task === other.task && one.longest === other.longest;

/** Runs of the same task and length, of all seeds there are. */
export const runsLike = (
  { runs }: Earlier,
  setup: Pick<Setup, 'task' | 'longest'>,
  id: string,
): readonly EarlierRun[] => runs.filter((run) => run.id === id && alike(run.setup, setup));

/** What attention was like in one of them, whichever seed that had. */
export function looksLike({ looks }: Earlier, setup: Setup, id: string): readonly Look[] {
  const found = looks.find((one) => one.id === id && alike(one.setup, setup));
  return (found?.steps ?? []).map((step, i) => ({
    step,
    weights: Float32Array.from(
      atob(found?.maps[i] ?? ''),
      (byte) => (byte.codePointAt(0) as number) / 255,
    ),
  }));
}

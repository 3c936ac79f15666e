// SPDX-License-Identifier: Apache-2.0
// Runs that were made before the page was, by tools/train.mjs, to show at once and to compare with.
import type { Exam, Setup } from '../../train/run.ts';

export interface EarlierRun {
  readonly id: string;
  readonly setup: Setup;
  readonly exams: readonly Exam[];
}
export interface Earlier {
  readonly made: string;
  readonly command: string;
  readonly runs: readonly EarlierRun[];
}

export const earlier = async (): Promise<Earlier> =>
  (await import('./earlier.json')).default as unknown as Earlier;

/** Those of the same task, length and seed: how many steps were planned changes none of them. */
export const earlierRuns = ({ made, command, runs }: Earlier, setup: Setup): Earlier => ({
  made,
  command,
  runs: runs.filter(
    (run) =>
      run.setup.task === setup.task &&
      run.setup.longest === setup.longest &&
      run.setup.seed === setup.seed,
  ),
});

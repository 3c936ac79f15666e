// SPDX-License-Identifier: Apache-2.0
// What the config doctor asks about a model before its figure is looked at.
import { grouped } from '../../draw/scale.ts';
import { Guess } from '../../parts/guess.ts';
import type { KindRead } from './read.ts';

export function turningQuestion(now: () => KindRead['turning']): Guess {
  return new Guess({
    ask: () => {
      const turning = now();
      return turning?.seen === undefined
        ? undefined
        : `Each of ${turning.frequencies.length} pairs of channels turns at its own pace. How many never come round within the ${grouped(turning.seen)} tokens of training?`;
    },
    choices: ['None', 'Up to a quarter', 'More than a quarter'],
    answer: () => {
      const turning = now();
      const never = turning?.never ?? 0;
      const all = turning?.frequencies.length ?? 1;
      return {
        right: never === 0 ? 0 : never <= all / 4 ? 1 : 2,
        text: `${never} of ${all}: in the figure, the points above the line of training.`,
      };
    },
  });
}

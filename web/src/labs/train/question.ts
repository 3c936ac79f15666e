// SPDX-License-Identifier: Apache-2.0
// What the lab asks before it shows the second task.
import { manifest } from '../../engine.ts';
import { actsNowhere } from '../../model/manifest.ts';
import type { Store } from '../../model/state.ts';
import { Guess } from '../../parts/guess.ts';
import { askedAt } from '../../train/run.ts';
import { examLengths } from '../../train/tasks.ts';
import { pupilsOf, setupOf } from './controls.ts';
import { type Earlier, runsLike } from './earlier.ts';
import { percent } from './figures.ts';
import { spreadOf } from './spread.ts';

/** Shares nearer than this are the luck of a seed. */
const alike = 0.05;

export function trainQuestion(store: Store, earlier: () => Earlier): Guess {
  const recall = () => ({ ...setupOf(store.get().values), task: 'recall' as const });
  /** Medians over all seeds at twice the longest length trained on. */
  const shares = (): { title: string; bare: boolean; share: number }[] => {
    const setup = recall();
    const twice = examLengths(setup.longest).indexOf(2 * setup.longest);
    return pupilsOf(store.get().values).flatMap((id) => {
      const info = manifest.find((one) => one.id === id);
      const exams = runsLike(earlier(), setup, id).map((run) => run.exams);
      const spread = spreadOf(exams, askedAt(setup.task, setup.longest));
      return info && spread
        ? [{ title: info.title, bare: actsNowhere(info), share: spread.middle[twice] as number }]
        : [];
    });
  };
  return new Guess({
    ask: () => {
      const { learn, upto } = store.get().values;
      const known = shares();
      const fair = known.some(({ bare }) => bare) && known.some(({ bare }) => !bare);
      return learn === 'copy' && fair
        ? `The other task: keys with values, then the keys alone in another order; which value was it? Trained up to ${upto} of them and asked about ${2 * upto}: who does best, the decoder without an encoding or the best of the others?`
        : undefined;
    },
    choices: ['The one without', 'One of the others', 'Both alike'],
    answer: () => {
      const known = shares();
      const most = (bare: boolean) =>
        known.filter((one) => one.bare === bare).reduce((a, b) => (b.share > a.share ? b : a));
      const [without, best] = [most(true), most(false)];
      const worst = known.reduce((a, b) => (b.share < a.share ? b : a));
      const named = [...new Set([without, best, worst])].map(
        ({ title, share }) => `${title} ${percent(share)}`,
      );
      const ahead = without.share - best.share;
      store.put({ learn: 'recall' });
      return {
        right: Math.abs(ahead) < alike ? 2 : ahead > 0 ? 0 : 1,
        text: `${named.join(', ')}: medians of the runs made before. Recalling is a matter of content alone, so a place can only distract.`,
      };
    },
  });
}

// SPDX-License-Identifier: Apache-2.0
// What the lab asks before it takes any time: the answer is a run of it.
import { type Outcome, ownName, type Timed } from '../../bench/protocol.ts';
import { median, ratioOf, verdictOf } from '../../bench/statistics.ts';
import type { Work } from '../../bench/workloads.ts';
import type { Store } from '../../model/state.ts';
import { type Answer, Guess } from '../../parts/guess.ts';

const choices = ['This library', 'onnxruntime-web', 'Plain loops', 'No clear difference'];
const undecided = 3;
/** A contender may run in several ways; whose it is, its name begins with. */
const familyOf = ({ name }: Timed): number =>
  name.startsWith(ownName) ? 0 : name.startsWith('onnxruntime-web') ? 1 : 2;

/** Whose fastest way is the fastest of all, by more than the interval of the ratio to the next. */
export function fastest({ timed }: Outcome): Answer {
  const best = [0, 1, 2].flatMap((family) => {
    const ways = timed.filter((one) => familyOf(one) === family);
    const [first, ...others] = ways;
    return first
      ? [others.reduce((a, b) => (median(b.samples) < median(a.samples) ? b : a), first)]
      : [];
  });
  best.sort((a, b) => median(a.samples) - median(b.samples));
  const [first, second] = best;
  if (!first || !second) throw new Error('Fewer than two gave a right answer, so nobody has won.');
  const clear = verdictOf(ratioOf(second.samples, first.samples)) === 'ahead';
  const times = best.map(({ name, samples }) => `${name} ${median(samples).toPrecision(3)} ms`);
  return {
    right: clear ? familyOf(first) : undecided,
    text: `Medians: ${times.join(', ')}. One run on this machine; the table has the intervals.`,
  };
}

export function benchQuestion(
  store: Store,
  names: ReadonlyMap<Work, string>,
  megabytes: string,
  run: () => Promise<Outcome>,
): Guess {
  return new Guess({
    ask: () => {
      const { peer, work } = store.get().values;
      return peer
        ? `${names.get(work)}, the same numbers for all: who takes the least time in this browser? Answering loads ${megabytes} MB from this site and runs the lab.`
        : undefined;
    },
    choices,
    answer: async () => fastest(await run()),
  });
}

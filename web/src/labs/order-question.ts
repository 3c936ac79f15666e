// SPDX-License-Identifier: Apache-2.0
// What the first lab asks before anything moves.
import { compareOrders } from '../compute/layer.ts';
import { scientific } from '../draw/scale.ts';
import type { Engine } from '../engine.ts';
import type { Store } from '../model/state.ts';
import { Guess } from '../parts/guess.ts';
import type { Arrangement } from './arrangement.ts';

export function orderQuestion(engine: Engine, store: Store, arrangement: Arrangement): Guess {
  return new Guess({
    ask: () =>
      arrangement.current().words.length < 2
        ? undefined
        : 'No encoding, only a causal mask: a word sees itself and those before it. Two words change places. Does attention compute anything else for any word?',
    choices: ['Nothing changes', 'Something changes'],
    answer: () => {
      store.set({ placed: false, causal: true });
      arrangement.swap();
      const { words, order } = arrangement.current();
      const { largest, noise } = compareOrders(engine, words, order, undefined, true, false);
      const changed = largest > noise;
      return {
        right: Number(changed),
        text: changed
          ? `The largest change is ${scientific(largest)}: a mask goes by place, so it tells order even where no encoding does.`
          : 'These two orders look alike to the mask; try other words.',
      };
    },
  });
}

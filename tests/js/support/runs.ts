// SPDX-License-Identifier: Apache-2.0
/**
 * How many cases a fuzzer tries: the same ones in every run of the tests, so that a change is to blame
 * for what fails. `./run fuzz` sets POSENC_FUZZ, for so many times more from a seed of its own, and
 * POSENC_SEED repeats one of its rounds. In Node they are some 36,000 in all. Chromium has Node's engine and the
 * same seed, so a sixth of them repeats what passed there, and shows that the host changes nothing: none
 * of these cases is made of what only a browser has.
 */

import { inNode } from './host.ts';

const { POSENC_FUZZ = '', POSENC_SEED = '' } = typeof process === 'object' ? process.env : {};
const times = Number(POSENC_FUZZ);

export function runs(numRuns: number): { numRuns: number; seed: number } {
  if (!(times > 0)) return { numRuns: inNode ? numRuns : Math.ceil(numRuns / 6), seed: 20_17 };
  const seed = POSENC_SEED === '' ? Date.now() % 2 ** 31 : Number(POSENC_SEED);
  return { numRuns: numRuns * times, seed };
}

// SPDX-License-Identifier: Apache-2.0
/**
 * How many cases a fuzzer tries: a fixed set by default, so that a run can be repeated, and with
 * POSENC_FUZZ as many times more from a seed of its own, which is printed.
 */

const times = typeof process === 'object' ? Number(process.env?.POSENC_FUZZ ?? 0) : 0;

export function runs(numRuns: number): { numRuns: number; seed: number } {
  if (!(times > 0)) return { numRuns, seed: 20_17 };
  const seed = Date.now() % 2 ** 31;
  console.info(`fuzz: ${numRuns * times} cases, seed ${seed}`);
  return { numRuns: numRuns * times, seed };
}

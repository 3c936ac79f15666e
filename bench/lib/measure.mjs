// SPDX-License-Identifier: Apache-2.0
// Times several ways to do one thing so that their ratio can be trusted on a machine that does other things too.

export const median = (numbers) => {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
};

/** Processor time of this process, in milliseconds: what other programs do to the machine is not in it. */
function processorTime() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * Milliseconds of processor time of each `run`, of one thread, in turns: A B C, C B A, … for `rounds` rounds, each turn at least `turnMs` long or one
 * call. What took `budgetMs` in all is not run again.
 */
export async function inTurns(runs, { rounds = 7, turnMs = 60, budgetMs = 3000 } = {}) {
  const times = runs.map(() => []);
  const spent = runs.map(() => 0);
  for (const run of runs) await run();
  for (let round = 0; round < rounds; round++) {
    const order = runs.map((_, i) => (round % 2 === 0 ? i : runs.length - 1 - i));
    for (const i of order) {
      if (spent[i] > budgetMs && times[i].length > 1) continue;
      // Short calls are timed together: the clock ticks in microseconds.
      let calls = 1;
      for (let turn = 0; turn < turnMs; ) {
        const began = processorTime();
        for (let n = 0; n < calls; n++) {
          const wait = runs[i]();
          if (wait !== undefined) await wait;
        }
        const took = processorTime() - began;
        times[i].push(took / calls);
        turn += took;
        spent[i] += took;
        if (took < 1) calls *= 2;
      }
    }
  }
  return times.map((all) => ({
    ms: median(all),
    min: all.reduce((a, b) => Math.min(a, b)),
    samples: all.length,
  }));
}

// SPDX-License-Identifier: Apache-2.0
// What a second worker gains: the same call end to end, JavaScript arrays in and out, through posenc without workers, with one and
// with two, in turns, medians and in brackets minima. `node bench/workers.mjs` prints a table; ratios of one run are the result.

import { load } from '../dist/index.node.js';
import { load as loadWorkers } from '../dist/worker.node.js';

const [rounds, warmups] = [9, 2];
const pe = await load();
const contenders = [
  { name: 'no worker', pe },
  { name: '1 worker', pe: await loadWorkers({ workers: 1, fresh: true }) },
  { name: '2 workers', pe: await loadWorkers({ workers: 2, fresh: true }) },
];

function noise(shape, seed) {
  let state = seed;
  const length = shape.reduce((all, one) => all * one, 1);
  const data = Float32Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
  return { data, shape };
}
const median = (times) => [...times].sort((a, b) => a - b)[times.length >> 1];

console.log(['what', ...contenders.map(({ name }) => name), '2 against 1'].join(' | '));
for (const [what, heads, tokens, width, causal] of [
  ['causal 12 x 512 x 64', 12, 512, 64, true],
  ['causal 12 x 1024 x 64', 12, 1024, 64, true],
  ['causal 12 x 2048 x 64', 12, 2048, 64, true],
  ['full 12 x 1024 x 64', 12, 1024, 64, false],
]) {
  const [q, k, v] = [1, 2, 3].map((seed) => noise([1, heads, tokens, width], seed));
  const times = contenders.map(() => []);
  for (let round = -warmups; round < rounds; ++round) {
    // There and back, so that what gets slower while it runs does so for all.
    const order = [...contenders.entries()];
    if (round % 2 !== 0) order.reverse();
    for (const [i, { pe }] of order) {
      const start = performance.now();
      await pe.attention(q, k, v, { causal });
      if (round >= 0) times[i].push(performance.now() - start);
    }
  }
  const medians = times.map(median);
  const least = times.map((all) => Math.min(...all));
  const cells = medians.map((ms, i) => `${ms.toFixed(1)} (${least[i].toFixed(1)})`);
  const ratio = ([, one, two]) => (one / two).toFixed(2);
  console.log([what, ...cells, `${ratio(medians)} (${ratio(least)})`].join(' | '));
}
for (const { pe } of contenders) pe.dispose();

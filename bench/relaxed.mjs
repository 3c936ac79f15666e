// SPDX-License-Identifier: Apache-2.0
// What fusing multiply and add gains: both builds in one process, in turns, tensors in the module's memory. Node 20 needs
// `node --experimental-wasm-relaxed-simd bench/relaxed.mjs`. Medians, and minima in brackets.

import { load } from '../dist/index.node.js';

const [rounds, warmups] = [9, 3];
const instances = [await load({ fresh: true }), await load({ build: 'relaxed', fresh: true })];

function noise(length, seed) {
  let state = seed;
  return Float32Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}
const median = (times) => [...times].sort((a, b) => a - b)[times.length >> 1];

console.log('what | default | relaxed | ratio | largest difference');
for (const [what, heads, tokens, width, causal] of [
  ['causal 12 x 512 x 64', 12, 512, 64, true],
  ['causal 12 x 1024 x 64', 12, 1024, 64, true],
  ['full 12 x 1024 x 64', 12, 1024, 64, false],
]) {
  const shape = [1, heads, tokens, width];
  const size = heads * tokens * width;
  const calls = instances.map((pe) => {
    const [q, k, v] = [1, 2, 3].map((seed) => pe.tensor(shape, noise(size, seed)));
    const out = pe.tensor(shape);
    return { run: () => pe.attention(q, k, v, { causal, out }), out };
  });
  const times = calls.map(() => []);
  for (let round = -warmups; round < rounds; ++round) {
    const order = [...calls.entries()];
    if (round % 2 !== 0) order.reverse();
    for (const [i, { run }] of order) {
      const start = performance.now();
      run();
      if (round >= 0) times[i].push(performance.now() - start);
    }
  }
  const [a, b] = calls.map(({ out }) => out.data);
  const off = a.reduce((most, x, i) => Math.max(most, Math.abs(x - b[i])), 0);
  const medians = times.map(median);
  const cells = medians.map((ms, i) => `${ms.toFixed(1)} (${Math.min(...times[i]).toFixed(1)})`);
  const ratio = (medians[0] / medians[1]).toFixed(2);
  console.log([what, ...cells, ratio, off.toExponential(1)].join(' | '));
}

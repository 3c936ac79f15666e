// SPDX-License-Identifier: Apache-2.0
// What a program pays before and around the kernels, each in fresh processes:
//   import to the first result, the first attention call against later ones, and the overhead of a call.
// By the clock and, as "processor", what all threads of the process took: the compiler works beside the one that waits.
// Usage: node bench/start.mjs [folder of the built package]
import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const self = fileURLToPath(import.meta.url);
const [folder = 'dist', what] = process.argv.slice(2);
const entry = pathToFileURL(resolve(folder, 'index.node.js')).href;

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

/** Milliseconds that processors have worked for this process. */
function worked() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Milliseconds by name, of this process. */
const parts = {
  async result() {
    const before = worked();
    const begin = performance.now();
    const { load } = await import(entry);
    const imported = performance.now();
    const pe = await load();
    const loaded = performance.now();
    pe.encoding('rope', { headDim: 4 }).rotate({ data: new Float32Array(4), shape: [1, 4] });
    const end = performance.now();
    return {
      total: end - begin,
      import: imported - begin,
      load: loaded - imported,
      call: end - loaded,
      processor: worked() - before,
      'node itself': before,
    };
  },

  async attention() {
    const pe = await (await import(entry)).load();
    const shape = [1, 12, 512, 64];
    const data = Float32Array.from({ length: 12 * 512 * 64 }, (_, i) => Math.sin(i * 12.9898) / 2);
    const [q, k, v, out] = [data, data, data, undefined].map((one) => pe.tensor(shape, one));
    const times = [];
    for (let i = 0; i < 30; ++i) {
      const begin = performance.now();
      pe.attention(q, k, v, { causal: true, out });
      times.push(performance.now() - begin);
      await new Promise((done) => setTimeout(done, 5)); // so that the optimizing compiler can finish
    }
    return { first: times[0], later: median(times.slice(15)) };
  },

  async overhead() {
    const pe = await (await import(entry)).load();
    const rope = pe.encoding('rope', { headDim: 4 });
    const x = pe.tensor([1, 4]);
    const options = { out: pe.tensor([1, 4]) };
    const rounds = [];
    const processor = [];
    for (let round = 0; round < 40; ++round) {
      const [begin, before] = [performance.now(), worked()];
      for (let i = 0; i < 5000; ++i) rope.rotate(x, undefined, options);
      rounds.push((performance.now() - begin) / 5000);
      processor.push((worked() - before) / 5000);
    }
    return {
      clock: median(rounds.slice(10)),
      processor: median(processor.slice(10)),
    };
  },
};

if (what !== undefined) {
  console.log(JSON.stringify(await parts[what]()));
} else {
  for (const [name, runs] of [
    ['result', 20],
    ['attention', 7],
    ['overhead', 5],
  ]) {
    const all = Array.from({ length: runs }, () =>
      JSON.parse(execFileSync(process.execPath, [self, folder, name], { encoding: 'utf8' })),
    );
    const shown = Object.keys(all[0]).map((key) => {
      const values = all.map((one) => one[key]);
      return `${key} ${median(values).toPrecision(3)} (least ${Math.min(...values).toPrecision(3)})`;
    });
    console.log(`${name.padEnd(10)} ms, median of ${runs} processes: ${shown.join('   ')}`);
  }
}

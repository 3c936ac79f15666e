#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// A decode step over the package's cache, by how it stores numbers and by how its keys are kept.
//   node bench/cache.mjs [--only REGEX] [--json FILE]
import { loaded } from './contender.mjs';
import { overCache, workloads } from './decode.mjs';
import { inTurns } from './lib/measure.mjs';
import { filterAndFile, save } from './lib/results.mjs';
import { tensors } from './lib/tensors.mjs';

const { only, json } = filterAndFile();
const pe = await loaded();
const results = [];
for (const workload of workloads) {
  const w = { ...workload, inputs: workload.make() };
  const rope = pe.encoding('rope', { headDim: w.D });
  const dynamic = pe.encoding('rope-dynamic-ntk', { headDim: w.D, factor: 2, originalLength: 256 });
  const kinds = {
    f32: {},
    f16: { dtype: 'f16' },
    i8: { dtype: 'i8' },
    'f32, keys rotated once': { encoding: rope },
    'f32, keys rotated at every step': { encoding: dynamic },
  };
  const named = Object.entries(kinds).filter(([name]) => only.test(`${w.L} ${name}`));
  const jobs = named.map(([, options]) => overCache(pe, w, tensors(pe, 'e2e'), options));
  const times = await inTurns(jobs.map(({ run }) => run));
  for (const [i, [name]] of named.entries()) {
    results.push({ L: w.L, name, ...times[i], ratio: times[0].ms / times[i].ms });
    console.log(
      `L ${String(w.L).padEnd(6)}${name.padEnd(34)}${times[i].ms.toFixed(3).padStart(8)} ms (min ${times[i].min.toFixed(3)})`,
    );
  }
  for (const job of jobs) job.dispose();
  rope.dispose();
  dynamic.dispose();
}
save(json, { cache: results });

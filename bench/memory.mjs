#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The module's memory after one attention from JavaScript arrays to JavaScript arrays, a new instance for each.
//   node bench/memory.mjs [--json FILE]
import { filterAndFile, save } from './lib/results.mjs';
import { tensors } from './lib/tensors.mjs';
import { posenc, workloads } from './prefill.mjs';

const { load } = await import('../dist/index.node.js');
const { only, json } = filterAndFile();
const results = [];
for (const workload of workloads) {
  if (!only.test(workload.id)) continue;
  const pe = await load({ fresh: true });
  const w = { ...workload, inputs: workload.make() };
  const before = pe.info.memory().heapBytes;
  const job = posenc(pe, w, tensors(pe, 'e2e'));
  job.run();
  const after = pe.info.memory().heapBytes;
  results.push({ w: w.id, before, after });
  console.log(
    `${w.id.padEnd(40)}${(before / 1e6).toFixed(1).padStart(6)} -> ${(after / 1e6).toFixed(1)} MB`,
  );
  job.dispose();
}
save(json, { memory: results });

// SPDX-License-Identifier: Apache-2.0
// Makes the trained heads of the lab on words: node tools/heads.mjs [STEPS [SEED]]
// One file for each task and usual encoding, by the training of the page; its header says how it came about.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { encodings, load, version } from '../dist/index.node.js';
import { pageServer } from './page-modules.mjs';

const [steps = 400, seed = 1, ...more] = process.argv.slice(2).map(Number);
const whole = (value, least, most) => Number.isInteger(value) && value >= least && value <= most;
if (more.length || !whole(steps, 1, 10_000) || !whole(seed, 0, 999)) {
  console.error('node tools/heads.mjs [STEPS from 1 to 10000 [SEED from 0 to 999]]');
  process.exit(2);
}
const longest = 16;
/** Bytes of a file at most. */
const most = 150_000;

const folder = fileURLToPath(new URL('../web/src/labs/words/trained/', import.meta.url));
const server = await pageServer();
const { askedAt, fixed, Run } = await server.ssrLoadModule('/src/train/run.ts');
const { tasks } = await server.ssrLoadModule('/src/train/tasks.ts');
const { headsFile } = await server.ssrLoadModule('/src/train/heads.ts');
const { usualPupils } = await server.ssrLoadModule('/src/labs/train/pupils.ts');

const pe = await load();
const made = new Date().toISOString().slice(0, 10);
const command = ['node tools/heads.mjs', ...process.argv.slice(2)].join(' ');
mkdirSync(folder, { recursive: true });
const files = new Map();
for (const task of tasks)
  for (const id of usualPupils(encodings)) {
    const info = encodings.find((one) => one.id === id);
    const setup = { task, longest, seed, steps };
    const run = new Run(pe, info, setup);
    let exam;
    while (!run.finished) exam = run.advance() ?? exam;
    const file = headsFile(run.parts, fixed.heads, info, setup, {
      asked: askedAt(task, longest),
      right: exam.right,
      made,
      command,
      package: `posenc ${version}`,
    });
    run.dispose();
    if (file.length > most)
      throw new Error(`${task} ${id}: ${file.length} bytes, and at most ${most}`);
    files.set(`${task}-${id}.safetensors`, file);
    console.log(`${task} ${id}: ${file.length} bytes, right ${exam.right.join(' ')}`);
  }
await server.close();
// Only once all are there do they replace the ones before.
for (const name of readdirSync(folder)) if (name.endsWith('.safetensors')) rmSync(folder + name);
for (const [name, file] of files) writeFileSync(folder + name, file);

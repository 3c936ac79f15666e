// SPDX-License-Identifier: Apache-2.0
// Makes the runs that the training lab shows at once: node tools/train.mjs [STEPS [SEED…]]
// and, of the first seed, what attention over one sequence was like at a few steps of them.
// They come out of the code the page trains with, so the page can ask whether its own run is the same to the last bit.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { encodings, load } from '../dist/index.node.js';
import { pageServer } from './page-modules.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const [steps = 400, ...seeds] = process.argv.slice(2).map(Number);

const server = await pageServer();
const { Run } = await server.ssrLoadModule('/src/train/run.ts');
const { tasks } = await server.ssrLoadModule('/src/train/tasks.ts');
const { usualPupils } = await server.ssrLoadModule('/src/labs/train/pupils.ts');

const pe = await load();
const runs = [];
const looks = [];
/** Weights as bytes: a map shows no more. */
const bytesOf = (weights) => Buffer.from(weights.map((weight) => Math.round(255 * weight)));
for (const seed of seeds.length ? seeds : [1])
  for (const task of tasks)
    for (const longest of [8, 16])
      for (const id of usualPupils(encodings)) {
        const setup = { task, longest, seed, steps };
        const run = new Run(
          pe,
          encodings.find((info) => info.id === id),
          setup,
        );
        const exams = [];
        const seen = [0, steps / 4, steps];
        const maps = [];
        const look = () => seen.includes(run.step) && maps.push(bytesOf(run.look()));
        look();
        while (!run.finished) {
          const exam = run.advance();
          if (exam) exams.push(exam);
          look();
        }
        run.dispose();
        if (seed === (seeds[0] ?? 1))
          looks.push({ id, setup, steps: seen, maps: maps.map((map) => map.toString('base64')) });
        runs.push({ id, setup, exams });
        const { loss, right } = exams.at(-1);
        console.log(
          `${task} ${longest} seed ${seed} ${id}: loss ${loss.toFixed(3)}, right ${right.join(' ')}`,
        );
      }
await server.close();

const command = ['node tools/train.mjs', ...process.argv.slice(2)].join(' ');
const made = new Date().toISOString().slice(0, 10);
const write = (file, start, list) =>
  writeFileSync(
    here(`../web/src/labs/train/${file}`),
    `{${start}[\n${list.map((one) => JSON.stringify(one)).join(',\n')}\n]}\n`,
  );
write(
  'earlier.json',
  `"made":${JSON.stringify(made)},"command":${JSON.stringify(command)},"runs":`,
  runs,
);
write('looks.json', '"looks":', looks);

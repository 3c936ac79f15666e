#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Measures the built page against its budgets and writes the table of docs/demo.md.
//   node bench/page.mjs [--runs 5] [--soak MINUTES] [--only REGEX] [--folder web/dist] [--keep]
// --only takes part of it, --keep leaves the table alone. Nothing here fails for a time: it is no test.
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium as driver } from 'playwright-core';
import { lighthouse } from './page/lighthouse.mjs';
import { memory } from './page/memory.mjs';
import { chromium, flags, median, root, served } from './page/serve.mjs';
import { answers, interactions, sliders, training, verdict, words } from './page/session.mjs';
import { withRows } from './page/table.mjs';
import { blocking } from './page/tasks.mjs';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '5' },
    soak: { type: 'string', default: '0' },
    only: { type: 'string', default: '.' },
    folder: { type: 'string', default: 'web/dist' },
    keep: { type: 'boolean', default: false },
  },
});
const runs = Number(values.runs);
const minutes = Number(values.soak);
const wanted = new RegExp(values.only);
const { address, stop } = await served(join(root, values.folder));
const browser = await driver.launch({ executablePath: chromium, args: flags });

const rows = [];
const whole = (value) => `${Math.round(value)} ms`;
const megabytes = (bytes) => `${bytes < 0 ? '−' : '+'}${(Math.abs(bytes) / 1e6).toFixed(2)} MB`;
const seconds = (value) => `${(value / 1000).toFixed(2)} s`;
/** A budget that something exceeds says so in its own row. */
function row(budget, shown, within, note = '') {
  rows.push([budget, `${within ? '' : '**over:** '}${shown}`, note]);
  console.log(`${within ? '  ' : '! '}${budget.padEnd(52)} ${shown}${note ? `  (${note})` : ''}`);
}
/** A part that finds nothing to measure takes none of the others with it. */
async function part(name, measure) {
  if (!wanted.test(name)) return;
  try {
    await measure();
  } catch (error) {
    row(
      name,
      `not measured: ${error instanceof Error ? error.message.split('\n')[0] : error}`,
      false,
    );
  }
}

await part('lighthouse', async () => {
  const found = await lighthouse(address, runs);
  const { performance: speed, accessibility, 'best-practices': practices, seo } = found.scores;
  const of = (name) => found[name];
  const spread = (name, show) => {
    const all = [...found.spread[name]].sort((a, b) => a - b);
    return `${show(all[0])} to ${show(all.at(-1))}`;
  };
  row(
    'Lighthouse ≥ 98 / 100 / 100 / 100',
    `${speed} / ${accessibility} / ${practices} / ${seo}`,
    speed >= 98 && accessibility + practices + seo === 300,
    `${found.version}, ${found.browser}`,
  );
  for (const [name, title, most, show] of [
    ['first-contentful-paint', 'first paint ≤ 1.0 s', 1000, seconds],
    ['largest-contentful-paint', 'largest paint ≤ 1.5 s', 1500, seconds],
    ['total-blocking-time', 'blocking ≤ 100 ms', 100, whole],
    ['cumulative-layout-shift', 'shift ≤ 0.02', 0.02, (value) => value.toFixed(3)],
  ])
    row(title, show(of(name)), of(name) <= most, spread(name, show));
  row(
    'first load ≤ 200 KB, ≤ 8 requests',
    `${(found.bytes / 1000).toFixed(0)} KB, ${found.requests} requests`,
    found.bytes <= 200_000 && found.requests <= 8,
  );
  for (const line of [...found.listed, ...found.lost, ...found.tasks]) console.log(`      ${line}`);
});
await part('blocking', async () => {
  const found = [];
  for (let run = 0; run < runs; run += 1) found.push(await blocking(browser, address));
  const blocked = median(found.map((one) => one.blocked));
  row(
    'blocking by processor time, 4 × slower ≤ 100 ms',
    whole(blocked),
    blocked <= 100,
    `longest task after the first paint ${whole(median(found.map(({ longest }) => longest)))}; other programs count less than by the clock`,
  );
});
await part('answer', async () => {
  const { cold, warm } = await answers(browser, address, 2 * runs + 1);
  row(
    'Lab 0 answers ≤ 1 s cold, ≤ 0.3 s warm',
    `${seconds(cold)}, ${seconds(warm)}`,
    cold <= 1000 && warm <= 300,
  );
});
await part('interactions', async () => {
  const { made, p95, most } = await interactions(browser, address, 3);
  row(
    'interaction to next paint, p95, 4 × slower ≤ 100 ms',
    whole(p95),
    p95 <= 100,
    `${made} interactions, of each the median of three walks`,
  );
  for (const one of most) console.log(`      ${one.duration} ms, ${one.name}`);
});
await part('sliders', async () => {
  const found = await sliders(browser, address, 'sinusoidal', 'rope');
  const budgets = { 'map 512 × 128': 16, 'map 4096 × 128': 50, 'decay of 8192': 16 };
  for (const [name, most] of Object.entries(budgets))
    row(
      `slider to painted ${name} ≤ ${most} ms`,
      `${found[name].hand.toFixed(1)} ms`,
      found[name].hand <= most,
      `dragged; by a key, after a rest, ${found[name].keys.toFixed(0)} ms`,
    );
});
await part('words', async () => {
  const took = await words(browser, address);
  row(
    '256 words, 8 heads of 64, computed and painted ≤ 30 ms',
    whole(took.one.frame),
    took.one.frame <= 30,
    `of one encoding, chosen by a key, from the frame that computes it; from the key ${whole(took.one.input)}; of two, dragged: by a sink ${whole(took.sink)}, by the soft cap ${whole(took.cap)}, by the seed, which projects all words anew, ${whole(took.seed)}`,
  );
});
await part('verdict', async () => {
  const took = await verdict(browser, address, {
    model_type: 'llama',
    head_dim: 128,
    max_position_embeddings: 4096,
    rope_theta: 10000,
  });
  row('configuration to verdict ≤ 50 ms', `${took.toFixed(0)} ms`, took <= 50);
});
await part('training', async () => {
  const { long, steps, longest } = await training(browser, address);
  const most = Math.max(0, ...long);
  row(
    'a training step ≤ 40 ms',
    `${Math.max(...steps)} ms`,
    Math.max(...steps) <= 40,
    'the slowest of four encodings',
  );
  row(
    'no task of the page above 50 ms while training',
    long.length ? `${long.length}, the longest ${whole(most)}` : 'none',
    long.length === 0,
    `by processor time the longest takes ${whole(longest)}`,
  );
});
await part('memory', async () => {
  const { after, points, slope, grown } = await memory(browser, address, minutes, (line) =>
    console.log(`      ${line}`),
  );
  row(
    'memory after all labs ≤ 150 MB',
    `${after.toFixed(0)} MB`,
    after <= 150,
    'of the page’s own thread, workers apart',
  );
  if (slope !== undefined)
    row(
      'memory: no trend',
      `${slope.toFixed(1)} MB an hour`,
      Math.abs(slope) < 6,
      `${minutes} minutes of use, ${points[0][1].toFixed(1)} MB at the start, ${points.at(-1)[1].toFixed(1)} at the end; in the last three quarters objects and buffers of the page ${megabytes(grown.page)}, compiled code ${megabytes(grown.code)}, what the browser keeps ${megabytes(grown.browser)}`,
    );
});
await browser.close();
stop();

if (!values.keep) {
  const place = join(root, 'docs/demo.md');
  const asked = process.argv.slice(2).join(' ');
  const run = {
    machine: `${cpus()[0]?.model.trim()}, ${cpus().length} cores`,
    stamp: `${new Date().toISOString().slice(0, 10)}${asked && ` \`${asked.replaceAll('|', '\\|')}\``}`,
  };
  writeFileSync(place, withRows(readFileSync(place, 'utf8'), rows, run));
  console.log('\nThe table: docs/demo.md');
}

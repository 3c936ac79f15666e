#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Writes what the benches left in JSON files as one document, and the table of targets on the terminal. Rows that are
// missed or lost stand there like the others.
//   node bench/report.mjs OUT.md FILE.json…      later files win
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { accuracy, memoryTargets, targets } from './targets.mjs';

const [document, ...files] = process.argv.slice(2);
const read = files.map((file) => JSON.parse(readFileSync(file, 'utf8')));
const all = (name) => read.flatMap((part) => part[name] ?? []);

// Ratios are of one run: of every row and mode the last file that has it counts.
const timed = new Map();
for (const { results = [] } of read) {
  const right = results.filter((r) => r.ms && r.ok !== false);
  for (const key of new Set(right.filter((r) => tool(r.who) === 'posenc').map(rowOf)))
    timed.set(
      key,
      right.filter((r) => rowOf(r) === key),
    );
}
/** The adapter's file gives our rows of the referee their name. */
function tool(who) {
  const name = who.replace(/@\d+$/, '');
  return name === 'contender' ? 'posenc' : name;
}
function rowOf({ w, mode }) {
  return `${w} ${mode}`;
}
/** The fastest way that one of the tools offers. */
function best(w, mode, who, only = /./, by = 'ms') {
  const ways = (timed.get(rowOf({ w, mode })) ?? []).filter(
    (r) => tool(r.who) === who && only.test(r.variant),
  );
  return ways.length > 0 ? ways.reduce((a, b) => (a[by] <= b[by] ? a : b)) : undefined;
}

const lines = [];
const table = (heads, rows) => {
  const cells = (values) => `| ${values.join(' | ')} |`;
  lines.push(cells(heads), cells(heads.map((_, i) => (i === 0 ? '---' : '---:'))));
  for (const row of rows) lines.push(cells(row));
  lines.push('');
};
const ms = (r) => (r.ms < 10 ? r.ms.toFixed(3) : r.ms.toFixed(1));

/** What other programs do to the machine makes medians longer, and minima far less. */
function verdict(ratio, shortest, least) {
  if (ratio >= least && shortest >= least) return 'yes';
  if (shortest >= least) return 'by the shortest';
  return Math.max(ratio, shortest) >= 1 ? 'missed' : 'lost';
}

const verdicts = targets.flatMap(({ name, w, mode, least, peer, only }) => {
  const ours = best(w, mode, 'posenc');
  const theirs = best(w, mode, peer, only);
  if (!ours || !theirs) return [];
  const ratio = theirs.ms / ours.ms;
  const [fastest, theirFastest] = [
    best(w, mode, 'posenc', /./, 'min'),
    best(w, mode, peer, only, 'min'),
  ];
  const shortest = theirFastest.min / fastest.min;
  const how = mode === 'e2e' ? 'arrays in and out' : 'in memory';
  return [
    [
      name,
      how,
      `${peer} ${theirs.variant}`,
      ms(theirs),
      ms(ours),
      ratio.toFixed(2),
      shortest.toFixed(2),
      `≥ ${least}`,
      verdict(ratio, shortest, least),
    ],
  ];
});

const versions = new Map();
for (const { who, version } of [...timed.values()].flat()) versions.set(tool(who), version);
const names = { posenc: 'posenc', 'ort-web': 'onnxruntime-web', 'ort-node': 'onnxruntime-node' };
lines.push(
  '# Benchmarks',
  '',
  'Written by `./run bench`; never edited. A ratio is the time of another library divided by ours, taken in turns in one run: above 1 ours is faster. Medians in milliseconds; of a library that offers several ways, its fastest counts. Times are processor time, or by the clock with `--peers`; where other programs ran on the machine the ratio of the shortest times is the better one.',
  '',
  `- Date: ${new Date().toISOString().slice(0, 10)}`,
  `- Machine: ${os.cpus()[0].model.trim()}, ${os.cpus().length} cores, ${os.arch()}, ${os.platform()}; one thread each; ${os.loadavg()[1].toFixed(1)} programs ran on average when this was written`,
  `- Node ${process.versions.node}, V8 ${process.versions.v8}`,
  ...[...versions]
    .filter(([, version]) => /^v?\d/.test(version) && !version.startsWith('v'))
    .map(([who, version]) => `- ${names[who] ?? who} ${version}`),
  '- Commands: `./run bench` for everything, `./run bench --only REGEX` for some rows, `./run bench --native` for the C++ library; one kernel at a time: the files of [bench](../bench)',
  '- In memory: inputs lie in the memory of the library and results stay there. Arrays in and out: every copy is timed.',
  '',
  '## Targets',
  '',
);
const heads = [
  'row',
  'mode',
  'against',
  'its ms',
  'our ms',
  'ratio',
  'of the shortest',
  'target',
  'holds',
];
table(heads, verdicts);

const errors = [...timed.values()].flat().filter((r) => tool(r.who) === 'posenc' && r.err > 0);
if (errors.length > 0) {
  const worst = errors.reduce((a, b) => (a.err >= b.err ? a : b));
  lines.push(
    `Largest distance from float64 on sampled rows of all of these: ${worst.err.toExponential(1)} (${worst.w}); the aim is ${accuracy}.`,
    '',
  );
}

const memory = new Map(all('memory').map((r) => [r.w, r]));
if (memory.size > 0) {
  lines.push('## Memory of the module', '', 'After one attention from arrays to arrays.', '');
  table(
    ['workload', 'MB'],
    [...memory.values()].map((r) => [r.w, (r.after / 1e6).toFixed(1)]),
  );
  const { most, growth } = memoryTargets;
  const [top, from, to] = [most.w, growth.from, growth.to].map((w) => memory.get(w)?.after);
  if (top && from)
    lines.push(
      `Targets: ${(top / 1e6).toFixed(1)} MB of at most ${most.megabytes} for ${most.w}; twice the length takes ${(to / from).toFixed(2)} times the memory, at most ${growth.most}.`,
      '',
    );
}

const scores = [...new Map(all('scores').map((r) => [r.id, r])).values()];
if (scores.length > 0) {
  lines.push(
    '## Encodings that act inside attention',
    '',
    'Causal 12 × 1024 × 64, against the same without an encoding. Terms that look at queries or keys may take longer.',
    '',
  );
  table(
    ['encoding', 'ms', 'times no encoding', 'at most', 'holds'],
    scores.map((r) => [
      r.id,
      r.ms.toFixed(1),
      r.ratio.toFixed(2),
      String(r.limit),
      r.ratio <= r.limit ? 'yes' : 'missed',
    ]),
  );
}

const cached = [...new Map(all('cache').map((r) => [`${r.L} ${r.name}`, r])).values()];
if (cached.length > 0) {
  lines.push('## Decode steps over the cache', '', 'One token, 32 heads on 8 of width 128.', '');
  table(
    ['kept as', 'L', 'ms', 'speed against f32'],
    cached.map((r) => [r.name, String(r.L), r.ms.toFixed(3), r.ratio.toFixed(2)]),
  );
}

/** The shortest time of the native runtime, of whichever run. */
function nativePeer(w) {
  const of = all('results').filter(
    (r) => r.w === w && r.mode === 'resident' && tool(r.who) === 'ort-node' && r.min,
  );
  return of.length > 0 ? of.reduce((a, b) => (a.min <= b.min ? a : b)) : undefined;
}

const native = new Map();
for (const { context, benchmarks = [] } of read)
  for (const r of benchmarks) native.set(`${r.name} ${context.instructions}`, { ...r, context });
if (native.size > 0) {
  lines.push('## The C++ library', '', 'By Google Benchmark: processor time of one thread.', '');
  table(
    ['kernel', 'instructions', 'ms', 'against onnxruntime-node'],
    [...native.values()].map((r) => {
      const peer = nativePeer(r.name);
      const time = r.cpu_time * { ns: 1e-6, us: 1e-3, ms: 1, s: 1e3 }[r.time_unit];
      const ratio = peer ? (peer.min / time).toFixed(2) : '';
      return [r.name, r.context.instructions, time.toFixed(3), ratio];
    }),
  );
}

const workloads = [...new Set([...timed.values()].flat().map((r) => r.w))];
const others = [...versions.keys()].filter((who) => who !== 'posenc');
lines.push('## Every comparison', '', 'Milliseconds, and in brackets the ratio.', '');
table(
  ['workload', 'mode', 'posenc', ...others],
  workloads.flatMap((w) =>
    ['resident', 'e2e'].flatMap((mode) => {
      const ours = best(w, mode, 'posenc');
      if (!ours) return [];
      const cells = others.map((who) => {
        const theirs = best(w, mode, who);
        return theirs ? `${ms(theirs)} (${(theirs.ms / ours.ms).toFixed(2)})` : '';
      });
      return [[w, mode, ms(ours), ...cells]];
    }),
  ),
);

if (existsSync('build/bench/workers.txt'))
  lines.push(
    '## Workers',
    '',
    'By the clock, arrays in and out.',
    '',
    '```',
    readFileSync('build/bench/workers.txt', 'utf8').trim(),
    '```',
    '',
  );
if (existsSync('build/bench/sizes.txt'))
  lines.push(
    '## Sizes',
    '',
    '```',
    readFileSync('build/bench/sizes.txt', 'utf8').trim(),
    '```',
    '',
  );

writeFileSync(document, lines.join('\n').replace(/\n+$/, '\n'));

console.log('\nratio  target  row');
for (const [name, how, , , , , ratio, target, holds] of verdicts)
  console.log(
    `${ratio.padStart(5)}  ${target.padEnd(6)}  ${name}, ${how}${holds === 'yes' ? '' : `: ${holds}`}`,
  );

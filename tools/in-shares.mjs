// SPDX-License-Identifier: Apache-2.0
// Runs a GoogleTest program once on each core, each run with its share of the tests, and writes one result for all.
//   node tools/in-shares.mjs RESULT.json PROGRAM ARGUMENT…
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

const [result, program, ...given] = process.argv.slice(2);
const shares = availableParallelism();

/** Resolves to { status, log, part }; the logs stay apart, since a skipped test's reason stands between two lines of its own. */
const run = (share) =>
  new Promise((resolve) => {
    const part = `${result}.${share}`;
    rmSync(part, { force: true });
    const child = spawn(program, [...given, `--gtest_output=json:${part}`], {
      env: { ...process.env, GTEST_TOTAL_SHARDS: `${shares}`, GTEST_SHARD_INDEX: `${share}` },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let log = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        log += text;
      });
    child.once('error', (error) => resolve({ status: 127, log: `${error.message}\n`, part }));
    child.once('close', (code, signal) =>
      resolve({ status: code ?? 1, log: signal ? `${log}ended by ${signal}\n` : log, part }),
    );
  });

const runs = await Promise.all(Array.from({ length: shares }, (_, share) => run(share)));
// What ended early is what somebody looks for at the end of the log.
for (const { log } of runs.toSorted(
  (a, b) => Number(existsSync(b.part)) - Number(existsSync(a.part)),
))
  process.stdout.write(log);
process.exitCode = runs.find(({ status }) => status !== 0)?.status ?? 0;
// A share that left nothing leaves the whole without a result, which counts as a failure.
if (runs.every(({ part }) => existsSync(part))) {
  const parts = runs.map(({ part }) => JSON.parse(readFileSync(part, 'utf8')));
  writeFileSync(result, JSON.stringify({ testsuites: parts.flatMap((each) => each.testsuites) }));
} else if (process.exitCode === 0) process.exitCode = 1;
for (const { part } of runs) rmSync(part, { force: true });

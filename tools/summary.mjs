// SPDX-License-Identifier: Apache-2.0
// Reads what the suites left behind and prints one table, the reasons of skips, the names of failures, and the count as the last line.
//   node tools/summary.mjs build/results
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { goldenCounts, goldenTable } from './golden-counts.mjs';

const folder = process.argv[2];
const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));

/** Each format's reader returns { passed, failed: [text], skipped: [{ name, reason }] }. */
const readers = {
  gtest(result, log) {
    const reasons = skipReasonsIn(log);
    const tests = result.testsuites.flatMap((group) => group.testsuite);
    const nameOf = (test) => `${test.classname}.${test.name}`;
    const skipped = tests.filter((test) => test.result === 'SKIPPED' || test.status === 'NOTRUN');
    const failed = tests.filter((test) => test.failures?.length > 0);
    return {
      passed: tests.length - failed.length - skipped.length,
      failed: failed.map((test) => nameOf(test) + startOf(test.failures[0].failure)),
      skipped: skipped.map((test) => ({
        name: nameOf(test),
        reason: reasons.get(nameOf(test)) ?? 'no reason given',
      })),
    };
  },
  vitest(result) {
    const tests = result.testResults.flatMap((file) => file.assertionResults);
    const failed = tests.filter((test) => test.status === 'failed');
    // A file that does not even load has no test to fail.
    const broken = result.testResults.filter(
      (file) =>
        file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed'),
    );
    return {
      passed: tests.filter((test) => test.status === 'passed').length,
      failed: [
        ...failed.map((test) => test.fullName + startOf(test.failureMessages?.[0])),
        ...broken.map((file) => file.name + startOf(file.message)),
      ],
      skipped: tests
        .filter((test) => test.status !== 'passed' && test.status !== 'failed')
        .map((test) => ({
          name: test.fullName,
          reason: reasonIn([...test.ancestorTitles, test.title]),
        })),
      golden: goldenCounts(result, reasonIn),
    };
  },
  plain: (result) => ({
    passed: result.passed,
    failed: Array.from({ length: result.failed }, (_, i) => result.failures?.[i] ?? 'see its log'),
    skipped: result.skipped ?? [],
  }),
};

/** The first lines of a failure's message, indented under its name. */
const startOf = (message) =>
  (message ?? '')
    .split('\n')
    .slice(0, 5)
    .map((line) => `\n      ${line.slice(0, 200)}`)
    .join('');

/** Our rule: a test that is skipped carries the reason in its title or in that of its group, behind "skipped: ". */
const reasonIn = (titles) =>
  titles
    .map((title) => /\([^()]*skipped: (.*)\)$|skipped: (.*)$/.exec(title))
    .filter((match) => match !== null)
    .map((match) => match[1] ?? match[2])
    .at(0) ?? 'no reason given';

/** GoogleTest leaves the message of a skip out of its JSON (before 1.14); the log has it between the test's own two lines. */
function skipReasonsIn(log) {
  const reasons = new Map();
  for (const [, reason, name] of log.matchAll(
    /: Skipped\n(.*)\n(?:.*\n)*?\[ {2}SKIPPED \] (\S+) \(/g,
  ))
    reasons.set(name, reason);
  return reasons;
}

function read(meta) {
  const counts = { passed: 0, failed: [], skipped: [] };
  if (meta.format === 'exit') {
    if (meta.exit === 0) counts.passed = 1;
    else counts.failed.push(`see ${meta.log}`);
    return counts;
  }
  let outcome;
  try {
    const log = existsSync(meta.log) ? readFileSync(meta.log, 'utf8') : '';
    outcome = readers[meta.format](readJson(meta.result), log);
  } catch {
    counts.failed.push(`left no result that can be read: see ${meta.log}`);
    return counts;
  }
  if (outcome.passed + outcome.failed.length === 0)
    outcome.failed.push(`ran no test: see ${meta.log}`);
  // A crash after the result was written, a leak found at exit, an unhandled rejection: no test failed, and yet the suite did.
  if (meta.exit !== 0 && outcome.failed.length === 0)
    outcome.failed.push(`ended with status ${meta.exit}: see ${meta.log}`);
  return outcome;
}

const suites = readdirSync(folder)
  .filter((name) => name.endsWith('.suite.json'))
  .sort()
  .map((name) => readJson(join(folder, name)))
  .map((meta) => ({ ...meta, ...read(meta) }));

const row = (name, ...numbers) =>
  console.log(name.padEnd(28) + numbers.map((number) => String(number).padStart(9)).join(''));
const total = { passed: 0, failed: 0, skipped: 0, seconds: 0 };
console.log();
row('suite', 'passed', 'failed', 'skipped', 'seconds');
for (const suite of suites) {
  row(
    suite.suite,
    suite.passed,
    suite.failed.length,
    suite.skipped.length,
    suite.seconds.toFixed(1),
  );
  total.passed += suite.passed;
  total.failed += suite.failed.length;
  total.skipped += suite.skipped.length;
  total.seconds += suite.seconds;
}
row('all', total.passed, total.failed, total.skipped, total.seconds.toFixed(1));

const skips = new Map();
for (const suite of suites) {
  for (const { reason } of suite.skipped) {
    const key = `${suite.suite}: ${reason}`;
    skips.set(key, (skips.get(key) ?? 0) + 1);
  }
}
if (skips.size > 0) console.log('\nskipped, and why');
for (const [reason, count] of skips) console.log(`${String(count).padStart(6)}  ${reason}`);

// Chromium reads only the selection in tests/golden, Node whatever is there: the fuller table is the one to print.
const tables = suites.map(({ golden }) => goldenTable(golden ?? {}));
const fullest = tables.sort((a, b) => b.length - a.length).at(0) ?? [];
if (fullest.length > 0) console.log(`\n${fullest.join('\n')}`);

const shown = 50;
const failures = suites.flatMap((suite) => suite.failed.map((name) => `  ${suite.suite}: ${name}`));
if (failures.length > 0) console.log(`\nfailed\n${failures.slice(0, shown).join('\n')}`);
if (failures.length > shown) console.log(`  and ${failures.length - shown} more`);

console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed > 0 || suites.length === 0 ? 1 : 0;

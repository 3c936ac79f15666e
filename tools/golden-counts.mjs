// SPDX-License-Identifier: Apache-2.0
// Of a vitest result, how many reference cases of each family were read, passed, failed or were skipped, and why. A family is
// the common beginning of its files' names (tests/js/golden/families.ts), and the title of the group its cases stand in.

/** The group of tests/js/golden.test.ts that all families stand in. */
const goldenTitle = 'golden values';

/** { family: { read, passed, failed, skipped: Map(reason, count) } } */
export function goldenCounts(result, reasonIn) {
  const families = {};
  const tests = result.testResults.flatMap((file) => file.assertionResults);
  for (const { ancestorTitles, title, status } of tests) {
    const [group, family] = ancestorTitles;
    if (group !== goldenTitle || family === undefined) continue;
    families[family] ??= { read: 0, passed: 0, failed: 0, skipped: new Map() };
    const counts = families[family];
    counts.read += 1;
    if (status === 'passed' || status === 'failed') counts[status] += 1;
    else {
      const reason = reasonIn([family, title]);
      counts.skipped.set(reason, (counts.skipped.get(reason) ?? 0) + 1);
    }
  }
  return families;
}

/** The lines to print; none where no reference case was read. */
export function goldenTable(families) {
  const names = Object.keys(families).sort();
  if (names.length === 0) return [];
  const all = { read: 0, passed: 0 };
  const lines = names.map((name) => {
    const { read, passed, failed, skipped } = families[name];
    all.read += read;
    all.passed += passed;
    const notes = [
      ...(failed > 0 ? [`${failed} failed`] : []),
      ...[...skipped].map(([reason, count]) => `${count} skipped: ${reason}`),
    ];
    return row(`${name}*`, passed, read) + (notes.length > 0 ? `  ${notes.join('; ')}` : '');
  });
  return [
    'reference cases                     passed / read',
    ...lines,
    row('all', all.passed, all.read),
  ];
}

const row = (name, passed, read) =>
  `  ${name.padEnd(38)}${String(passed).padStart(4)} /${String(read).padStart(4)}`;

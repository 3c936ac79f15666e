// SPDX-License-Identifier: Apache-2.0
// What `./run bench --page` writes: no row takes the date or the options of a run that did not measure it.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { withRows } from '../../bench/page/table.mjs';

const place =
  'before\n<!-- measured: written by ./run bench --page -->\n<!-- measured: end -->\nafter\n';
const first = { machine: 'Some CPU, 2 cores', stamp: '2026-01-02' };
const later = { machine: 'Some CPU, 2 cores', stamp: '2026-03-04 `--only b\\|c`' };

it('keeps the stamp of a row that a later run did not measure', () => {
  const once = withRows(
    place,
    [
      ['a ≤ 1', '0.5', ''],
      ['b ≤ 1', '0.6', 'of 3'],
    ],
    first,
  );
  const twice = withRows(once, [['b ≤ 1', '0.7', '']], later);
  expect(twice).toContain('| a ≤ 1 | 0.5 |  | 2026-01-02 |\n');
  expect(twice).toContain('| b ≤ 1 | 0.7 |  | 2026-03-04 `--only b\\|c` |\n');
  expect(twice).not.toContain('0.6');
  expect(twice.split('\n').filter((line) => line.startsWith('| '))).toHaveLength(3);
  expect(twice).toMatch(/^before\n[\s\S]*\nafter\n$/);
  // The same again changes nothing.
  expect(withRows(twice, [['b ≤ 1', '0.7', '']], later)).toBe(twice);
});

it('drops rows of another machine, and those without a date', () => {
  const once = withRows(place, [['a ≤ 1', '0.5', '']], first);
  const other = { ...later, machine: 'Another, 8 cores' };
  expect(withRows(once, [['b ≤ 1', '0.7', '']], other)).not.toContain('0.5');
  const undated = once.replace(' | 2026-01-02 |', ' |');
  expect(withRows(undated, [['b ≤ 1', '0.7', '']], later)).not.toContain('0.5');
  expect(() => withRows('nothing', [], first)).toThrow(/no place/);
});

it('stands in docs/demo.md as the tool writes it', () => {
  const text = readFileSync(new URL('../../docs/demo.md', import.meta.url), 'utf8');
  const [, machine = ''] = /`\.\/run bench --page` on (.*?), each row/.exec(text) ?? [];
  expect(withRows(text, [], { machine, stamp: '' })).toBe(text);
});

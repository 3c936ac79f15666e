// SPDX-License-Identifier: Apache-2.0
// The table of docs/demo.md. Each row says when and with which options it was measured, since a run may take part of them only.

const [begin, end] = ['<!-- measured: written by ./run bench --page -->', '<!-- measured: end -->'];
const head = ['budget', 'measured', '', 'on, with'];

/** @param {readonly string[]} cells */
const line = (cells) => `| ${cells.join(' | ')} |`;
/** @param {string} row */
const nameOf = (row) => row.split(' | ')[0] ?? '';

/**
 * The text with `rows` in its table. Rows that were not measured now stay as they are, stamp included; those of another machine
 * go, and so do those that do not say when they were measured.
 * @param {string} text
 * @param {readonly (readonly [budget: string, shown: string, note: string])[]} rows
 * @param {{ machine: string, stamp: string }} run
 */
export function withRows(text, rows, { machine, stamp }) {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error('docs/demo.md has no place for what was measured');
  const old = text.slice(from, to);
  const said = `Measured by \`./run bench --page\` on ${machine}, each row with the options of its last column. Lighthouse: medians, its own settings for a phone on slow 4G, least and most beside them. A row that begins with “over” misses its budget.`;
  const kept = old.includes(`on ${machine}, each row`)
    ? old.split('\n').filter((row) => /^\| .* \| \d{4}-\d\d-\d\d(?:[^|\\]|\\.)* \|$/.test(row))
    : [];
  const all = new Map(kept.map((row) => [nameOf(row), row]));
  for (const row of rows.map((one) => line([...one, stamp]))) all.set(nameOf(row), row);
  const table = [begin, '', said, '', line(head), '|---|---|---|---|', ...all.values(), '', ''];
  return text.slice(0, from) + table.join('\n') + text.slice(to);
}

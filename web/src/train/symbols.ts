// SPDX-License-Identifier: Apache-2.0
// The symbols of the tasks as a text that can be typed.
import { answers, delay, labelsOf, probeOf, type Task, vocabulary } from './tasks.ts';

/** Tokens at one place: the second is added to the first, -1 is none. */
export interface Placed {
  readonly token: number;
  readonly beside: number;
}

const first: Record<Task, number> = {
  copy: vocabulary.copy - answers.copy,
  recall: vocabulary.recall - answers.recall,
};
const lastLetter = (task: Task): string => String.fromCharCode(96 + answers[task]);

/** What can be typed, in words. */
export const alphabetOf = (task: Task): string =>
  task === 'copy'
    ? `the letters a to ${lastLetter(task)}`
    : `keys from 0 to ${first.recall - 1} with a value from a to ${lastLetter(task)}, as 12=c, and keys whose value is asked for, as 12?`;

const known: Record<Task, RegExp> = {
  copy: /^([a-z])$/,
  recall: /^(\d{1,3})(?:=([a-z])|\?)$/,
};
const letterAt = (letter: string): number => letter.charCodeAt(0) - 97;

/** As `labelsOf` writes it; undefined for what the task does not have. */
export function symbolOf(task: Task, label: string): Placed | undefined {
  const [found, one = '', value] = known[task].exec(label) ?? [];
  if (found === undefined) return undefined;
  if (task === 'copy') {
    const token = letterAt(one);
    return token < answers.copy ? { token, beside: -1 } : undefined;
  }
  const [token, beside] = [Number(one), value === undefined ? -1 : letterAt(value)];
  if (token >= first.recall || beside >= answers.recall) return undefined;
  return { token, beside: beside < 0 ? -1 : first.recall + beside };
}

/** The symbols of a text, and what in it is none of the task. */
export function readSequence(
  task: Task,
  text: string,
  most: number,
): { readonly labels: string[]; readonly strange: string[]; readonly more: boolean } {
  const plain = text.toLowerCase();
  const pieces = task === 'copy' ? [...plain.replace(/\s+/gu, '')] : plain.split(/\s+/u);
  const labels: string[] = [];
  const strange: string[] = [];
  let more = false;
  for (const piece of pieces) {
    if (piece === '') continue;
    const symbol = symbolOf(task, piece);
    if (!symbol) strange.push(piece);
    else if (labels.length === most) more = true;
    // One name for each: 007=c is 7=c.
    else labels.push(task === 'copy' ? piece : piece.replace(/^0+(?=\d)/, ''));
  }
  return { labels, strange, more };
}

/** The sequence that attention is watched with in training. */
export const sampleOf = (task: Task, longest: number): string =>
  labelsOf(task, probeOf(task, longest)).join(' ');

/** Where answers are asked for and their place is known, as `sourcesOf` takes it. */
export function askedIn(
  task: Task,
  labels: readonly string[],
): { tokens: Int32Array; beside: Int32Array; rows: Int32Array } {
  const symbols = labels.map((label) => symbolOf(task, label) ?? { token: -1, beside: -1 });
  const tokens = Int32Array.from(symbols, ({ token }) => token);
  const beside = Int32Array.from(symbols, (symbol) => symbol.beside);
  const rows = symbols.flatMap(({ token }, row) => {
    if (task === 'copy') return row >= delay ? [row] : [];
    const source = tokens.indexOf(token);
    return beside[row] === -1 && source < row && (beside[source] as number) >= 0 ? [row] : [];
  });
  return { tokens, beside, rows: Int32Array.from(rows) };
}

// SPDX-License-Identifier: Apache-2.0
// What the small decoders learn: sequences of tokens, and questions at some of them. Copying is a matter of places alone,
// recalling one of content alone, so that an encoding helps with the one and can only disturb the other.
import { hash, shuffled, uniform } from '../model/random.ts';

export const tasks = ['copy', 'recall'] as const;
export type Task = (typeof tasks)[number];

export interface Batch {
  readonly sequences: number;
  /** Places of each. */
  readonly length: number;
  /** [sequences, length] */
  readonly tokens: Int32Array;
  /** A second token at the same place, whose vector is added; -1 is none. */
  readonly beside: Int32Array;
  /** Rows of `tokens` at which something is asked, and the right answer. */
  readonly rows: Int32Array;
  readonly targets: Int32Array;
}

/** How many steps ago the symbol was that copying asks for. */
export const delay = 4;
const letters = 16;
/** None occurs twice in a sequence, so that this many pairs are the most. */
const keys = 128;
const values = 8;
export const vocabulary: Record<Task, number> = { copy: letters, recall: keys + values };
/** Answers are the last tokens of the vocabulary. */
export const answers: Record<Task, number> = { copy: letters, recall: values };

interface Place {
  readonly token: number;
  readonly beside?: number;
  readonly answer?: number;
}

/** n symbols; at each, which one came `delay` steps before? */
function copySequence(n: number, next: () => number): Place[] {
  const said = Array.from({ length: n }, () => Math.floor(next() * letters));
  return said.map((token, i) =>
    i < delay ? { token } : { token, answer: said[i - delay] as number },
  );
}

/** n keys, each with a value at the same place; then the keys alone, in another order: which value was it? */
function recallSequence(n: number, next: () => number): Place[] {
  const all = Array.from({ length: keys }, (_, i) => i);
  const pairs = shuffled(all, next)
    .slice(0, n)
    .map((token): Place => ({ token, beside: keys + Math.floor(next() * values) }));
  const asked = shuffled(pairs, next).map(
    ({ token, beside }): Place => ({ token, answer: (beside as number) - keys }),
  );
  return [...pairs, ...asked];
}

export function batchOf(task: Task, sequences: number, n: number, next: () => number): Batch {
  const places = Array.from({ length: sequences }, () =>
    task === 'copy' ? copySequence(n, next) : recallSequence(n, next),
  ).flat();
  const asked = places.flatMap(({ answer }, row) => (answer === undefined ? [] : [row]));
  return {
    sequences,
    length: places.length / sequences,
    tokens: Int32Array.from(places, ({ token }) => token),
    beside: Int32Array.from(places, ({ beside }) => beside ?? -1),
    rows: Int32Array.from(asked),
    targets: Int32Array.from(asked, (row) => places[row]?.answer ?? 0),
  };
}

/** How many answers a sequence of a length is asked for. */
export const questions = (task: Task, n: number): number => (task === 'copy' ? n - delay : n);
/** Below this nothing is asked. */
export const shortest: Record<Task, number> = { copy: delay + 1, recall: 1 };

/** The training data of a seed: all lengths up to `longest`, each as likely. The same for every encoding. */
export function lessons(task: Task, longest: number, seed: number): (sequences: number) => Batch {
  const next = uniform(hash(`lessons:${task}:${longest}:${seed}`));
  const least = shortest[task];
  return (sequences) =>
    batchOf(task, sequences, least + Math.floor(next() * (longest - least + 1)), next);
}

/** The test of a length is the same for every run. */
export const examOf = (task: Task, n: number, sequences: number): Batch =>
  batchOf(task, sequences, n, uniform(hash(`exam:${task}:${n}`)));

/** Lengths from half of the trained one to eight times it, at which every task asks something. */
export const examLengths = (longest: number): number[] =>
  [0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4, 6, 8]
    .map((times) => Math.round(times * longest))
    .filter((n) => n > delay);

/** One sequence of the longest length trained on, the same for every run, to watch attention with. */
export const probeOf = (task: Task, longest: number): Batch =>
  batchOf(task, 1, longest, uniform(hash(`probe:${task}:${longest}`)));

const letterOf = (token: number): string => String.fromCharCode(97 + token);

/** The places of a sequence in words. */
export const labelsOf = (task: Task, { tokens, beside }: Batch): string[] =>
  Array.from(tokens, (token, place) => {
    if (task === 'copy') return letterOf(token);
    const value = beside[place] as number;
    return value < 0 ? `${token}?` : `${token}=${letterOf(value - keys)}`;
  });

/** For each place that asks, the place that holds the answer; -1 elsewhere. Of a single sequence. */
export function sourcesOf(
  task: Task,
  { tokens, rows }: Pick<Batch, 'tokens' | 'rows'>,
): Int32Array {
  const sources = new Int32Array(tokens.length).fill(-1);
  for (const row of rows)
    sources[row] = task === 'copy' ? row - delay : tokens.indexOf(tokens[row] as number);
  return sources;
}

/** Mean share of attention on the place that holds the answer, over the places that ask. */
export function foundOf(cells: Float32Array, sources: Int32Array): number {
  const places = sources.length;
  let [sum, asked] = [0, 0];
  sources.forEach((source, row) => {
    if (source < 0) return;
    sum += cells[row * places + source] as number;
    asked += 1;
  });
  return sum / asked;
}

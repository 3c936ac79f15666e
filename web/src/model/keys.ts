// SPDX-License-Identifier: Apache-2.0
// What the labs below the first two keep in the address: one key each, with its default and how it is read and written.

export interface Key<T> {
  readonly fallback: T;
  /** Undefined where the text is no value. */
  read(text: string): T | undefined;
  write(value: T): string;
}

const text = (fallback = '', most = 1e5): Key<string> => ({
  fallback,
  read: (given) => (given.length <= most ? given : undefined),
  write: (value) => value,
});
const number = (fallback: number, least: number, most: number, whole = false): Key<number> => ({
  fallback,
  read: (given) => {
    const value = given.trim() === '' ? Number.NaN : Number(given);
    const fits = value >= least && value <= most && (!whole || Number.isInteger(value));
    // −0 is written as 0, so it is read as 0.
    return fits ? value + 0 : undefined;
  },
  write: String,
});
const flag = (fallback = false): Key<boolean> => ({
  fallback,
  read: (given) => (given === '1' ? true : given === '0' ? false : undefined),
  write: (value) => (value ? '1' : '0'),
});

const choice = <T extends string>(...names: readonly [T, ...T[]]): Key<T> => ({
  fallback: names[0],
  read: (given) => names.find((name) => name === given),
  write: (value) => value,
});

/** The address holds what is short; a longer text travels as a file. */
export const longestShared = 6144;
/** Lengths of sequences that a lab takes without drawing them. */
export const longestSequence = 2 ** 20;

export const keys = {
  /** Atlas: further encodings on its axis, joined by commas; empty is the usual choice. */
  others: text('', 256),
  /** Config doctor: the name of a configuration that comes with the page, or ~ and a packed text. */
  cfg: text(),
  /** The one it is compared with, in the same form. */
  base: text(),
  /** Length to look at; 0 is what the model was trained for. */
  at: number(0, 0, longestSequence * 16, true),
  kind: text('', 64),
  lenient: flag(),
  /** Beyond the trained length: width of a head, base, trained length and target. */
  hd: number(128, 4, 512, true),
  theta: number(10000, 1.0001, 1e12),
  from: number(4096, 16, longestSequence, true),
  to: number(32768, 32, longestSequence, true),
  /** Methods drawn, joined by commas; empty is the usual choice. */
  methods: text('', 1024),
  /** Lists of divisors: name:1,2,3;name:… */
  lists: text('', 16384),
  /** Whether scores take along what a method multiplies them by. */
  hot: flag(true),
  /** Attention on your words: the text, how it is cut, and the layer that reads it. */
  say: text('the animal did not cross the street because the animal was tired', 4096),
  cut: choice('words', 'letters', 'pairs'),
  /** Where its heads come from: a file of trained ones, or empty for random projections; and what such heads read, empty for a sample. */
  trained: text('', 64),
  seq: text('', 4096),
  /** The encoding compared with; empty is the one that acts nowhere. */
  with: text('', 64),
  heads: number(4, 1, 8, true),
  width: number(64, 16, 512, true),
  seed: number(1, 0, 999, true),
  sharp: number(1.6, 0, 8),
  cap: number(0, 0, 1000),
  /** What a learned sink adds to the sum of every softmax; 0 is none. */
  sink: number(0, 0, 1e6),
  hide: choice('open', 'causal', 'window', 'first', 'prefix'),
  span: number(4, 1, 512, true),
  part: choice('both', 'content', 'position'),
  /** One head; -1 is the mean of all. */
  one: number(-1, -1, 7, true),
  row: number(10, 0, 511, true),
  /** Places of the words, as numbers with dots between. */
  mix: text('', 4096),
  /** Benchmark: what is timed, how large, how often, against whom. */
  work: choice('rotation', 'attention', 'decode', 'bias'),
  size: choice('usual', 'small', 'large', 'tiny'),
  samples: number(30, 3, 300, true),
  peer: flag(true),
  wrong: flag(),
  /** Training: the task, the longest length trained on, steps, seed, and encodings joined by commas; empty is the usual choice. */
  learn: choice('copy', 'recall'),
  upto: number(16, 8, 16, true),
  rounds: number(400, 25, 10000, true),
  dice: number(1, 0, 999, true),
  /** How many seeds, from that one on. */
  throws: choice('1', '3', '5'),
  /** Of the probe: the head, and the step of the training; -1 is the latest. */
  eye: number(0, 0, 1, true),
  when: number(-1, -1, 10000, true),
  pupils: text('', 256),
  /** Use it: whose program, and in which form. */
  show: choice('order', 'atlas', 'beyond', 'words', 'config', 'bench', 'train'),
  form: choice('npm', 'page', 'node', 'torch'),
} as const;

export type Values = {
  readonly [K in keyof typeof keys]: (typeof keys)[K] extends Key<infer T> ? T : never;
};
export type KeyName = keyof Values;
export const keyNames = Object.keys(keys) as KeyName[];

export const fallbacks = Object.fromEntries(
  keyNames.map((name) => [name, keys[name].fallback]),
) as unknown as Values;

/** The value in an address, or undefined where it is no value of this key. */
export const readKey = (name: KeyName, given: string): Values[KeyName] | undefined =>
  keys[name].read(given);
export const writeKey = (name: KeyName, values: Values): string =>
  (keys[name] as Key<Values[KeyName]>).write(values[name]);

/** Whether any of these differs; a lab that draws on every change of another's values would draw for nothing. */
export const differ = (one: Values, other: Values, ...names: readonly KeyName[]): boolean =>
  one !== other && names.some((name) => one[name] !== other[name]);

// SPDX-License-Identifier: Apache-2.0
// What is timed: inputs, the answer in double precision, and how many operations an answer takes.
import { normal } from '../model/random.ts';

export const works = ['rotation', 'attention', 'decode', 'bias'] as const;
export type Work = (typeof works)[number];
export const sizes = ['usual', 'small', 'large', 'tiny'] as const;
export type Size = (typeof sizes)[number];

/** `tiny` is for trying the machinery out: a call takes less than a timer can tell. */
const tokens: Record<Work, Record<Size, number>> = {
  rotation: { tiny: 8, small: 128, usual: 512, large: 2048 },
  attention: { tiny: 8, small: 128, usual: 256, large: 512 },
  decode: { tiny: 16, small: 512, usual: 2048, large: 8192 },
  bias: { tiny: 8, small: 128, usual: 256, large: 512 },
};
export const heads = 8;
export const headDim = 64;

export interface Workload {
  readonly work: Work;
  /** Rows of queries and of keys, for each head. */
  readonly queries: number;
  readonly keys: number;
  /** [heads, rows, headDim], as all but one contender take them. */
  readonly q: Float32Array;
  readonly k: Float32Array;
  readonly v: Float32Array;
  readonly scale: number;
  /** Multiplications and additions whose result is used: a causal score above the diagonal is none. */
  readonly operations: number;
  /** How pairs of channels are chosen where vectors are turned. */
  readonly interleaved: boolean;
}

/** Rows of queries and of keys. */
export const rowsOf = (work: Work, size: Size): { queries: number; keys: number } => ({
  queries: work === 'decode' ? 1 : tokens[work][size],
  keys: tokens[work][size],
});

export function workload(work: Work, size: Size, seed: number, interleaved: boolean): Workload {
  const { queries, keys } = rowsOf(work, size);
  const rows = (which: number, count: number): Float32Array =>
    normal(seed * 8 + which, heads * count * headDim);
  const seen = queries === 1 ? keys : (keys * (keys + 1)) / 2;
  const none = new Float32Array(0);
  const attends = work !== 'rotation';
  return {
    work,
    queries,
    keys,
    q: rows(0, queries),
    k: attends ? rows(1, keys) : none,
    v: attends ? rows(2, keys) : none,
    scale: 1 / Math.sqrt(headDim),
    operations: attends ? 4 * heads * seen * headDim : 3 * heads * queries * headDim,
    interleaved,
  };
}

/** Cosines and sines of every row and pair, [rows, headDim / 2], base 10,000. */
export function angles(rows: number): { cos: Float64Array; sin: Float64Array } {
  const pairs = headDim / 2;
  const at = (i: number): number => Math.floor(i / pairs) * 10000 ** ((-2 * (i % pairs)) / headDim);
  const of = (turn: (angle: number) => number) =>
    Float64Array.from({ length: rows * pairs }, (_, i) => turn(at(i)));
  return { cos: of(Math.cos), sin: of(Math.sin) };
}

/** 2^(−8 h / heads), h from 1: the penalty of a head for each step back. */
export const slope = (head: number): number => 2 ** ((-8 * (head + 1)) / heads);

/** [heads, queries, keys]: what is added to scores. */
export function biasOf({ queries, keys }: Workload): Float32Array {
  const data = new Float32Array(heads * queries * keys);
  for (let i = 0; i < data.length; i += 1) {
    const key = i % keys;
    const query = Math.floor(i / keys) % queries;
    const head = Math.floor(i / keys / queries);
    data[i] = -slope(head) * (query - key);
  }
  return data;
}

function turned({ q, queries, interleaved }: Workload): Float64Array {
  const { cos, sin } = angles(queries);
  const pairs = headDim / 2;
  const y = new Float64Array(q.length);
  for (let row = 0; row < heads * queries; row += 1)
    for (let pair = 0; pair < pairs; pair += 1) {
      const first = row * headDim + (interleaved ? 2 * pair : pair);
      const second = interleaved ? first + 1 : first + pairs;
      const at = (row % queries) * pairs + pair;
      const [a, b] = [q[first] as number, q[second] as number];
      const [c, s] = [cos[at] as number, sin[at] as number];
      y[first] = a * c - b * s;
      y[second] = a * s + b * c;
    }
  return y;
}

/** The answer in double precision, by the formula and nothing else: no blocks, no tricks, so that it can be read. */
export function reference(load: Workload): Float64Array {
  if (load.work === 'rotation') return turned(load);
  const { q, k, v, queries, keys, scale, work } = load;
  const y = new Float64Array(heads * queries * headDim);
  const scores = new Float64Array(keys);
  for (let head = 0; head < heads; head += 1)
    for (let row = 0; row < queries; row += 1) {
      const place = keys - queries + row;
      let most = Number.NEGATIVE_INFINITY;
      for (let key = 0; key <= place; key += 1) {
        let dot = 0;
        for (let d = 0; d < headDim; d += 1)
          dot +=
            (q[(head * queries + row) * headDim + d] as number) *
            (k[(head * keys + key) * headDim + d] as number);
        const score = dot * scale - (work === 'bias' ? slope(head) * (place - key) : 0);
        scores[key] = score;
        most = Math.max(most, score);
      }
      let total = 0;
      for (let key = 0; key <= place; key += 1) {
        const weight = Math.exp((scores[key] as number) - most);
        scores[key] = weight;
        total += weight;
      }
      const out = (head * queries + row) * headDim;
      for (let key = 0; key <= place; key += 1) {
        const weight = (scores[key] as number) / total;
        for (let d = 0; d < headDim; d += 1)
          y[out + d] =
            (y[out + d] as number) + weight * (v[(head * keys + key) * headDim + d] as number);
      }
    }
  return y;
}

export interface Difference {
  readonly absolute: number;
  /** Against the value or, where that is smaller, the root mean square of all. */
  readonly relative: number;
}
export function difference(answer: ArrayLike<number>, truth: Float64Array): Difference {
  if (answer.length !== truth.length) return { absolute: Number.NaN, relative: Number.NaN };
  const size = Math.sqrt(truth.reduce((sum, value) => sum + value * value, 0) / truth.length);
  let [absolute, relative] = [0, 0];
  for (let i = 0; i < truth.length; i += 1) {
    const exact = truth[i] as number;
    const off = Math.abs((answer[i] as number) - exact);
    // Math.max keeps NaN, so that a contender which gives one does not pass.
    absolute = Math.max(absolute, off);
    relative = Math.max(relative, off / Math.max(Math.abs(exact), size));
  }
  return { absolute, relative };
}

/** Of all contenders the largest error seen was 3.1e-6 (256 tokens, causal); seven times that is another formula. */
export const tolerance = 2e-5;
export const passes = ({ absolute, relative }: Difference): boolean =>
  absolute <= tolerance && relative <= tolerance;

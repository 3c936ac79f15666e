// SPDX-License-Identifier: Apache-2.0
/** The scores, biases and values of one sequence of a case, with all its encodings. */

import type { Positions, Tensor } from 'posenc';
import { pe } from '../support/instance.ts';
import type { Norm, QueryScaleCase } from './case.ts';
import type { Row } from './naive.ts';
import type { Sequence } from './sequences.ts';
import type { Term, Vector } from './terms.ts';

export interface Ingredients {
  terms: readonly Term[];
  data: { q: Tensor; k: Tensor };
  /** [axis][row] of this sequence. */
  positions: { q: number[][]; k: number[][] };
  scale: number;
  /** The scale was asked for, so that no encoding changes it. */
  explicit: boolean;
  queryScale?: QueryScaleCase;
  qNorm?: Norm;
  kNorm?: Norm;
}

export class Prepared {
  /** How large scores can be: what float32 is exact about is relative to it. */
  readonly magnitude: number;
  readonly #given: Ingredients;
  readonly #sequence: Sequence;
  /** After norms and factors; rotated, and for the terms of content unrotated. */
  readonly #rotated: { q: Tensor; k: Tensor };
  readonly #plain: { q: Tensor; k: Tensor };
  readonly #factor: number;
  readonly #biases: readonly Tensor[];
  readonly #taken: Float64Array | undefined;

  constructor(given: Ingredients, sequence: Sequence) {
    this.#given = given;
    this.#sequence = sequence;
    const { terms, data, positions, qNorm, kNorm, explicit } = given;
    const { b, q0, queries, k0, keys } = sequence;
    const whole = [...positions.q, ...positions.k].flat();
    const length = Math.ceil(whole.reduce((most, p) => Math.max(most, p + 1), 0));
    let q = normalised(part(data.q, b, q0, queries), qNorm, 'before');
    let k = normalised(part(data.k, b, k0, keys), kNorm, 'before');
    this.#plain = { q, k };
    let factor = given.scale;
    for (const { rotated, logitScale } of terms) {
      if (rotated !== undefined) {
        q = rotated(q, positions.q, 'query', length);
        k = rotated(k, positions.k, 'key', length);
      }
      if (!explicit) factor *= logitScale?.(length) ?? 1;
    }
    q = normalised(q, qNorm, 'after');
    k = normalised(k, kNorm, 'after');
    this.#rotated = { q, k };
    this.#factor = factor;
    this.#biases = terms.flatMap(({ bias, info }) =>
      bias === undefined
        ? []
        : bias(positions.q.slice(0, info.axes), positions.k.slice(0, info.axes)),
    );
    const taken = terms.find((term) => term.taken);
    this.#taken = taken === undefined ? undefined : this.#take(taken);
    const width = Math.max(q.shape[2], 1);
    const sharpest = positions.q[0].map((m) => queryFactor(given, m));
    const sharpness = sharpest.reduce((most, one) => Math.max(most, one), 1);
    this.magnitude = largest(q) * largest(k) * Math.abs(factor) * Math.sqrt(width) * sharpness;
  }

  scores({ h, g, t }: Row, seen: readonly boolean[]): Float64Array {
    const { q0, k0, keys, queries } = this.#sequence;
    const { terms, positions } = this.#given;
    const scores = new Float64Array(seen.length);
    const i = t - q0;
    const own = vector(this.#plain.q, h, i);
    const query = vector(this.#rotated.q, h, i);
    const width = this.#rotated.q.shape[2];
    // Sharpens all that depends on the content of the row.
    const sharpness = queryFactor(this.#given, positions.q[0][i]);
    const product = terms.find((term) => term.product !== undefined)?.product;
    for (let j = 0; j < keys; ++j) {
      if (!seen[k0 + j]) continue;
      if (this.#taken !== undefined) {
        scores[k0 + j] = sharpness * this.#taken[(h * queries + i) * keys + j];
        continue;
      }
      const key = vector(this.#rotated.k, g, j);
      const ownKey = vector(this.#plain.k, g, j);
      const [m, n] = [positions.q[0][i], positions.k[0][j]];
      let score = 0;
      if (product !== undefined) score = product(own, ownKey, m, n);
      else for (let c = 0; c < width; ++c) score += query(c) * key(c);
      for (const { content } of terms) score += content?.(own, ownKey, m, n, h) ?? 0;
      scores[k0 + j] = score * this.#factor * sharpness;
    }
    for (const { cumulative } of terms) {
      if (cumulative === undefined) continue;
      const places = [...scores.keys()].filter((j) => seen[j]);
      const gates = places.map((j) => scores[j]);
      const more = cumulative((c) => sharpness * own(c), gates, this.#factor);
      for (const [n, j] of places.entries()) scores[j] += more[n];
    }
    return scores;
  }

  bias({ h, t }: Row, j: number): number {
    const { q0, k0, keys, queries } = this.#sequence;
    return this.#biases.reduce((sum, { data, shape }) => {
      const row = (shape[0] === 1 ? 0 : h) * queries + t - q0;
      return sum + data[row * keys + j - k0];
    }, 0);
  }

  value({ t }: Row, j: number, e: number): number {
    const { terms, positions } = this.#given;
    const { q0, k0 } = this.#sequence;
    return terms.reduce(
      (sum, { value }) => sum + (value?.(positions.q[0][t - q0], positions.k[0][j - k0], e) ?? 0),
      0,
    );
  }

  /** log(weight) + logSumExp of attention with this encoding and nothing else are its scores. */
  #take({ info, encoding }: Term): Float64Array {
    const { q, k } = this.#plain;
    const { positions, scale } = this.#given;
    const { keys, queries } = this.#sequence;
    const input = (lists: number[][]) => (info.axes === 1 ? lists[0] : lists) as Positions;
    const [heads, kvHeads] = [q.shape[0], k.shape[0]];
    const v = { data: new Float32Array(kvHeads * keys), shape: [kvHeads, keys, 1] };
    const { weights, logSumExp } = pe.attention(q, k, v, {
      encoding,
      scale,
      queryPositions: input(positions.q),
      keyPositions: input(positions.k),
      weights: true,
      logSumExp: true,
    });
    return Float64Array.from({ length: heads * queries * keys }, (_, i) => {
      const row = Math.floor(i / Math.max(keys, 1));
      return Math.log(weights?.data[i] ?? 0) + (logSumExp?.data[row] ?? 0);
    });
  }
}

/** Rows from … from + n - 1 of batch entry b, as [heads, n, width]. */
function part({ data, shape: [, heads, rows, width] }: Tensor, b: number, from: number, n: number) {
  const cut = new Float32Array(heads * n * width);
  for (let h = 0; h < heads; ++h) {
    const start = ((b * heads + h) * rows + from) * width;
    cut.set(data.subarray(start, start + n * width), h * n * width);
  }
  return { data: cut, shape: [heads, n, width] };
}

function vector({ data, shape: [, rows, width] }: Tensor, head: number, row: number): Vector {
  const base = (head * rows + row) * width;
  return (c) => data[base + c];
}

function normalised(x: Tensor, norm: Norm | undefined, place: Norm['place']): Tensor {
  if (norm === undefined || norm.place !== place) return x;
  const { data, shape } = x;
  const [, rows, width] = shape;
  const result = new Float32Array(data.length);
  for (let row = 0; row * width < data.length; ++row) {
    const values = data.subarray(row * width, (row + 1) * width);
    const squares = values.reduce((sum, value) => sum + value * value, 0);
    const by =
      norm.kind === 'l2'
        ? Math.max(Math.sqrt(squares), norm.epsilon)
        : Math.sqrt(squares / width + norm.epsilon);
    const head = norm.heads > 1 ? Math.floor(row / rows) : 0;
    for (let c = 0; c < width; ++c)
      result[row * width + c] = (values[c] / by) * (norm.weight?.[head * width + c] ?? 1);
  }
  return { data: result, shape };
}

function queryFactor({ queryScale }: Ingredients, m: number): number {
  // Nothing is said of positions before the first.
  if (queryScale === undefined || m < 0) return 1;
  const { kind, length, factor } = queryScale;
  if (kind === 'logn') return Math.max(1, Math.log(m + 1) / Math.log(length));
  const steps = Math.floor((kind === 'llama4' ? m + 1 : m) / length);
  return 1 + factor * Math.log(1 + steps);
}

/** Of what is not hidden: NaN is no largest. */
function largest({ data }: Tensor): number {
  let most = 0;
  for (const x of data) if (Math.abs(x) > most) most = Math.abs(x);
  return most;
}

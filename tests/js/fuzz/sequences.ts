// SPDX-License-Identifier: Apache-2.0
/** Which queries see which keys in a case: sequences, windows, prefixes and masks. */

import type { AttentionOptions, MaskInput } from 'posenc';
import { sizeOf } from '../support/numbers.ts';
import type { Case } from './case.ts';
import type { Row, Sizes } from './naive.ts';
import { chance, type Noise } from './options.ts';

/** A run of queries that sees a run of keys and no others. */
export interface Sequence {
  b: number;
  q0: number;
  queries: number;
  k0: number;
  keys: number;
  /** The place of the first query among the keys. */
  offset: number;
  /** So many first keys are seen by every query. */
  prefix: number;
}

type Borders = { q: number[]; k?: number[] };

export class Sequences {
  readonly list: readonly Sequence[];
  readonly mask: MaskInput | undefined;
  readonly #case: Case;
  readonly #sizes: Sizes;

  constructor(given: Case, sizes: Sizes, noise: Noise) {
    this.#case = given;
    this.#sizes = sizes;
    this.list = this.#split();
    this.mask = makeMask(given, sizes, noise);
  }

  options(): AttentionOptions {
    const { causal, queryOffset, window, chunk, prefix, packed, lengths } = this.#case;
    return {
      causal,
      ...(queryOffset !== undefined && { queryOffset: this.#oneOrSome(queryOffset) }),
      ...(this.mask !== undefined && { mask: this.mask }),
      ...(window !== undefined && { window }),
      ...(chunk !== undefined && { chunk }),
      ...(prefix !== undefined && { prefix: this.#oneOrSome(prefix) }),
      ...(packed !== undefined && { cuSeqlens: this.#borders() }),
      ...(lengths !== undefined && packed === undefined && this.#lengths()),
    } as AttentionOptions;
  }

  of({ b, t }: Row): Sequence | undefined {
    return this.list.find((one) => one.b === b && t >= one.q0 && t < one.q0 + one.queries);
  }

  sees(row: Row, j: number): boolean {
    const one = this.of(row);
    if (one === undefined) return false;
    const key = j - one.k0;
    if (key < 0 || key >= one.keys) return false;
    if (this.#isFloat ? this.#maskAt(row, j) === -Infinity : this.#maskAt(row, j) === 0)
      return false;
    if (key < one.prefix) return true;
    const place = one.offset + row.t - one.q0;
    const { causal, window, chunk } = this.#case;
    if (causal && key > place) return false;
    if (key < (window?.first ?? 0)) return true;
    if (chunk !== undefined && Math.floor(key / chunk) !== Math.floor(place / chunk)) return false;
    if (window?.left !== undefined && key < place - window.left) return false;
    return !(window?.right !== undefined && key > place + window.right);
  }

  /** Whether any query that reads this key/value head sees key j. */
  isSeen(b: number, g: number, j: number): boolean {
    const { H, G } = this.#sizes;
    for (const one of this.list) {
      if (one.b !== b) continue;
      for (let t = one.q0; t < one.q0 + one.queries; ++t)
        for (let h = (g * H) / G; h < ((g + 1) * H) / G; ++h)
          if (this.sees({ b, h, g, t }, j)) return true;
    }
    return false;
  }

  bias(row: Row, j: number): number {
    return this.#isFloat ? this.#maskAt(row, j) : 0;
  }

  get #isFloat(): boolean {
    return this.mask?.data instanceof Float32Array;
  }
  #maskAt({ b, h, t }: Row, j: number): number {
    if (this.mask === undefined) return 1;
    const { data, shape } = this.mask;
    const index = [b, h, t, j].slice(4 - shape.length);
    return data[shape.reduce((sum, n, axis) => sum * n + (n === 1 ? 0 : index[axis]), 0)];
  }

  #split(): Sequence[] {
    const { B, T, S } = this.#sizes;
    const { packed, lengths, prefix = 0, queryOffset } = this.#case;
    const at = (value: number | readonly number[], i: number) =>
      typeof value === 'number' ? value : value[i % value.length];
    type Span = [number, number];
    const make = (b: number, i: number, [q0, q1]: Span, [k0, k1]: Span, end: number): Sequence => ({
      b,
      q0,
      queries: q1 - q0,
      k0,
      keys: k1 - k0,
      offset: queryOffset === undefined ? end : at(queryOffset, i),
      prefix: at(prefix, i),
    });
    if (packed !== undefined) {
      const { q, k = q } = this.#borders();
      return q.slice(1).map((end, i) => {
        const last = k[i + 1] - k[i] - (end - q[i]);
        return make(0, i, [q[i], end], [k[i], k[i + 1]], last);
      });
    }
    const { queryLengths, keyLengths } = lengths === undefined ? {} : this.#lengths();
    return Array.from({ length: B }, (_, b) =>
      // Padding does not move the default: the last row of q stands at the last row of k.
      make(b, b, [0, queryLengths?.[b] ?? T], [0, keyLengths?.[b] ?? S], S - T),
    );
  }

  #oneOrSome(value: number | readonly number[]): number | number[] {
    if (typeof value === 'number') return value;
    return this.list.map((_, i) => value[i % value.length]);
  }

  #lengths(): { keyLengths?: number[]; queryLengths?: number[] } {
    const { B, T, S } = this.#sizes;
    const { keys, queries } = this.#case.lengths ?? { keys: null, queries: null };
    const of = (shares: readonly number[], n: number) =>
      Array.from({ length: B }, (_, b) => Math.round((shares[b % shares.length] * n) / 100));
    return {
      ...(keys !== null && { keyLengths: of(keys, S) }),
      ...(queries !== null && { queryLengths: of(queries, T) }),
    };
  }

  #borders(): Borders {
    const { T, S } = this.#sizes;
    const { q = [], k } = this.#case.packed ?? { k: null };
    const cut = (shares: readonly number[], n: number) => [
      0,
      ...shares.map((share) => Math.round((share * n) / 100)).sort((a, b) => a - b),
      n,
    ];
    const own = cut(q, T);
    if (k === null && T === S) return { q: own };
    return {
      q: own,
      k: cut(
        q.map((_, i) => k?.[i % 3] ?? 50),
        S,
      ),
    };
  }
}

function makeMask({ mask }: Case, { B, H, T, S }: Sizes, noise: Noise): MaskInput | undefined {
  if (mask === undefined) return undefined;
  const full = [B, H, T, S].map((n, axis) => (mask.full[axis] ? n : 1));
  const shape = full.slice(4 - mask.rank);
  const length = sizeOf(shape);
  const kept = () => chance(noise, mask.density);
  return mask.float
    ? { data: Float32Array.from({ length }, () => (kept() ? 4 * noise() : -Infinity)), shape }
    : { data: Uint8Array.from({ length }, () => (kept() ? 7 : 0)), shape };
}

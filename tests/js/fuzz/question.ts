// SPDX-License-Identifier: Apache-2.0
/** From a random case to the call of the package and to the rules of the naive attention. */

import {
  type AttentionOptions,
  type EncodingInfo,
  encodings,
  type MaskInput,
  PosencError,
  type Positions,
  type Tensor,
} from 'posenc';
import { anyEncoding, pe } from '../support/instance.ts';
import { noise, sizeOf } from '../support/numbers.ts';
import type { Case } from './case.ts';
import { type Answer, naiveAttention, type Row, type Sizes } from './naive.ts';
import { chance, type Noise, randomOptions } from './options.ts';
import { amend, type Term, termOf, type Vector } from './terms.ts';

/** A run of queries that sees a run of keys and no others. */
interface Sequence {
  b: number;
  q0: number;
  queries: number;
  k0: number;
  keys: number;
  offset: number;
  prefix: number;
}

export class Question {
  readonly sizes: Sizes;
  readonly terms: readonly Term[];
  readonly #case: Case;
  readonly #noise: Noise;
  readonly #sequences: readonly Sequence[];
  readonly #data: { q: Tensor; k: Tensor; v: Tensor };
  readonly #scale: number;
  readonly #mask: MaskInput | undefined;
  readonly #sinks: Float32Array | undefined;
  /** Given ones: [batch or 1][axis][row]. */
  readonly #positions: { q: number[][][]; k: number[][][] } | undefined;
  readonly #axes: number;
  readonly #dispose: (() => void)[] = [];

  constructor(given: Case) {
    this.#case = given;
    const { B, G, group, T, S, D, E } = given.sizes;
    this.#noise = noise(given.seed);
    const chosen = compatible(given);
    const alike = chosen.some(({ info }) => info.sites.includes('rotate') && hasHeads(info));
    const sizes = {
      B: given.packed !== undefined ? Math.min(B, 1) : B,
      H: alike ? G : G * group,
      G,
      T,
      S,
      D: chosen.some(({ info }) => info.sites.includes('rotate')) ? Math.max(4, D & ~3) : D,
      E,
    };
    if (sizes.D === 0 && chosen.some(({ info }) => info.fields.some((f) => f.name === 'headDim')))
      sizes.D = 1;
    this.sizes = sizes;
    this.terms = chosen.flatMap(({ info, seed, optional }) => {
      const term = makeTerm(info, sizes, seed, optional);
      if (term !== undefined) this.#dispose.push(() => term.encoding.dispose());
      return term ?? [];
    });
    this.#axes = Math.max(1, ...this.terms.map(({ info }) => info.axes));
    this.#sequences = this.#split();
    this.#positions = this.#place();
    this.#scale = this.#scaleInForce();
    this.#mask = this.#makeMask();
    this.#sinks = given.sinks
      ? Float32Array.from({ length: sizes.H }, () => 3 * this.#noise())
      : undefined;
    this.#data = this.#fill();
  }

  dispose(): void {
    for (const free of this.#dispose) free();
  }

  /** What the package gives. */
  ask(): { output: Tensor; weights?: Tensor; logSumExp?: Tensor } {
    const { q, k, v } = this.#data;
    const { out } = this.#case;
    const owned = this.#case.owned;
    const place = (x: Tensor) => (owned ? this.#own(x) : x);
    const { H, T, E } = this.sizes;
    const target = this.#laidOut({
      data: new Float32Array(this.sizes.B * H * T * E).fill(Number.NaN),
      shape: [this.sizes.B, H, T, E],
    });
    const options = {
      ...this.options(),
      ...(out !== 'none' && { out: out === 'owned' ? this.#own(target) : target }),
    };
    const [a, b, c] = [q, k, v].map((x) => place(this.#laidOut(x)));
    return pe.attention(a, b, c, options);
  }

  options(): AttentionOptions {
    const { layout, causal, queryOffset, weights, logSumExp } = this.#case;
    const scale = this.#explicitScale;
    const { window, prefix, lengths, softcap } = this.#case;
    const list = this.terms.map(({ encoding }) => encoding);
    const positions = this.#positions;
    return {
      ...(list.length > 0 && { encoding: list.length === 1 ? list[0] : list }),
      layout,
      ...(scale !== undefined && { scale }),
      causal,
      ...(queryOffset !== undefined && { queryOffset }),
      ...(positions !== undefined && {
        queryPositions: this.#asInput(positions.q),
        keyPositions: this.#asInput(positions.k),
      }),
      ...(this.#mask !== undefined && { mask: this.#mask }),
      weights,
      logSumExp,
      ...(window !== undefined && { window }),
      ...(prefix !== undefined && { prefix: this.#prefixes() }),
      ...(lengths !== undefined && this.#case.packed === undefined && this.#lengths()),
      ...(this.#case.packed !== undefined && { cuSeqlens: this.#cuts() }),
      ...(softcap !== undefined && { softcap }),
      ...(this.#sinks !== undefined && { sinks: this.#sinks }),
    } as AttentionOptions;
  }

  /** What the definition gives, and how exact float32 can be about it. */
  answer(): Answer & { slack: number } {
    const { sizes } = this;
    const prepared = this.#sequences.map((one) => this.#prepare(one));
    const owner = (b: number, t: number) =>
      this.#sequences.findIndex((one) => one.b === b && t >= one.q0 && t < one.q0 + one.queries);
    const { v } = this.#data;
    const { softcap } = this.#case;
    let largest = 1;
    const sinks = this.#sinks;
    const answer = naiveAttention(sizes, {
      sees: (row, j) => {
        const at = owner(row.b, row.t);
        return at >= 0 && this.#sees(this.#sequences[at], row, j);
      },
      scores: (row, seen) => {
        const at = prepared[owner(row.b, row.t)];
        const scores = at.scores(row, seen);
        largest = Math.max(largest, at.magnitude);
        return scores;
      },
      ...(softcap !== undefined && { softcap }),
      bias: (row, j) => {
        const bias = prepared[owner(row.b, row.t)].bias(row, j) + this.#maskBias(row, j);
        if (Number.isFinite(bias)) largest = Math.max(largest, Math.abs(bias));
        return bias;
      },
      ...(sinks !== undefined && { sink: (h: number) => sinks[h] }),
      value: (row, j, e) =>
        v.data[((row.b * sizes.G + row.g) * sizes.S + j) * sizes.E + e] +
        prepared[owner(row.b, row.t)].value(row, j, e),
    });
    // A sum of D products is off by a few units in the last place of its largest part.
    return { ...answer, slack: largest * 2 ** -20 };
  }

  /** [B, heads, rows, width] in the layout and rank of the case, and back. */
  #laidOut(x: Tensor): Tensor {
    const { layout, rank3 } = this.#case;
    const laid = layout === 'bhnd' ? x : swapped(x);
    return rank3 && x.shape[0] === 1 ? { data: laid.data, shape: laid.shape.slice(1) } : laid;
  }

  /** The output as [B, H, T, E]. */
  plain(output: Tensor): ArrayLike<number> {
    if (this.#case.layout === 'bhnd') return output.data;
    const { B, H, T, E } = this.sizes;
    return swapped({ data: output.data, shape: [B, T, H, E] }).data;
  }

  #own(x: Tensor): Tensor {
    const owned = pe.tensor(x.shape, x.data);
    this.#dispose.push(() => owned.dispose());
    return owned;
  }

  #split(): Sequence[] {
    const { B, T, S } = this.sizes;
    const { packed, lengths, queryOffset } = this.#case;
    const prefixes = this.#case.prefix === undefined ? 0 : this.#prefixes();
    const prefixOf = (i: number) => (typeof prefixes === 'number' ? prefixes : (prefixes[i] ?? 0));
    const make = (b: number, i: number, q: [number, number], k: [number, number]): Sequence => ({
      b,
      q0: q[0],
      queries: q[1] - q[0],
      k0: k[0],
      keys: k[1] - k[0],
      offset: queryOffset ?? k[1] - k[0] - (q[1] - q[0]),
      prefix: prefixOf(i),
    });
    if (packed !== undefined && B > 0) {
      const { q, k } = this.#cuts();
      return q.slice(1).map((end, i) => make(0, i, [q[i], end], [(k ?? q)[i], (k ?? q)[i + 1]]));
    }
    const { queryLengths, keyLengths } = lengths === undefined ? {} : this.#lengths();
    return Array.from({ length: B }, (_, b) =>
      make(b, b, [0, queryLengths?.[b] ?? T], [0, keyLengths?.[b] ?? S]),
    );
  }

  #prefixes(): number | number[] {
    const { prefix = 0 } = this.#case;
    const { S, B } = this.sizes;
    const within = (n: number) => Math.min(n, S);
    return typeof prefix === 'number' ? within(prefix) : prefix.slice(0, B).map(within);
  }

  #lengths(): { keyLengths?: number[]; queryLengths?: number[] } {
    const { B, T, S } = this.sizes;
    const { keys, queries } = this.#case.lengths ?? { keys: null, queries: null };
    const of = (shares: readonly number[], n: number) =>
      Array.from({ length: B }, (_, b) => Math.round((shares[b % shares.length] * n) / 100));
    return {
      ...(keys !== null && { keyLengths: of(keys, S) }),
      ...(queries !== null && { queryLengths: of(queries, T) }),
    };
  }

  #cuts(): { q: number[]; k?: number[] } {
    const { T, S } = this.sizes;
    const { q = [], k } = this.#case.packed ?? { k: null };
    const cut = (shares: readonly number[], n: number) => [
      0,
      ...shares.map((share) => Math.round((share * n) / 100)).sort((a, b) => a - b),
      n,
    ];
    const own = cut(q, T);
    if (k === null && T === S) return { q: own };
    const shares = Array.from({ length: q.length }, (_, i) => k?.[i % 3] ?? 50);
    return { q: own, k: cut(shares, S) };
  }

  #place(): { q: number[][][]; k: number[][][] } | undefined {
    const countable = this.terms.every(({ info }) => info.axes === 1 || info.textAxes);
    const { positions } = this.#case;
    if (positions === 'counted' && countable) return undefined;
    const { B, T, S } = this.sizes;
    const sets = positions === 'each batch entry' && this.#case.packed === undefined ? B : 1;
    const kinds = this.terms.map(({ info }) => info.positions);
    const one = () => {
      if (kinds.includes('index')) return Math.floor(3.49 * (this.#noise() + 1));
      const whole = ({ info, product }: Term) =>
        info.lengthPolicy !== 'static' || product !== undefined;
      if (kinds.includes('integer') || this.terms.some(whole))
        return Math.floor(40 * (this.#noise() + 1));
      return 60 * this.#noise() + 20;
    };
    const lists = (n: number) =>
      Array.from({ length: Math.max(sets, 1) }, () =>
        Array.from({ length: this.#axes }, () => Array.from({ length: n }, one)),
      );
    return { q: lists(T), k: lists(S) };
  }

  #asInput(sets: number[][][]): Positions {
    const axes = sets[0].map((first, axis) =>
      sets.length === 1 && this.#case.positions !== 'each batch entry'
        ? first
        : {
            data: Float64Array.from(sets.flatMap((one) => one[axis])),
            shape: [sets.length, first.length],
          },
    );
    return (this.#axes === 1 ? axes[0] : axes) as Positions;
  }

  /** One has to be given where encodings ask for different ones. */
  get #explicitScale(): number | undefined {
    const wishes = new Set(this.terms.flatMap(({ wish }) => wish ?? []));
    return this.#case.scale ?? (wishes.size > 1 ? 0.5 : undefined);
  }

  #scaleInForce(): number {
    const wish = this.terms.find((term) => term.wish !== undefined)?.wish;
    return this.#explicitScale ?? wish ?? (this.sizes.D > 0 ? 1 / Math.sqrt(this.sizes.D) : 1);
  }

  #makeMask(): MaskInput | undefined {
    const { mask } = this.#case;
    if (mask === undefined) return undefined;
    const { B, H, T, S } = this.sizes;
    const full = [B, H, T, S].map((n, axis) => (mask.full[axis] ? n : 1));
    const shape = full.slice(4 - mask.rank);
    const length = sizeOf(shape);
    if (!mask.float)
      return {
        data: Uint8Array.from({ length }, () => (chance(this.#noise, mask.density) ? 7 : 0)),
        shape,
      };
    return {
      data: Float32Array.from({ length }, () =>
        chance(this.#noise, mask.density) ? 4 * this.#noise() : -Infinity,
      ),
      shape,
    };
  }

  #maskAt({ b, h, t }: Row, j: number): number {
    const mask = this.#mask;
    if (mask === undefined) return 1;
    const index = [b, h, t, j].slice(4 - mask.shape.length);
    const at = mask.shape.reduce((sum, n, axis) => sum * n + (n === 1 ? 0 : index[axis]), 0);
    return mask.data[at];
  }
  #maskBias(row: Row, j: number): number {
    return this.#mask?.data instanceof Float32Array ? this.#maskAt(row, j) : 0;
  }

  #sees({ k0, keys, q0, offset, prefix }: Sequence, row: Row, j: number): boolean {
    const key = j - k0;
    if (key < 0 || key >= keys) return false;
    const masked = this.#maskAt(row, j);
    if (this.#mask?.data instanceof Float32Array ? masked === -Infinity : masked === 0)
      return false;
    if (key < prefix) return true;
    const place = offset + row.t - q0;
    const { causal, window } = this.#case;
    if (causal && key > place) return false;
    if (window?.left !== undefined && key < place - window.left) return false;
    return !(window?.right !== undefined && key > place + window.right);
  }

  #fill(): { q: Tensor; k: Tensor; v: Tensor } {
    const { B, H, G, T, S, D, E } = this.sizes;
    const fill = (shape: number[], scale: number): Tensor => ({
      data: Float32Array.from({ length: sizeOf(shape) }, () => scale * this.#noise()),
      shape,
    });
    const { amplitude } = this.#case;
    const data = {
      q: fill([B, H, T, D], amplitude),
      k: fill([B, G, S, D], 1),
      v: fill([B, G, S, E], 1),
    };
    // Terms that the package computes without options see every key.
    if (!this.#case.poison || this.terms.some(({ taken }) => taken)) return data;
    for (let b = 0; b < B; ++b)
      for (let g = 0; g < G; ++g)
        for (let j = 0; j < S; ++j) {
          if (this.#isSeen(b, g, j)) continue;
          const at = (b * G + g) * S + j;
          data.k.data.fill(Number.NaN, at * D, (at + 1) * D);
          data.v.data.fill(j % 2 ? Infinity : Number.NaN, at * E, (at + 1) * E);
        }
    return data;
  }

  #isSeen(b: number, g: number, j: number): boolean {
    const { H, G } = this.sizes;
    for (const one of this.#sequences) {
      if (one.b !== b) continue;
      for (let t = one.q0; t < one.q0 + one.queries; ++t)
        for (let h = (g * H) / G; h < ((g + 1) * H) / G; ++h)
          if (this.#sees(one, { b, h, g, t }, j)) return true;
    }
    return false;
  }

  /** Rotated rows, biases and positions of one sequence. */
  #prepare(one: Sequence) {
    const { H, G } = this.sizes;
    const { b, q0, queries, k0, keys, offset } = one;
    const axes = (sets: number[][][] | undefined, from: number, n: number, start: number) =>
      Array.from({ length: this.#axes }, (_, axis) => {
        const set = sets?.[sets.length > 1 ? b : 0]?.[axis];
        return set?.slice(from, from + n) ?? Array.from({ length: n }, (_, i) => start + i);
      });
    const at = {
      q: axes(this.#positions?.q, q0, queries, offset),
      k: axes(this.#positions?.k, k0, keys, 0),
    };
    const length = Math.ceil(Math.max(0, ...[...at.q, ...at.k].flat().map((p) => p + 1)));
    const part = (x: Tensor, heads: number, from: number, n: number): Tensor => {
      const [, , rows, width] = x.shape;
      const data = new Float32Array(heads * n * width);
      for (let h = 0; h < heads; ++h) {
        const start = ((b * heads + h) * rows + from) * width;
        data.set(x.data.subarray(start, start + n * width), h * n * width);
      }
      return { data, shape: [heads, n, width] };
    };
    let q = part(this.#data.q, H, q0, queries);
    let k = part(this.#data.k, G, k0, keys);
    const plain = { q, k };
    let factor = this.#scale;
    const explicit = this.#explicitScale !== undefined;
    for (const { rotated, logitScale } of this.terms) {
      if (rotated !== undefined) {
        q = rotated(q, at.q, 'query', length);
        k = rotated(k, at.k, 'key', length);
      }
      if (!explicit) factor *= logitScale?.(length) ?? 1;
    }
    const biases = this.terms.flatMap(({ bias, info }) =>
      bias === undefined ? [] : bias(at.q.slice(0, info.axes), at.k.slice(0, info.axes)),
    );
    const taken = this.terms.find((term) => term.taken);
    const whole = taken === undefined ? undefined : this.#take(taken, plain, at, one);
    const vector = (x: Tensor, head: number, row: number): Vector => {
      const base = (head * x.shape[1] + row) * x.shape[2];
      return (c) => x.data[base + c];
    };
    const width = q.shape[2];
    const norm = (x: Tensor) =>
      x.data.reduce((most, value) => (value * value > most * most ? value : most), 0);
    const magnitude = Math.abs(norm(q) * norm(k) * factor) * Math.max(1, Math.sqrt(width));
    return {
      magnitude,
      scores: ({ h, g, t }: Row, seen: readonly boolean[]): Float64Array => {
        const scores = new Float64Array(this.sizes.S);
        const i = t - q0;
        const [query, own] = [vector(q, h, i), vector(plain.q, h, i)];
        for (let j = 0; j < keys; ++j) {
          if (!seen[k0 + j]) continue;
          const [key, ownKey] = [vector(k, g, j), vector(plain.k, g, j)];
          const [m, n] = [at.q[0][i], at.k[0][j]];
          const product = this.terms.find((term) => term.product !== undefined)?.product;
          let score = 0;
          if (product !== undefined) score = product(own, ownKey, m, n);
          else for (let c = 0; c < width; ++c) score += query(c) * key(c);
          for (const { content } of this.terms) score += content?.(own, ownKey, m, n) ?? 0;
          scores[k0 + j] =
            whole === undefined ? score * factor : whole[(h * queries + i) * keys + j];
        }
        for (const { cumulative } of this.terms) {
          if (cumulative === undefined) continue;
          const places = Array.from({ length: keys }, (_, j) => k0 + j).filter((j) => seen[j]);
          const more = cumulative(
            own,
            places.map((j) => scores[j]),
            factor,
          );
          for (const [n, j] of places.entries()) scores[j] += more[n];
        }
        return scores;
      },
      bias: ({ h, t }: Row, j: number) =>
        biases.reduce(
          (sum, { data, shape }) =>
            sum + data[((shape[0] === 1 ? 0 : h) * queries + t - q0) * keys + j - k0],
          0,
        ),
      value: ({ t }: Row, j: number, e: number) =>
        this.terms.reduce(
          (sum, { value }) => sum + (value?.(at.q[0][t - q0], at.k[0][j - k0], e) ?? 0),
          0,
        ),
    };
  }

  /** log(weight) + logSumExp of attention with this encoding and nothing else are its scores. */
  #take(
    term: Term,
    { q, k }: { q: Tensor; k: Tensor },
    at: { q: number[][]; k: number[][] },
    { queries, keys }: Sequence,
  ): Float64Array {
    const { H, G } = this.sizes;
    const input = (lists: number[][]) => (term.info.axes === 1 ? lists[0] : lists) as Positions;
    const { weights, logSumExp } = pe.attention(
      q,
      k,
      { data: new Float32Array(G * keys), shape: [G, keys, 1] },
      {
        encoding: term.encoding,
        scale: this.#scale,
        queryPositions: input(at.q),
        keyPositions: input(at.k),
        weights: true,
        logSumExp: true,
      },
    );
    return Float64Array.from({ length: H * queries * keys }, (_, i) => {
      const row = Math.floor(i / Math.max(keys, 1));
      return Math.log(weights?.data[i] ?? 0) + (logSumExp?.data[row] ?? 0);
    });
  }
}

const hasHeads = (info: EncodingInfo) => info.fields.some(({ name }) => name === 'heads');

/**
 * Those of the case that make sense together: one that rotates, one with terms of content and none
 * that rotates beside it, any number of biases; positions of as many axes.
 */
function compatible({ encodings: given }: Case) {
  const chosen: { info: EncodingInfo; seed: number; optional: boolean }[] = [];
  for (const { id, seed, optional } of given) {
    const info = encodings.find((one) => one.id === id) as EncodingInfo;
    const rotates = (one: EncodingInfo) => one.sites.includes('rotate');
    const reads = (one: EncodingInfo) => one.sites.includes('score') && !one.contentFree;
    const clash = chosen.some(
      ({ info: other }) =>
        other.id === id ||
        other.axes !== info.axes ||
        ((rotates(other) || reads(other)) && (rotates(info) || reads(info))),
    );
    if (!clash) chosen.push({ info, seed, optional });
  }
  return chosen;
}

function makeTerm(info: EncodingInfo, sizes: Sizes, seed: number, optional: boolean) {
  const geometry = {
    heads: sizes.H,
    headDim: sizes.D,
    valueDim: sizes.E,
    rotaryDim: sizes.D,
    dim: 8,
  };
  for (const more of optional ? [true, false] : [false]) {
    const options = randomOptions(info, geometry, noise(seed), more, amend);
    try {
      return termOf(info, anyEncoding(pe, info.id, options), options);
    } catch (error) {
      // Options that contradict each other, or a width that the encoding does not have.
      if (!PosencError.is(error) || error.kind !== 'argument') throw error;
    }
  }
  return undefined;
}

function swapped({ data, shape: [B, X, Y, W] }: Tensor): Tensor {
  const swap = new Float32Array(data.length);
  for (let b = 0; b < B; ++b)
    for (let x = 0; x < X; ++x)
      for (let y = 0; y < Y; ++y)
        for (let w = 0; w < W; ++w)
          swap[((b * Y + y) * X + x) * W + w] = data[((b * X + x) * Y + y) * W + w];
  return { data: swap, shape: [B, Y, X, W] };
}

export { naiveAttention };

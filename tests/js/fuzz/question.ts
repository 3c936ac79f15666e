// SPDX-License-Identifier: Apache-2.0
/** From a random case to the call of the package and to the rules of the naive attention. */

import type { AttentionOptions, Positions, Tensor } from 'posenc';
import { pe } from '../support/instance.ts';
import { noise, sizeOf } from '../support/numbers.ts';
import type { Case, Norm, NormCase, QueryScaleCase } from './case.ts';
import { compatible, hasHeads, makeTerm } from './choose.ts';
import { type Answer, naiveAttention, type Row, type Sizes } from './naive.ts';
import type { Noise } from './options.ts';
import { Prepared } from './prepared.ts';
import { type Sequence, Sequences } from './sequences.ts';
import type { Term } from './terms.ts';

export class Question {
  readonly sizes: Sizes;
  readonly terms: readonly Term[];
  readonly #case: Case;
  readonly #noise: Noise;
  readonly #sequences: Sequences;
  readonly #data: { q: Tensor; k: Tensor; v: Tensor };
  readonly #scale: number;
  readonly #sinks: Float32Array | undefined;
  /** Given ones: [batch or 1][axis][row]. */
  readonly #positions: { q: number[][][]; k: number[][][] } | undefined;
  readonly #axes: number;
  readonly #dispose: (() => void)[] = [];
  readonly #queryScale: QueryScaleCase | undefined;
  readonly #norms: { q: Norm | undefined; k: Norm | undefined };

  constructor(given: Case) {
    this.#case = given;
    const { B, G, group, T, S, D, E } = given.sizes;
    this.#noise = noise(given.seed);
    const chosen = compatible(given);
    const alike = chosen.some(({ info }) => info.sites.includes('rotate') && hasHeads(info));
    const sizes = {
      B: given.packed !== undefined ? 1 : B,
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
    this.#positions = this.#place();
    this.#scale = this.#scaleInForce();
    this.#sequences = new Sequences(given, sizes, this.#noise);
    this.#sinks = given.sinks
      ? Float32Array.from({ length: sizes.H }, () => 3 * this.#noise())
      : undefined;
    const { queryScale, qNorm, kNorm } = given;
    this.#queryScale = queryScale;
    this.#norms = { q: this.#norm(qNorm, sizes.H), k: this.#norm(kNorm, sizes.G) };
    this.#data = this.#fill();
  }

  dispose(): void {
    for (const free of this.#dispose) free();
  }

  /**
   * Puts values that are no numbers into a key and its value, and into a query; says of each row of
   * the output whether it has to do with them. The others must not change by a bit.
   */
  spoil(): (row: Row) => boolean {
    const { B, H, G, T, S, D, E } = this.sizes;
    const at = (n: number) => Math.min(n - 1, Math.floor(((this.#noise() + 1) / 2) * n));
    const [b, g, j, h, t] = [at(B), at(G), at(S), at(H), at(T)];
    const { q, k, v } = this.#data;
    const set = (x: Tensor, row: number, width: number, value: number) => {
      if (row >= 0 && x.data.length > 0) x.data.fill(value, row * width, (row + 1) * width);
    };
    if (S > 0) {
      set(k, (b * G + g) * S + j, D, this.#noise() < 0 ? Number.NaN : 3e38);
      set(v, (b * G + g) * S + j, E, this.#noise() < 0 ? Number.NaN : -Infinity);
    }
    set(q, (b * H + h) * T + t, D, Infinity);
    return (row) =>
      row.b === b &&
      ((row.h === h && row.t === t) || (S > 0 && row.g === g && this.#sequences.sees(row, j)));
  }

  /** What the package gives. */
  ask(): { output: Tensor; weights?: Tensor; logSumExp?: Tensor } {
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
    const [a, b, c] = this.inputs().map(place);
    return pe.attention(a, b, c, options);
  }

  /** q, k and v in the layout and rank of the case. */
  inputs(): Tensor[] {
    const { q, k, v } = this.#data;
    return [q, k, v].map((x) => this.#laidOut(x));
  }

  options(): AttentionOptions {
    const { layout, weights, logSumExp, softcap } = this.#case;
    const scale = this.#explicitScale;
    const list = this.terms.map(({ encoding }) => encoding);
    const positions = this.#positions;
    return {
      ...(list.length > 0 && { encoding: list.length === 1 ? list[0] : list }),
      layout,
      ...(scale !== undefined && { scale }),
      ...(positions !== undefined && {
        queryPositions: this.#asInput(positions.q),
        keyPositions: this.#asInput(positions.k),
      }),
      ...this.#sequences.options(),
      weights,
      logSumExp,
      ...(softcap !== undefined && { softcap }),
      ...(this.#sinks !== undefined && { sinks: this.#sinks }),
      ...(this.#queryScale !== undefined && { queryScale: asOption(this.#queryScale) }),
      ...(this.#norms.q !== undefined && { qNorm: normOption(this.#norms.q) }),
      ...(this.#norms.k !== undefined && { kNorm: normOption(this.#norms.k) }),
    } as AttentionOptions;
  }

  /** What the definition gives, and how exact float32 can be about it. */
  answer(): Answer & { slack: number } {
    const { sizes } = this;
    const sequences = this.#sequences;
    const prepared = new Map(sequences.list.map((one) => [one, this.#prepare(one)]));
    // Only asked for rows that see something.
    const of = (row: Row) => prepared.get(sequences.of(row) as Sequence) as Prepared;
    const { v } = this.#data;
    const { softcap } = this.#case;
    let largest = 1;
    const sinks = this.#sinks;
    const answer = naiveAttention(sizes, {
      sees: (row, j) => sequences.sees(row, j),
      scores: (row, seen) => {
        largest = Math.max(largest, of(row).magnitude);
        return of(row).scores(row, seen);
      },
      ...(softcap !== undefined && { softcap }),
      bias: (row, j) => {
        const bias = of(row).bias(row, j) + sequences.bias(row, j);
        largest = Math.max(largest, Math.abs(bias));
        return bias;
      },
      ...(sinks !== undefined && { sink: (h: number) => sinks[h] }),
      value: (row, j, e) =>
        v.data[((row.b * sizes.G + row.g) * sizes.S + j) * sizes.E + e] + of(row).value(row, j, e),
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

  #place(): { q: number[][][]; k: number[][][] } | undefined {
    const countable = this.terms.every(({ info }) => info.axes === 1 || info.textAxes);
    const { positions } = this.#case;
    if (positions === 'counted' && countable) return undefined;
    const { B, T, S } = this.sizes;
    const sets = positions === 'each batch entry' && this.#case.packed === undefined ? B : 1;
    const kinds = this.terms.map(({ info }) => info.positions);
    const one = () => {
      if (kinds.includes('index')) return Math.floor(3.49 * (this.#noise() + 1));
      // A length is a whole number for whoever asks for the frequencies of one.
      const whole = ({ encoding, rotated, product }: Term) =>
        product !== undefined ||
        (rotated !== undefined && encoding.plan().lengthPolicy !== 'static');
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

  #prepare(one: Sequence): Prepared {
    const axes = (sets: number[][][] | undefined, from: number, n: number, start: number) =>
      Array.from({ length: this.#axes }, (_, axis) => {
        const set = sets?.[sets.length > 1 ? one.b : 0]?.[axis];
        return set?.slice(from, from + n) ?? Array.from({ length: n }, (_, i) => start + i);
      });
    const { q, k } = this.#norms;
    return new Prepared(
      {
        terms: this.terms,
        data: this.#data,
        positions: {
          q: axes(this.#positions?.q, one.q0, one.queries, one.offset),
          k: axes(this.#positions?.k, one.k0, one.keys, 0),
        },
        scale: this.#scale,
        explicit: this.#explicitScale !== undefined,
        ...(this.#queryScale && { queryScale: this.#queryScale }),
        ...(q && { qNorm: q }),
        ...(k && { kNorm: k }),
      },
      one,
    );
  }

  #norm(given: NormCase | undefined, heads: number): Norm | undefined {
    if (given === undefined) return undefined;
    const { D } = this.sizes;
    const { kind, weight } = given;
    const rows = weight === 'per head' ? heads : 1;
    // Where a term reads unrotated rows, or rotation changes their width, only one order is defined.
    const plain = this.terms.some(
      (one) => one.content ?? one.product ?? one.cumulative ?? one.taken,
    );
    const wider = this.terms.some(({ info }) => hasHeads(info) && info.sites.includes('rotate'));
    return {
      kind,
      place: plain || wider ? 'before' : given.place,
      heads: rows,
      epsilon: kind === 'rms' ? 1e-6 : 1e-12,
      ...(weight !== 'none' && {
        weight: Float32Array.from({ length: rows * D }, () => 1 + this.#noise() / 2),
      }),
    };
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
          if (this.#sequences.isSeen(b, g, j)) continue;
          const at = (b * G + g) * S + j;
          data.k.data.fill(Number.NaN, at * D, (at + 1) * D);
          data.v.data.fill(j % 2 ? Infinity : Number.NaN, at * E, (at + 1) * E);
        }
    return data;
  }
}

const asOption = ({ kind, length, factor }: QueryScaleCase) =>
  kind === 'logn' ? { kind, length } : { kind, length, factor };

const normOption = ({ kind, place, weight, heads }: Norm) => ({
  kind,
  place,
  ...(weight !== undefined && {
    weight: heads === 1 ? weight : { data: weight, shape: [heads, weight.length / heads] },
  }),
});

function swapped({ data, shape: [B, X, Y, W] }: Tensor): Tensor {
  const swap = new Float32Array(data.length);
  for (let b = 0; b < B; ++b)
    for (let x = 0; x < X; ++x)
      for (let y = 0; y < Y; ++y)
        for (let w = 0; w < W; ++w)
          swap[((b * Y + y) * X + x) * W + w] = data[((b * X + x) * Y + y) * W + w];
  return { data: swap, shape: [B, Y, X, W] };
}

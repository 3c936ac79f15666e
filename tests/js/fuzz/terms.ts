// SPDX-License-Identifier: Apache-2.0
/**
 * What an encoding does to scores and values, for the naive attention. Rotations and biases are those
 * that the package computes outside attention, where other tests hold them against formulas; terms of
 * content and distances that are remapped are formulas written here.
 */

import type { EncodingInfo, Tensor } from 'posenc';
import type { AnyEncoding } from '../support/instance.ts';
import { chance, type Noise, type Options, pick } from './options.ts';

/** A sequence's queries or keys as the formulas see them. */
export type Vector = (channel: number) => number;

export interface Term {
  info: EncodingInfo;
  encoding: AnyEncoding;
  options: Options;
  /** What the encoding asks the scale to be. */
  wish?: number;
  /** From q or k [heads, n, D] to their rotated selves, perhaps wider. */
  rotated?(x: Tensor, positions: number[][], role: 'query' | 'key', length: number): Tensor;
  logitScale?(length: number): number;
  /** In place of q·k: the product at the distance the encoding makes of two positions. */
  product?(q: Vector, k: Vector, m: number, j: number): number;
  /** Added to q·k before it is scaled. */
  content?(q: Vector, k: Vector, m: number, j: number, h: number): number;
  /** From the scaled scores of a row, in the order of the keys, to what is added to them. */
  cumulative?(q: Vector, scores: readonly number[], scale: number): number[];
  /** [H, T, S], added after the cap. */
  bias?(queries: number[][], keys: number[][]): Tensor;
  /** Added to a value. */
  value?(m: number, j: number, e: number): number;
  /** Scores that are taken from the package's own attention without any option. */
  taken?: true;
}

const onAxes = ({ axes }: EncodingInfo, positions: number[][]) =>
  axes === 1 ? positions[0] : positions;

export function termOf(info: EncodingInfo, encoding: AnyEncoding, options: Options): Term {
  const wish = wishes[info.id]?.(options);
  const term: Term = { info, encoding, options, ...(wish !== undefined && { wish }) };
  const own = formulas[info.id]?.(options);
  if (own !== undefined) return { ...term, ...own };
  if (info.sites.includes('rotate'))
    return {
      ...term,
      rotated: (x, positions, role, length) =>
        encoding.rotate(x, onAxes(info, positions), { role, length }),
      logitScale: (length) => encoding.plan(length).logitScale,
    };
  if (info.contentFree && info.sites.includes('score'))
    return { ...term, bias: (q, k) => encoding.bias(onAxes(info, q), onAxes(info, k)) };
  return info.sites.includes('score') ? { ...term, taken: true } : term;
}

type Formula = (options: Options) => Partial<Term>;
const number = (options: Options, name: string, otherwise: number) =>
  Number(options[name] ?? otherwise);

/** Plain RoPE at any distance: q turned by m and k by j meet at the angle (m - j)·ω. */
function atDistance(options: Options, distance: (m: number, j: number) => number) {
  const width = number(options, 'headDim', 0);
  const rotary = number(options, 'rotaryDim', width);
  const base = number(options, 'base', 10000);
  const half = (options.layout ?? 'half') === 'half';
  return (q: Vector, k: Vector, m: number, j: number): number => {
    let sum = 0;
    for (let c = rotary; c < width; ++c) sum += q(c) * k(c);
    for (let i = 0; i < rotary / 2; ++i) {
      const [a, b] = half ? [i, i + rotary / 2] : [2 * i, 2 * i + 1];
      const angle = distance(m, j) * base ** ((-2 * i) / rotary);
      sum += (q(a) * k(a) + q(b) * k(b)) * Math.cos(angle);
      sum += (q(a) * k(b) - q(b) * k(a)) * Math.sin(angle);
    }
    return sum;
  };
}

function logn(options: Options, m: number): number {
  if (options.logn !== true || m < 0) return 1;
  return Math.max(1, Math.log(m + 1) / Math.log(number(options, 'trainedLength', 0)));
}

function remapped(options: Options, distance: (m: number, j: number) => number): Partial<Term> {
  const plain = atDistance(options, distance);
  return { product: (q, k, m, j) => plain(q, k, m, j) * logn(options, m) };
}

const modulo = (a: number, n: number) => a - n * Math.floor(a / n);

const formulas: Readonly<Record<string, Formula>> = {
  rerope: (o) => {
    const w = number(o, 'window', 0);
    return remapped(o, (m, j) => Math.min(m - j, w));
  },
  'leaky-rerope': (o) => {
    const [w, step] = [number(o, 'window', 0), number(o, 'step', 16)];
    return remapped(o, (m, j) => (m - j < w ? m - j : w + (m - j - w) / step));
  },
  'self-extend': (o) => {
    const [w, group] = [number(o, 'window', 0), number(o, 'group', 1)];
    const shift = o.uneven === 'divide' ? w / group : Math.floor(w / group);
    return remapped(o, (m, j) =>
      m - j < w ? m - j : Math.floor(m / group) + w - shift - Math.floor(j / group),
    );
  },
  'dual-chunk': (o) => {
    const [chunk, local] = [number(o, 'chunk', 0), number(o, 'local', 0)];
    const s = chunk - local;
    const most = number(o, 'clampMax', chunk - 1);
    return remapped(o, (m, j) => {
      const chunks = Math.floor(m / s) - Math.floor(j / s);
      const query =
        chunks <= 0
          ? modulo(m, s)
          : chunks === 1
            ? Math.min(modulo(m, s) + s, most)
            : Math.min(2 * s - 1, most);
      return query - modulo(j, s);
    });
  },
  shaw: (o) => {
    const reach = number(o, 'maxDistance', 1);
    const row = (m: number, j: number) => Math.max(-reach, Math.min(reach, j - m)) + reach;
    const [keys, values, queries] = ['keyTable', 'valueTable', 'queryTable'].map(
      (name) => o[name] as Tensor | undefined,
    );
    const dot = (table: Tensor | undefined, x: Vector, at: number) => {
      if (table === undefined) return 0;
      const width = table.shape[1];
      let sum = 0;
      for (let c = 0; c < width; ++c) sum += table.data[at * width + c] * x(c);
      return sum;
    };
    return {
      content: (q, k, m, j) => dot(keys, q, row(m, j)) + dot(queries, k, row(m, j)),
      ...(values && {
        value: (m: number, j: number, e: number) => values.data[row(m, j) * values.shape[1] + e],
      }),
    };
  },
  'transformer-xl': (o) => {
    const [u, v, relative] = ['u', 'v', 'relative'].map((name) => o[name] as Tensor | undefined);
    if (u === undefined || v === undefined || relative === undefined) return { taken: true };
    const [, width, waves] = relative.shape;
    const base = number(o, 'base', 10000);
    const clamp = number(o, 'clamp', Infinity);
    return {
      content(q, k, m, j, h) {
        const d = Math.max(-clamp, Math.min(clamp, m - j));
        const wave = Array.from({ length: waves }, (_, e) => {
          const i = e % (waves / 2);
          const angle = d * base ** ((-2 * i) / waves);
          return e < waves / 2 ? Math.sin(angle) : Math.cos(angle);
        });
        let sum = 0;
        for (let c = 0; c < width; ++c) {
          const at = h * width + c;
          let r = 0;
          for (let e = 0; e < waves; ++e) r += relative.data[at * waves + e] * wave[e];
          sum += u.data[at] * k(c) + (q(c) + v.data[at]) * r;
        }
        return sum;
      },
    };
  },
  deberta: (o) => {
    const [own, others] = ['positionKey', 'positionQuery'].map(
      (name) => o[name] as Tensor | undefined,
    );
    const [width, heads] = [number(o, 'headDim', 0), number(o, 'heads', 0)];
    const [buckets, most] = [number(o, 'buckets', 0), number(o, 'maxDistance', 512)];
    // As the published code has it, in numbers wide enough not to need its rounding.
    const bucket = (d: number) => {
      const middle = buckets / 2;
      const n = Math.abs(d);
      if (buckets === 0 || n <= middle) return d;
      const log = Math.log(n / middle) / Math.log((most - 1) / middle);
      return Math.sign(d) * (Math.ceil(log * (middle - 1) - 1e-9) + middle);
    };
    const span = buckets > 0 ? buckets : most;
    const terms = (o.terms as string[] | undefined) ?? ['c2p', 'p2c'];
    return {
      content(q, k, m, j, h) {
        const limited = o.limit === true ? Math.max(1 - most, Math.min(most - 1, m - j)) : m - j;
        const row = Math.max(0, Math.min(2 * span - 1, bucket(limited) + span));
        let sum = 0;
        for (let c = 0; c < width; ++c) {
          const at = (row * heads + h) * width + c;
          if (terms.includes('c2p') && own !== undefined) sum += q(c) * own.data[at];
          if (terms.includes('p2c') && others !== undefined) sum += k(c) * others.data[at];
        }
        return sum;
      },
    };
  },
  cope: (o) => {
    const table = o.table as Tensor;
    const [width, count] = table.shape;
    return {
      cumulative(q, scores, scale) {
        const logits = Array.from({ length: count }, (_, p) => {
          let sum = 0;
          for (let c = 0; c < width; ++c) sum += q(c) * table.data[c * count + p];
          return sum * (o.scaleLogits === false ? 1 : scale);
        });
        let position = 0;
        const added = scores.map(() => 0);
        for (let j = scores.length - 1; j >= 0; --j) {
          position += 1 / (1 + Math.exp(-scores[j]));
          const p = Math.min(position, count - 1);
          const [low, high] = [Math.floor(p), Math.ceil(p)];
          added[j] = (1 - (p - low)) * logits[low] + (p - low) * logits[high];
        }
        return added;
      },
    };
  },
};

/** The scales that encodings were trained with, other than 1/√D. */
const wishes: Readonly<Record<string, (options: Options) => number>> = {
  t5: () => 1,
  'swin-v2': () => 1,
  deberta: (o) => {
    const terms = (o.terms as string[] | undefined) ?? ['c2p', 'p2c'];
    return 1 / Math.sqrt(number(o, 'headDim', 1) * (1 + terms.length));
  },
};

/** Options that go together, where the manifest alone does not say which do. */
export function amend(info: EncodingInfo, options: Options, noise: Noise): void {
  const rotary = number(options, 'rotaryDim', number(options, 'headDim', 0));
  if (info.fields.some(({ name }) => name === 'logn')) {
    options.window = pick(noise, [1, 2, 4, 8, 24]);
    if (options.logn === true) options.trainedLength = pick(noise, [2, 9, 40]);
    else delete options.trainedLength;
  }
  // A multiplicative variant, which is no bias: its own tests hold it.
  delete options.w1;
  delete options.w2;
  if ('group' in options) options.group = pick(noise, [1, 2, 4]);
  if ('chunk' in options) {
    const chunk = pick(noise, [5, 8, 24]);
    Object.assign(options, { chunk, local: pick(noise, [1, 2, 4]) });
    delete options.trainedLength;
    delete options.dcaMscale;
    if (chance(noise, 0.5)) options.clampMax = chunk;
    else delete options.clampMax;
  }
  if ('sections' in options) {
    const third = Math.floor(rotary / 6);
    options.sections = [rotary / 2 - 2 * third, third, third];
  }
  if ('originalLength' in options) options.originalLength = pick(noise, [16, 64, 4096]);
  if ('maxDistance' in options && info.sites.includes('value'))
    options.maxDistance = pick(noise, [1, 3, 16]);
}

// SPDX-License-Identifier: Apache-2.0
// One attention layer over a text, of any size: who looks at whom. Words become vectors by hashing, so equal words are equal.
import { type Encoding, type Engine, withEncoding } from '../engine.ts';
import { actsAt, actsInAttention, actsNowhere, type EncodingInfo } from '../model/manifest.ts';
import { gridOf, placesIn } from '../model/places.ts';
import { hash, normal } from '../model/random.ts';
import { fitted, optionsOf, type Settings, type Table, valueWidth } from '../model/settings.ts';

export const masks = ['open', 'causal', 'window', 'first', 'prefix'] as const;
export type Mask = (typeof masks)[number];
export const parts = ['both', 'content', 'position'] as const;
export type Part = (typeof parts)[number];

export interface Layer {
  readonly heads: number;
  readonly width: number;
  readonly seed: number;
  /** What the contents of queries and keys are scaled by. */
  readonly sharpness: number;
}
export interface Question {
  /** In the order of their places. */
  readonly words: readonly string[];
  readonly layer: Layer;
  readonly mask: Mask;
  /** Of a window its width, else how many words at the start are special. */
  readonly span: number;
  readonly part: Part;
}
/** [heads, words, words] */
export type Weights = Float32Array;

export const headDimOf = ({ width, heads }: Layer): number => width / heads;
export const settingsOf = (info: EncodingInfo, layer: Layer): Settings =>
  fitted(info, { heads: layer.heads, headDim: headDimOf(layer), width: layer.width });

/** How many of the first words stay in sight of all, where a mask keeps them. */
export const kept = 2;

export function sees(mask: Mask, span: number, query: number, key: number): boolean {
  if (mask === 'open') return true;
  if (mask === 'causal') return key <= query;
  if (mask === 'prefix') return key <= query || key < span;
  return key <= query && (query - key < span || (mask === 'first' && key < kept));
}

/** The vector of a word; where only position shall count, all words are one. */
const vectorOf = (word: string, width: number, part: Part): Float32Array =>
  normal(hash(part === 'position' ? '' : word.toLowerCase()), width);

/** rows · matrix, heads first. Sums run in double and in one order, so that a row depends on itself alone. */
function project(rows: Float32Array, count: number, layer: Layer, name: string): Table {
  const { width, seed, sharpness } = layer;
  const headDim = headDimOf(layer);
  const matrix = normal(hash(`${seed}:${name}`), width * width, sharpness / Math.sqrt(width));
  const data = new Float32Array(count * width);
  const sums = new Float64Array(width);
  for (let row = 0; row < count; row += 1) {
    sums.fill(0);
    for (let i = 0; i < width; i += 1) {
      const value = rows[row * width + i] as number;
      for (let column = 0; column < width; column += 1)
        sums[column] = (sums[column] as number) + value * (matrix[i * width + column] as number);
    }
    for (let column = 0; column < width; column += 1) {
      const head = Math.floor(column / headDim);
      data[(head * count + row) * headDim + (column % headDim)] = sums[column] as number;
    }
  }
  return { shape: [layer.heads, count, headDim], data };
}

function attend(
  engine: Engine,
  { words, layer, mask, span, part }: Question,
  info: EncodingInfo | undefined,
  encoding: Encoding | undefined,
): Weights {
  const count = words.length;
  let rows = new Float32Array(count * layer.width);
  for (const [place, word] of words.entries())
    rows.set(vectorOf(word, layer.width, part), place * layer.width);
  const settings = info && settingsOf(info, layer);
  const indices = Float64Array.from({ length: count }, (_, place) => place);
  const positions = info && settings && placesIn(info, gridOf(info, settings, count), indices);
  if (info && encoding && actsAt(info, 'embed'))
    rows = Float32Array.from(
      encoding.embed({ shape: [count, layer.width], data: rows }, positions).data,
    );
  const values = info && settings ? valueWidth(info, settings, headDimOf(layer)) : headDimOf(layer);
  const inside = info && encoding && positions && actsInAttention(info);
  const { weights } = engine.attention(
    project(rows, count, layer, 'query'),
    project(rows, count, layer, 'key'),
    { shape: [layer.heads, count, values], data: new Float32Array(layer.heads * count * values) },
    {
      weights: true,
      ...(mask === 'open'
        ? {}
        : mask === 'causal'
          ? { causal: true }
          : { mask: maskOf(mask, span, count) }),
      ...(inside ? { encoding, queryPositions: positions, keyPositions: positions } : {}),
    },
  );
  return weights?.data ?? new Float32Array(layer.heads * count * count);
}

function maskOf(mask: Mask, span: number, count: number): { shape: number[]; data: Uint8Array } {
  const data = new Uint8Array(count * count);
  for (let query = 0; query < count; query += 1)
    for (let key = 0; key < count; key += 1)
      data[query * count + key] = Number(sees(mask, span, query, key));
  return { shape: [count, count], data };
}

export function weightsOf(engine: Engine, question: Question, info: EncodingInfo): Weights {
  if (question.part === 'content' || actsNowhere(info))
    return attend(engine, question, undefined, undefined);
  return withEncoding(engine, info.id, optionsOf(info, settingsOf(info, question.layer)), (made) =>
    attend(engine, question, info, made),
  );
}

/** One head, or the mean of all for -1: [words, words]. */
export function mapOf(weights: Weights, heads: number, head: number): Float32Array {
  const size = weights.length / heads;
  if (head >= 0) return weights.slice(head * size, (head + 1) * size);
  const mean = new Float32Array(size);
  for (let h = 0; h < heads; h += 1)
    for (let i = 0; i < size; i += 1)
      mean[i] = (mean[i] as number) + (weights[h * size + i] as number) / heads;
  return mean;
}

/** Per row, how much attention lies elsewhere: half the sum of all differences, from 0 to 1. */
export function variation(a: Float32Array, b: Float32Array, count: number): Float64Array {
  return Float64Array.from({ length: count }, (_, row) => {
    let sum = 0;
    for (let i = row * count; i < (row + 1) * count; i += 1)
      sum += Math.abs((a[i] as number) - (b[i] as number));
    return sum / 2;
  });
}

/** The largest change of a weight between two words when the words move: 0 where the map moves along rigidly. */
export function rigidity(
  before: Float32Array,
  after: Float32Array,
  order: readonly number[],
): number {
  const count = order.length;
  let most = 0;
  order.forEach((word, place) => {
    order.forEach((other, column) => {
      const change =
        (after[place * count + column] as number) - (before[word * count + other] as number);
      most = Math.max(most, Math.abs(change));
    });
  });
  return most;
}

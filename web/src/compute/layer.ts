// SPDX-License-Identifier: Apache-2.0
// One attention layer over a sentence. Words become vectors by hashing, so the same word is always the same vector.
import { type Encoding, type Engine, withEncoding } from '../engine.ts';
import { actsAt, actsInAttention, type EncodingInfo } from '../model/manifest.ts';
import { gridOf, placesIn } from '../model/places.ts';
import { hash, normal } from '../model/random.ts';
import { fitted, optionsOf, type Table } from '../model/settings.ts';
import { range } from './cells.ts';

export const layer = { heads: 4, headDim: 4, width: 16 } as const;
export const seed = 20170612;
/** Wide enough that the softmax has favourites: the map of a flat attention shows nothing. */
export const spread = 1.6;

const matrices = ['query', 'key', 'value'].map((name) =>
  normal(hash(`${seed}:${name}`), layer.width * layer.width, spread / Math.sqrt(layer.width)),
);
export const vectorOf = (word: string): Float32Array =>
  normal(hash(word.toLowerCase()), layer.width);

/** rows · matrix, split into heads: [heads, rows, headDim]. Sums run in double and in one order, so a row depends only on itself. */
function project(rows: Float32Array, count: number, matrix: Float32Array): Table {
  const { heads, headDim, width } = layer;
  const data = new Float32Array(count * width);
  for (let row = 0; row < count; row += 1)
    for (let column = 0; column < width; column += 1) {
      let sum = 0;
      for (let i = 0; i < width; i += 1)
        sum += (rows[row * width + i] as number) * (matrix[i * width + column] as number);
      const head = Math.floor(column / headDim);
      data[(head * count + row) * headDim + (column % headDim)] = sum;
    }
  return { shape: [heads, count, headDim], data };
}

export interface Layer {
  /** [words, width]: what attention computed for the word at each place. */
  readonly output: Float32Array;
  /** [heads, words, words]. */
  readonly weights: Float32Array;
  readonly largestValue: number;
}

function attend(
  engine: Engine,
  words: readonly string[],
  info: EncodingInfo | undefined,
  encoding: Encoding | undefined,
  causal: boolean,
): Layer {
  const { heads, headDim, width } = layer;
  const count = words.length;
  let rows = new Float32Array(count * width);
  for (const [place, word] of words.entries()) rows.set(vectorOf(word), place * width);
  const positions =
    info && placesIn(info, gridOf(info, fitted(info, layer), count), range(0, count));
  if (info && encoding && actsAt(info, 'embed'))
    rows = Float32Array.from(encoding.embed({ shape: [count, width], data: rows }, positions).data);
  const [q, k, v] = matrices.map((matrix) => project(rows, count, matrix)) as [Table, Table, Table];
  const inside = info && encoding && positions && actsInAttention(info);
  const result = engine.attention(q, k, v, {
    causal,
    weights: true,
    ...(inside ? { encoding, queryPositions: positions, keyPositions: positions } : {}),
  });
  const output = new Float32Array(count * width);
  for (let head = 0; head < heads; head += 1)
    for (let place = 0; place < count; place += 1)
      output.set(
        result.output.data.subarray(
          (head * count + place) * headDim,
          (head * count + place + 1) * headDim,
        ),
        place * width + head * headDim,
      );
  return {
    output,
    weights: result.weights?.data ?? new Float32Array(heads * count * count),
    largestValue: v.data.reduce((most, value) => Math.max(most, Math.abs(value)), 0),
  };
}

export function runLayer(
  engine: Engine,
  words: readonly string[],
  info: EncodingInfo | undefined,
  causal: boolean,
): Layer {
  if (!info) return attend(engine, words, undefined, undefined, causal);
  return withEncoding(engine, info.id, optionsOf(info, fitted(info, layer)), (encoding) =>
    attend(engine, words, info, encoding, causal),
  );
}

export interface Comparison {
  readonly before: Layer;
  readonly after: Layer;
  /** Per word of the sentence as typed: the largest change of its output, wherever the word went. */
  readonly changes: Float64Array;
  readonly largest: number;
  /** Changes below this can come from the order of additions alone. */
  readonly noise: number;
}

/** `order[place]` is the word at that place. In canonical order every sum runs as typed, and only the labels move. */
export function compareOrders(
  engine: Engine,
  words: readonly string[],
  order: readonly number[],
  info: EncodingInfo | undefined,
  causal: boolean,
  canonical: boolean,
): Comparison {
  const { heads, width } = layer;
  const count = words.length;
  const before = runLayer(engine, words, info, causal);
  let after = before;
  if (!canonical)
    after = runLayer(
      engine,
      order.map((word) => words[word] as string),
      info,
      causal,
    );
  else {
    const output = new Float32Array(before.output.length);
    const weights = new Float32Array(before.weights.length);
    order.forEach((word, place) => {
      output.set(before.output.subarray(word * width, (word + 1) * width), place * width);
      for (let head = 0; head < heads; head += 1)
        order.forEach((key, column) => {
          weights[(head * count + place) * count + column] = before.weights[
            (head * count + word) * count + key
          ] as number;
        });
    });
    after = { output, weights, largestValue: before.largestValue };
  }
  const changes = new Float64Array(count);
  order.forEach((word, place) => {
    for (let i = 0; i < width; i += 1) {
      const change = Math.abs(
        (after.output[place * width + i] as number) - (before.output[word * width + i] as number),
      );
      changes[word] = Math.max(changes[word] as number, change);
    }
  });
  return {
    before,
    after,
    changes,
    largest: changes.reduce((most, change) => Math.max(most, change), 0),
    noise: count * 2 ** -23 * before.largestValue,
  };
}

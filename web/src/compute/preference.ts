// SPDX-License-Identifier: Apache-2.0
// One measure for encodings of every kind: all tokens are one vector, and the logarithms of the attention weights tell by how
// many logits a token is preferred for its place alone.
import { type Engine, withEncoding } from '../engine.ts';
import { actsAt, actsInAttention, actsNowhere, type EncodingInfo } from '../model/manifest.ts';
import { gridOf, placesIn, tokensWithin } from '../model/places.ts';
import { hash, normal } from '../model/random.ts';
import { effective, optionsOf, type Settings, type Table, valueWidth } from '../model/settings.ts';
import { range } from './cells.ts';

/** Vectors to average over where an encoding does not name its heads. */
const probes = 8;
const usualWidth = 64;

export interface Preference {
  /** How many tokens stood in the row; a bounded table holds fewer than were asked for. */
  readonly tokens: number;
  /** [tokens]: logits at distance δ into the past, against the token itself; the mean of all heads. */
  readonly byDistance: Float64Array;
  /** [side, side]: the same for every pair of the first tokens. */
  readonly side: number;
  readonly matrix: Float32Array;
  /** 1 where the matrix depends on the distance alone. */
  readonly toeplitz: number;
  /** Of a rotation: pairs in all, and those that complete no turn within the tokens. */
  readonly pairs?: { readonly all: number; readonly never: number };
}

/** Share of the variation that the mean of each diagonal explains; a flat matrix is explained by anything. */
export function toeplitzScore(matrix: Float32Array, side: number): number {
  const sums = new Float64Array(2 * side - 1);
  const counts = new Float64Array(2 * side - 1);
  let total = 0;
  const at = (i: number): number => (i % side) - Math.floor(i / side) + side - 1;
  matrix.forEach((value, i) => {
    sums[at(i)] = (sums[at(i)] as number) + value;
    counts[at(i)] = (counts[at(i)] as number) + 1;
    total += value;
  });
  const mean = total / matrix.length;
  let left = 0;
  let whole = 0;
  matrix.forEach((value, i) => {
    left += (value - (sums[at(i)] as number) / (counts[at(i)] as number)) ** 2;
    whole += (value - mean) ** 2;
  });
  // Below this all variation is the rounding of weights.
  return whole / matrix.length < 1e-9 ? 1 : 1 - left / whole;
}

/** [heads, queries, tokens] of ln(weight / weight of the token itself), averaged over heads. */
function logits(
  engine: Engine,
  info: EncodingInfo,
  settings: Settings,
  tokens: number,
  queries: readonly number[],
): Float64Array {
  return withEncoding(engine, info.id, optionsOf(info, settings), (encoding) => {
    const grid = gridOf(info, settings, tokens);
    const place = (indices: Float64Array) => placesIn(info, grid, indices);
    const all = place(range(0, tokens));
    const asked = place(Float64Array.from(queries));
    const embeds = actsAt(info, 'embed');
    const width = embeds
      ? (encoding.table(place(range(0, 1))).shape[1] as number)
      : Number(effective(info, 'headDim', settings) ?? usualWidth);
    const heads = Number(effective(info, 'heads', settings) ?? (actsNowhere(info) ? 1 : probes));
    const rows = (count: number): Table => {
      const data = new Float32Array(heads * count * width);
      for (let head = 0; head < heads; head += 1) {
        const one = normal(hash(`preference ${head}`), width);
        for (let row = 0; row < count; row += 1) data.set(one, (head * count + row) * width);
      }
      return { shape: [heads, count, width], data };
    };
    const [q, k] = embeds
      ? [encoding.embed(rows(queries.length), asked), encoding.embed(rows(tokens), all)]
      : [rows(queries.length), rows(tokens)];
    const values = valueWidth(info, settings);
    const v = { shape: [heads, tokens, values], data: new Float32Array(heads * tokens * values) };
    const { weights } = engine.attention(q, k, v, {
      weights: true,
      ...(actsInAttention(info) ? { encoding, queryPositions: asked, keyPositions: all } : {}),
    });
    const found = new Float64Array(queries.length * tokens);
    for (let head = 0; head < heads; head += 1)
      queries.forEach((query, row) => {
        const start = (head * queries.length + row) * tokens;
        const own = Math.log(weights?.data[start + query] ?? 0);
        for (let key = 0; key < tokens; key += 1) {
          const log = Math.log(weights?.data[start + key] ?? 0);
          // A weight that float32 has no room for lies this far below; infinity would hide the rest.
          found[row * tokens + key] =
            (found[row * tokens + key] as number) +
            Math.max(-104, log - Math.max(-104, own)) / heads;
        }
      });
    return found;
  });
}

/** One call of attention after the other. */
export function* preferenceInParts(
  engine: Engine,
  info: EncodingInfo,
  settings: Settings,
  length: number,
  side: number,
): Generator<void, Preference> {
  const tokens = tokensWithin(info, settings, length);
  const row = logits(engine, info, settings, tokens, [tokens - 1]);
  yield;
  const few = Math.min(side, tokensWithin(info, settings, side));
  const square = Float32Array.from(
    logits(
      engine,
      info,
      settings,
      few,
      Array.from({ length: few }, (_, i) => i),
    ),
  );
  const pairs = actsAt(info, 'rotate')
    ? withEncoding(engine, info.id, optionsOf(info, settings), (encoding) => {
        const { inverseFrequencies } = encoding.plan(tokens);
        const never = inverseFrequencies.filter((f) => f * tokens < 2 * Math.PI).length;
        return { all: inverseFrequencies.length, never };
      })
    : undefined;
  return {
    tokens,
    byDistance: Float64Array.from(row).reverse(),
    side: few,
    matrix: square,
    toeplitz: toeplitzScore(square, few),
    ...(pairs ? { pairs } : {}),
  };
}

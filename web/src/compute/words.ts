// SPDX-License-Identifier: Apache-2.0
// One attention layer over a text, of any size: who looks at whom. Words become vectors by hashing, so equal words are equal.
import { type AttentionOptions, type Encoding, type Engine, withEncoding } from '../engine.ts';
import { actsAt, actsInAttention, actsNowhere, type EncodingInfo } from '../model/manifest.ts';
import { gridOf, placesIn } from '../model/places.ts';
import { hash, normal } from '../model/random.ts';
import { fitted, optionsOf, type Settings, type Table, valueWidth } from '../model/settings.ts';
import { range } from './cells.ts';
import { product } from './product.ts';

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
/** What makes queries and keys of words in place of random projections, [heads, words, headDim] each. */
export interface Projector {
  /** `embed` is what an encoding makes of the words' rows, [words, width]. */
  project(
    words: readonly string[],
    part: Part,
    embed?: (rows: Float32Array) => Float32Array,
  ): readonly [Table, Table];
}
/** Vectors of tokens, in the place of hashed ones. */
export interface Vectors {
  /** Where they are from. */
  readonly name: string;
  /** [width] of the layer. */
  row(id: number): Float32Array;
  /** The lines of a program that set its rows to them; `readSafetensors` is there. */
  readonly program: string;
}
export interface Question {
  /** In the order of their places. */
  readonly words: readonly string[];
  /** Of tokens, which are then told apart by these alone. */
  readonly ids?: readonly number[];
  readonly vectors?: Vectors;
  readonly layer: Layer;
  readonly mask: Mask;
  /** Of a window its width, else how many words at the start are special. */
  readonly span: number;
  readonly part: Part;
  /** What scores are bent towards and never reach; 0 leaves them as they are. */
  readonly softcap: number;
  /** What stands in the sum of every row’s softmax besides the words, e to the logit of a learned sink; 0 is none. */
  readonly sink?: number;
  readonly projector?: Projector | undefined;
}
/** [heads, words, words] */
export type Weights = Float32Array;

export const headDimOf = ({ width, heads }: Layer): number => width / heads;
export const settingsOf = (info: EncodingInfo, layer: Layer): Settings =>
  fitted(info, { heads: layer.heads, headDim: headDimOf(layer), width: layer.width });

/** How many of the first words stay in sight of all, where a window keeps them. */
export const kept = 2;

/** What attention is told, in its own words. */
export function sightOf(
  mask: Mask,
  span: number,
  count: number,
): Pick<AttentionOptions, 'causal' | 'window' | 'prefix'> {
  if (mask === 'open') return {};
  const left = Math.min(span, count) - 1;
  return {
    causal: true,
    ...(mask === 'prefix' ? { prefix: Math.min(span, count) } : {}),
    ...(mask === 'window' ? { window: { left } } : {}),
    ...(mask === 'first' ? { window: { left, first: Math.min(kept, count) } } : {}),
  };
}

/** The logit that a sink of this weight has, the same for every head; as float32, so that a program prints all of it. */
export const sinkLogits = (sink: number, heads: number): number[] =>
  Array<number>(heads).fill(Math.fround(Math.log(sink)));

/** What the vector of each word is hashed from; where only position shall count, all words are one. */
export function namesOf({ words, ids, part }: Pick<Question, 'words' | 'ids' | 'part'>): string[] {
  return words.map((word, place) =>
    part === 'position' ? '' : ids ? `#${ids[place]}` : word.toLowerCase(),
  );
}

/** Rows of which some may be the same one. */
interface Rows {
  readonly data: Float32Array;
  /** Which row stands at each place. */
  readonly at: readonly number[];
}

/** A row for each different word. */
function rowsOf(question: Question): Rows {
  const { layer, ids, vectors, part } = question;
  const known = new Map<string, number>();
  const firsts: number[] = [];
  const at = namesOf(question).map((name, place) => {
    const row = known.get(name) ?? known.size;
    if (row === known.size) firsts.push(place);
    known.set(name, row);
    return row;
  });
  const data = new Float32Array(known.size * layer.width);
  for (const [name, row] of known) {
    const id = ids?.[firsts[row] as number];
    const given = part === 'position' || id === undefined ? undefined : vectors?.row(id);
    data.set(given ?? normal(hash(name), layer.width), row * layer.width);
  }
  return { data, at };
}

/** The random projections of a layer, which stay where an encoding changes the rows. */
let drawn: { key: string; matrices: readonly [Float32Array, Float32Array] } | undefined;
function matricesOf({ seed, width, sharpness }: Layer): readonly [Float32Array, Float32Array] {
  const key = String([seed, width, sharpness]);
  const made = (name: string): Float32Array =>
    normal(hash(`${seed}:${name}`), width * width, sharpness / Math.sqrt(width));
  if (drawn?.key !== key) drawn = { key, matrices: [made('query'), made('key')] };
  return drawn.matrices;
}

/** Queries and keys, heads first. */
function project({ data: rows, at }: Rows, layer: Layer): readonly [Table, Table] {
  const { width, heads } = layer;
  const headDim = headDimOf(layer);
  const count = at.length;
  const headsFirst = (matrix: Float32Array): Table => {
    const projected = product(rows, matrix, width);
    const data = new Float32Array(count * width);
    at.forEach((row, place) => {
      for (let head = 0; head < heads; head += 1) {
        const from = row * width + head * headDim;
        data.set(projected.subarray(from, from + headDim), (head * count + place) * headDim);
      }
    });
    return { shape: [heads, count, headDim], data };
  };
  const [query, key] = matricesOf(layer);
  return [headsFirst(query), headsFirst(key)];
}

/** Two encodings read the same words: what was projected last is kept for the second. */
let last:
  | { key: string; vectors: Vectors | undefined; tables: readonly [Table, Table] }
  | undefined;
function projected(question: Question): readonly [Table, Table] {
  const { layer, vectors } = question;
  const key = JSON.stringify([namesOf(question), layer]);
  if (last?.key !== key || last.vectors !== vectors) {
    last = { key, vectors, tables: project(rowsOf(question), layer) };
  }
  return last.tables;
}

/** Where an encoding changes the rows first, equal words are no longer equal. */
function embedded(
  question: Question,
  embed: (rows: Float32Array) => Float32Array,
): readonly [Table, Table] {
  const { layer, words } = question;
  const { width } = layer;
  const { data, at } = rowsOf(question);
  const plain = new Float32Array(words.length * width);
  at.forEach((row, place) => {
    plain.set(data.subarray(row * width, (row + 1) * width), place * width);
  });
  return project({ data: Float32Array.from(embed(plain)), at: at.map((_, place) => place) }, layer);
}

function attend(
  engine: Engine,
  question: Question,
  info: EncodingInfo | undefined,
  encoding: Encoding | undefined,
): Weights {
  const { layer, mask, span, softcap, sink = 0, projector } = question;
  const count = question.words.length;
  const { heads, width } = layer;
  const settings = info && settingsOf(info, layer);
  const indices = range(0, count);
  const positions = info && settings && placesIn(info, gridOf(info, settings, count), indices);
  const embed =
    info && encoding && actsAt(info, 'embed')
      ? (data: Float32Array) => encoding.embed({ shape: [count, width], data }, positions).data
      : undefined;
  const [q, k] = projector
    ? projector.project(question.words, question.part, embed)
    : embed
      ? embedded(question, embed)
      : projected(question);
  const values = info && settings ? valueWidth(info, settings) : 1;
  const inside = info && encoding && positions && actsInAttention(info);
  const { weights } = engine.attention(
    q,
    k,
    { shape: [heads, count, values], data: new Float32Array(heads * count * values) },
    {
      weights: true,
      ...sightOf(mask, span, count),
      ...(softcap > 0 ? { softcap } : {}),
      ...(sink > 0 ? { sinks: sinkLogits(sink, heads) } : {}),
      ...(inside ? { encoding, queryPositions: positions, keyPositions: positions } : {}),
    },
  );
  return weights?.data ?? new Float32Array(heads * count * count);
}

/** One attention of 256 words in 8 heads of 64 takes 10 ms, and of two encodings one often stays: so do both for another row or head. */
const recent: { key: string; question: Question; weights: Weights }[] = [];
/** Of two encodings, before and after a shuffle. */
const mostRecent = 4;

/** To be read only. */
export function weightsOf(engine: Engine, question: Question, info: EncodingInfo): Weights {
  const { vectors, projector, ...plain } = question;
  const key = JSON.stringify([info.id, plain]);
  const same = recent.findIndex(
    (one) =>
      one.key === key && one.question.vectors === vectors && one.question.projector === projector,
  );
  const [found = { key, question, weights: attended(engine, question, info) }] =
    same < 0 ? [] : recent.splice(same, 1);
  recent.unshift(found);
  recent.length = Math.min(recent.length, mostRecent);
  return found.weights;
}
function attended(engine: Engine, question: Question, info: EncodingInfo): Weights {
  if (question.part === 'content' || actsNowhere(info))
    return attend(engine, question, undefined, undefined);
  return withEncoding(engine, info.id, optionsOf(info, settingsOf(info, question.layer)), (made) =>
    attend(engine, question, info, made),
  );
}

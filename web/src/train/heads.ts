// SPDX-License-Identifier: Apache-2.0
// Trained heads as a file: what a decoder makes queries and keys of, and how it came about.
import { projections } from '../compute/trained.ts';
import type { Part } from '../compute/words.ts';
import type { EncodingInfo } from '../model/manifest.ts';
import { openWeights, WeightsError, type WeightsFile, weightsFile } from '../model/safetensors.ts';
import { fitted, type Options, optionsOf, type Table } from '../model/settings.ts';
import type { Linear, Norm } from './operators.ts';
import type { Parts } from './parts.ts';
import type { Setup } from './run.ts';
import { examLengths, type Task, tasks, vocabulary } from './tasks.ts';

/** As a header says it. */
export interface Provenance {
  readonly task: Task;
  /** Id of the encoding trained with. */
  readonly encoding: string;
  readonly options: Options;
  /** Longest length trained on. */
  readonly longest: number;
  readonly steps: number;
  readonly seed: number;
  /** Of `lengths` after the last step: how many answers were asked for, how many were right. */
  readonly lengths: readonly number[];
  readonly asked: readonly number[];
  readonly right: readonly number[];
  readonly made: string;
  readonly command: string;
  readonly package: string;
}

export interface TrainedHeads {
  readonly provenance: Provenance;
  readonly width: number;
  readonly heads: number;
  /** [vocabulary, width] */
  readonly embedding: Float32Array;
  /** What rows go through before they are projected. */
  readonly norm: Norm;
  /** weight [heads, width, headDim], bias [heads, headDim] */
  readonly query: Linear;
  readonly key: Linear;
  /** Queries and keys of symbols, [heads, symbols, headDim] each. `embed` is what an encoding makes of rows [symbols, width]. */
  project(
    labels: readonly string[],
    part: Part,
    embed?: (rows: Float32Array) => Float32Array,
  ): readonly [Table, Table];
}

/** Columns of [inner, 3 · width] as [heads, inner, headDim]: of queries for `which` 0, of keys for 1. */
function perHead(weights: Float64Array, inner: number, heads: number, which: 0 | 1): Table {
  const columns = weights.length / inner;
  const width = columns / 3;
  const headDim = width / heads;
  const data = new Float32Array(inner * width);
  for (let row = 0; row < inner; row += 1)
    for (let column = 0; column < width; column += 1)
      data[(Math.floor(column / headDim) * inner + row) * headDim + (column % headDim)] = weights[
        row * columns + which * width + column
      ] as number;
  return {
    shape: inner === 1 ? [heads, headDim] : [heads, inner, headDim],
    data,
  };
}

/** The file of a decoder of one layer: queries of later ones are made of what those before them give. */
export function headsFile(
  parts: Parts,
  heads: number,
  info: EncodingInfo,
  { task, longest, seed, steps }: Setup,
  { asked, right, ...origin }: Pick<Provenance, 'asked' | 'right' | 'made' | 'command' | 'package'>,
): Uint8Array<ArrayBuffer> {
  const [layer, second] = parts.layers;
  if (!layer || second || parts.tables.size)
    throw new Error('heads are of one layer, and of an encoding that learns no table');
  const width = layer.before.gain.length;
  const flat = (data: Float64Array, shape: number[] = [data.length]): Table => ({
    shape,
    data: Float32Array.from(data),
  });
  const tensors = new Map<string, Table>([
    ['embedding', flat(parts.embedding, [vocabulary[task], width])],
    ['norm.gain', flat(layer.before.gain)],
    ['norm.shift', flat(layer.before.shift)],
    ['query.weight', perHead(layer.qkv.weight, width, heads, 0)],
    ['query.bias', perHead(layer.qkv.bias, 1, heads, 0)],
    ['key.weight', perHead(layer.qkv.weight, width, heads, 1)],
    ['key.bias', perHead(layer.qkv.bias, 1, heads, 1)],
  ]);
  return weightsFile(tensors, {
    task,
    encoding: info.id,
    options: JSON.stringify(
      optionsOf(info, fitted(info, { width, heads, headDim: width / heads })),
    ),
    longest: String(longest),
    steps: String(steps),
    seed: String(seed),
    lengths: JSON.stringify(examLengths(longest)),
    asked: JSON.stringify(asked),
    right: JSON.stringify(right),
    ...origin,
  });
}

const unfit = (name: string, expected: string, came: string | undefined): WeightsError =>
  new WeightsError(
    `“${name}” in the header must be ${expected}, ${came === undefined ? 'and is missing' : `got ${came.slice(0, 40)}`}`,
  );

function provenanceOf({ metadata }: WeightsFile, manifest: readonly EncodingInfo[]): Provenance {
  const said = (name: string): string => {
    const text = metadata[name];
    if (!text || text.length > 1000) throw unfit(name, 'a text', text);
    return text;
  };
  const whole = (name: string, least: number, most: number): number => {
    const value = /^\d{1,5}$/.test(metadata[name] ?? '') ? Number(metadata[name]) : -1;
    if (value < least || value > most)
      throw unfit(name, `an integer from ${least} to ${most}`, metadata[name]);
    return value;
  };
  const counts = (name: string): number[] => {
    const isCounts = (list: unknown): list is number[] =>
      Array.isArray(list) && list.length > 0 && list.every((n) => Number.isInteger(n) && n >= 0);
    try {
      const list: unknown = JSON.parse(said(name));
      if (isCounts(list)) return list;
    } catch {
      // Told below.
    }
    throw unfit(name, 'a list of counts', metadata[name]);
  };
  const task = tasks.find((one) => one === metadata.task);
  if (!task) throw unfit('task', `one of ${tasks.join(', ')}`, metadata.task);
  const info = manifest.find(({ id }) => id === metadata.encoding);
  if (!info) throw unfit('encoding', 'an encoding of this package', metadata.encoding);
  const [lengths, asked, right] = [counts('lengths'), counts('asked'), counts('right')];
  if (asked.length !== lengths.length || right.length !== lengths.length)
    throw unfit('right', `as long as “lengths”, ${lengths.length}`, metadata.right);
  return {
    task,
    encoding: info.id,
    options: {},
    longest: whole('longest', 1, 512),
    steps: whole('steps', 1, 10_000),
    seed: whole('seed', 0, 999),
    lengths,
    asked,
    right,
    made: said('made'),
    command: said('command'),
    package: said('package'),
  };
}

/** Throws a WeightsError that says what of the file is wrong. */
export function readHeads(
  bytes: ArrayBuffer | Uint8Array,
  manifest: readonly EncodingInfo[],
): TrainedHeads {
  const file = openWeights(bytes);
  const provenance = provenanceOf(file, manifest);
  const [heads = 0, width = 0, headDim = 0] = file.tensors.get('query.weight')?.shape ?? [];
  if (file.tensors.has('query.weight') && !(heads >= 1 && heads <= 8 && heads * headDim === width))
    throw new WeightsError(
      `query.weight must be of 1 to 8 heads that share its width, got [${heads}, ${width}, ${headDim}]`,
      'query.weight',
    );
  const of = (name: string, shape: number[]): Float32Array => file.read(name, shape).data;
  const linear = (name: string): Linear => ({
    weight: Float64Array.from(of(`${name}.weight`, [heads, width, headDim])),
    bias: Float64Array.from(of(`${name}.bias`, [heads, headDim])),
  });
  const [query, key] = [linear('query'), linear('key')];
  const info = manifest.find(({ id }) => id === provenance.encoding) as EncodingInfo;
  const options = optionsOf(info, fitted(info, { heads, width, headDim }));
  // The page derives them from the sizes of the layer, in its maps as in its programs.
  if (JSON.stringify(options) !== file.metadata.options)
    throw unfit('options', JSON.stringify(options), file.metadata.options);
  const parts = {
    width,
    heads,
    embedding: of('embedding', [vocabulary[provenance.task], width]),
    norm: {
      gain: Float64Array.from(of('norm.gain', [width])),
      shift: Float64Array.from(of('norm.shift', [width])),
    },
    query,
    key,
  };
  return {
    ...parts,
    provenance: { ...provenance, options },
    project: (labels, part, embed) => projections(parts, provenance.task, labels, part, embed),
  };
}

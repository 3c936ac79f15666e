// SPDX-License-Identifier: Apache-2.0
// What the atlas draws of an encoding, chosen by where it acts. Every number comes out of the package.
import { type Encoding, type Engine, withEncoding } from '../engine.ts';
import { actsAt, actsNowhere, type EncodingInfo } from '../model/manifest.ts';
import {
  gridInWords,
  gridOf,
  type Positions,
  placesIn,
  type Surroundings,
  surroundings,
  tokensWithin,
} from '../model/places.ts';
import { hash, normal } from '../model/random.ts';
import { effective, optionsOf, type Settings, valueWidth } from '../model/settings.ts';
import { ofDistances } from './distances.ts';

export interface Curve {
  readonly name: string;
  readonly values: Float64Array;
}
export interface Picture {
  readonly columns: number;
  readonly rows: number;
  /** What the first column stands for; the others follow in steps of one. */
  readonly first: number;
  /** [rows, columns]. */
  readonly cells: Float32Array;
  readonly columnName: 'position' | 'distance';
  readonly rowName: 'dimension' | 'pair' | 'head' | 'probe' | 'query';
  readonly cellName: string;
  readonly curves: readonly Curve[];
  /** Whether curve i belongs to row i of the map. */
  readonly perRow: boolean;
  readonly curveName: string;
  /** The value that means "no effect"; the curve's axis always shows it. */
  readonly baseline: number;
  readonly definitions: readonly string[];
  /** Of an encoding that turns every head in its own way: the one drawn. */
  readonly head?: number;
  /** Of an encoding that makes rows wider: by how much. */
  readonly growth?: number;
}

export const mostCells = 1 << 22;
const range = (first: number, count: number): Float64Array =>
  Float64Array.from({ length: count }, (_, i) => first + i);
function limit(cells: number): void {
  if (cells > mostCells)
    throw new RangeError(
      `this picture would have ${cells} cells; the page draws at most ${mostCells}`,
    );
}

/** Columns at a time: a cache line of each is read once for as many rows as it holds. */
const block = 16;

/** Row r of the cells is element `firsts[r]` of every `width` numbers of the data. */
function transpose(
  data: Float32Array,
  width: number,
  firsts: readonly number[],
  cells: Float32Array,
  columns: number,
): void {
  for (let start = 0; start < columns; start += block) {
    const end = Math.min(columns, start + block);
    for (let row = 0; row < firsts.length; row += 1) {
      const first = firsts[row] as number;
      for (let column = start; column < end; column += 1)
        cells[row * columns + column] = data[column * width + first] as number;
    }
  }
}

/** Positions of tokens by their indices, in a line or on the grid that takes `tokens`. */
type Placing = (first: number, count: number) => Positions;

function ofEmbeddings(place: Placing, encoding: Encoding, columns: number): Picture {
  // One row tells the width, before the whole is asked for.
  const rows = encoding.table(place(0, 1)).shape[1] as number;
  limit(rows * columns);
  const { data } = encoding.table(place(0, columns));
  const cells = new Float32Array(rows * columns);
  transpose(
    data,
    rows,
    Array.from({ length: rows }, (_, row) => row),
    cells,
    columns,
  );
  const cosine = new Float64Array(columns);
  let firstNorm = 0;
  for (let i = 0; i < rows; i += 1) firstNorm += (data[i] as number) ** 2;
  for (let column = 0; column < columns; column += 1) {
    let dot = 0;
    let norm = 0;
    for (let row = 0; row < rows; row += 1) {
      const value = data[column * rows + row] as number;
      dot += value * (data[row] as number);
      norm += value * value;
    }
    const size = Math.sqrt(norm * firstNorm);
    cosine[column] = size > 0 ? dot / size : 0;
  }
  return {
    columns,
    rows,
    first: 0,
    cells,
    columnName: 'position',
    rowName: 'dimension',
    cellName: 'value',
    curves: [{ name: 'cosine', values: cosine }],
    perRow: false,
    baseline: 0,
    curveName: 'cosine with the row of position 0',
    definitions: [
      'Map: the vector added at each position, one dimension per line.',
      'Curve: cosine of the angle between the rows of positions 0 and δ.',
    ],
  };
}

/** Turns the unit vector of every pair and reads its cosine back. */
function ofRotation(
  info: EncodingInfo,
  place: Placing,
  encoding: Encoding,
  settings: Settings,
  columns: number,
  wantedHead: number,
): Picture {
  const headDim = Number(effective(info, 'headDim', settings) ?? 64);
  const named = effective(info, 'heads', settings);
  const heads = Number(named ?? 1);
  const head = Math.max(0, Math.min(heads - 1, wantedHead));
  const { rotaryDim, layout, growth } = encoding.plan();
  // Rows that grow hold the first half of every pair only, and its length in place of it.
  const grows = growth > 0;
  const pairs = grows ? rotaryDim : rotaryDim / 2;
  const rows = Math.max(1, pairs);
  const width = headDim + growth;
  limit(heads * width * columns);
  const firstOf = (pair: number): number => (layout === 'half' ? pair : 2 * pair);
  /** The same vector at `count` places in every head, turned; of that the head drawn. */
  const turned = (vector: Float32Array, count: number, role: 'query' | 'key'): Float32Array => {
    const data = new Float32Array(heads * count * headDim);
    for (let row = 0; row < heads * count; row += 1) data.set(vector, row * headDim);
    const shape = named === undefined ? [count, headDim] : [heads, count, headDim];
    return encoding
      .rotate({ shape, data }, place(0, count), { role })
      .data.subarray(head * count * width, (head + 1) * count * width);
  };
  const units = new Float32Array(headDim);
  for (let pair = 0; pair < pairs; pair += 1) units[firstOf(pair)] = 1;
  const angles = turned(units, columns, 'query');
  const cells = new Float32Array(rows * columns);
  transpose(
    angles,
    width,
    Array.from({ length: rows }, (_, row) => firstOf(row)),
    cells,
    columns,
  );
  if (grows)
    for (let i = 0; i < cells.length; i += 1)
      cells[i] = (cells[i] as number) / (angles[0] as number);

  const ones = new Float32Array(headDim).fill(1);
  const queries = turned(ones, columns, 'query');
  const key = turned(ones, 1, 'key');
  const size = grows ? key.reduce((sum, value) => sum + value ** 2, 0) : headDim;
  const agreement = new Float64Array(columns);
  for (let column = 0; column < columns; column += 1) {
    let dot = 0;
    for (let i = 0; i < width; i += 1)
      dot += (queries[column * width + i] as number) * (key[i] as number);
    agreement[column] = dot / size;
  }
  return {
    columns,
    rows,
    first: 0,
    cells,
    columnName: 'position',
    rowName: 'pair',
    cellName: 'cosine of the angle',
    curves: [{ name: 'agreement', values: agreement }],
    perRow: false,
    baseline: 0,
    curveName: 'agreement of two equal vectors',
    definitions: [
      grows
        ? 'Map: the cosine of the angle at which each channel, now the length of a pair, points at a position.'
        : 'Map: the cosine of the angle by which each pair of channels turns at a position.',
      'Curve: a vector of ones at position δ times the same at position 0, over the width: (1/n) Σ cos(ωᵢ δ).',
      ...(named === undefined
        ? []
        : [
            `Every head turns in its own way; this is head ${head} of 0 to ${heads - 1}, chosen by the head switch of the first lab.`,
          ]),
    ],
    ...(named === undefined ? {} : { head }),
    ...(grows ? { growth } : {}),
  };
}

/** Query in the middle, keys on both sides: positive distances lie in the past. */
function ofBias(
  place: Placing,
  encoding: Encoding,
  { query: index, keys: columns }: Surroundings,
): Picture {
  const query = place(index, 1);
  // One key tells the number of heads, before all keys are asked for.
  const rows = encoding.bias(query, place(0, 1)).shape[0] as number;
  limit(rows * columns);
  const { data } = encoding.bias(query, place(0, columns));
  const cells = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row += 1)
    for (let column = 0; column < columns; column += 1)
      cells[row * columns + column] = data[row * columns + columns - 1 - column] as number;
  return {
    columns,
    rows,
    first: index - columns + 1,
    cells,
    columnName: 'distance',
    rowName: 'head',
    cellName: 'bias',
    perRow: true,
    baseline: 0,
    curveName: 'bias added to the score',
    curves: Array.from({ length: rows }, (_, row) => ({
      name: `head ${row}`,
      values: Float64Array.from(cells.subarray(row * columns, (row + 1) * columns)),
    })),
    definitions: [
      `Map and curve: what is added to the score at distance δ = query − key, one line per head; the query stands at ${index}. Right of 0 lies the past.`,
    ],
  };
}

const probes = 8;
/** The part of attention that only position explains: all keys are the same vector, so content cannot prefer one. */
function ofAttention(
  info: EncodingInfo,
  place: Placing,
  encoding: Encoding,
  engine: Engine,
  settings: Settings,
  { query: index, keys: columns }: Surroundings,
): Picture {
  const headDim = Number(effective(info, 'headDim', settings) ?? 64);
  const values = valueWidth(info, settings, headDim);
  const heads = effective(info, 'heads', settings);
  const rows = Number(heads ?? (actsNowhere(info) ? 1 : probes));
  limit(rows * columns);
  limit(headDim * columns);
  const one = normal(hash('key'), headDim);
  const same = new Float32Array(columns * headDim);
  for (let column = 0; column < columns; column += 1) same.set(one, column * headDim);
  const { weights } = engine.attention(
    { shape: [rows, 1, headDim], data: normal(hash('probe'), rows * headDim) },
    { shape: [1, columns, headDim], data: same },
    { shape: [1, columns, values], data: new Float32Array(columns * values) },
    {
      weights: true,
      encoding,
      queryPositions: place(index, 1),
      keyPositions: place(0, columns),
    },
  );
  const cells = new Float32Array(rows * columns);
  const mean = new Float64Array(columns);
  for (let column = 0; column < columns; column += 1)
    for (let row = 0; row < rows; row += 1) {
      const share = (weights?.data[row * columns + columns - 1 - column] ?? 0) * columns;
      cells[row * columns + column] = share > 0 ? Math.log(share) : -104;
      mean[column] = (mean[column] as number) + share / rows;
    }
  return {
    columns,
    rows,
    first: index - columns + 1,
    cells,
    columnName: 'distance',
    rowName: heads === undefined ? 'probe' : 'head',
    cellName: 'ln(weight × keys)',
    perRow: false,
    baseline: 1,
    curves: [{ name: 'mean weight', values: mean }],
    curveName: 'mean weight, 1 = even share',
    definitions: [
      'Map: the attention weight of a key at distance δ against an even share, as a logarithm. All keys are one vector, each line has its own random query, so only position tells keys apart.',
      'Curve: the weight times the number of keys, averaged over the lines. Right of 0 lies the past.',
    ],
  };
}

/** `head` counts only where an encoding turns every head in its own way. */
export function pictureOf(
  engine: Engine,
  info: EncodingInfo,
  settings: Settings,
  length: number,
  head = 0,
): Picture {
  return withEncoding(engine, info.id, optionsOf(info, settings), (encoding) => {
    const absolute = actsAt(info, 'embed', 'rotate');
    const around = surroundings(info, settings, length);
    const columns = absolute ? tokensWithin(info, settings, length) : around.keys;
    const grid = gridOf(info, settings, columns);
    const place: Placing = (first, count) => placesIn(info, grid, range(first, count));
    const picture = actsAt(info, 'embed')
      ? ofEmbeddings(place, encoding, columns)
      : info.remapsDistance
        ? ofDistances(encoding, columns)
        : actsAt(info, 'rotate')
          ? ofRotation(info, place, encoding, settings, columns, head)
          : actsAt(info, 'score') && info.contentFree
            ? ofBias(place, encoding, around)
            : ofAttention(info, place, encoding, engine, settings, around);
    return grid
      ? { ...picture, definitions: [...picture.definitions, gridInWords(grid)] }
      : picture;
  });
}

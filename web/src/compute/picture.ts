// SPDX-License-Identifier: Apache-2.0
// What the atlas draws of an encoding, chosen by where it acts. Every number comes out of the package.
import { alongAxes, type Encoding, type Engine, withEncoding } from '../engine.ts';
import { actsAt, actsNowhere, type EncodingInfo } from '../model/manifest.ts';
import { hash, normal } from '../model/random.ts';
import { effective, optionsOf, type Settings, type Table, valueWidth } from '../model/settings.ts';

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
  readonly rowName: 'dimension' | 'pair' | 'head' | 'probe';
  readonly cellName: string;
  readonly curves: readonly Curve[];
  /** Whether curve i belongs to row i of the map. */
  readonly perRow: boolean;
  readonly curveName: string;
  /** The value that means "no effect"; the curve's axis always shows it. */
  readonly baseline: number;
  readonly definitions: readonly string[];
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

function ofEmbeddings(info: EncodingInfo, encoding: Encoding, columns: number): Picture {
  // One row tells the width, before the whole is asked for.
  const rows = encoding.table(alongAxes(info, range(0, 1))).shape[1] as number;
  limit(rows * columns);
  const { data } = encoding.table(alongAxes(info, range(0, columns)));
  const cells = new Float32Array(rows * columns);
  const cosine = new Float64Array(columns);
  let firstNorm = 0;
  for (let i = 0; i < rows; i += 1) firstNorm += (data[i] as number) ** 2;
  for (let column = 0; column < columns; column += 1) {
    let dot = 0;
    let norm = 0;
    for (let row = 0; row < rows; row += 1) {
      const value = data[column * rows + row] as number;
      cells[row * columns + column] = value;
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
  encoding: Encoding,
  settings: Settings,
  columns: number,
): Picture {
  const headDim = Number(effective(info, 'headDim', settings) ?? 64);
  const { rotaryDim, layout } = encoding.plan();
  const rows = Math.max(1, rotaryDim / 2);
  limit(headDim * columns);
  const firstOf = (pair: number): number => (layout === 'half' ? pair : 2 * pair);
  const positions = range(0, columns);
  const units = new Float32Array(columns * headDim);
  for (let column = 0; column < columns; column += 1)
    for (let pair = 0; pair < rotaryDim / 2; pair += 1) units[column * headDim + firstOf(pair)] = 1;
  const turned = encoding.rotate(
    { shape: [columns, headDim], data: units },
    alongAxes(info, positions),
    { role: 'query' },
  ).data;
  const cells = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row += 1)
    for (let column = 0; column < columns; column += 1)
      cells[row * columns + column] = turned[column * headDim + firstOf(row)] as number;

  const ones = (count: number): Table => ({
    shape: [count, headDim],
    data: new Float32Array(count * headDim).fill(1),
  });
  const queries = encoding.rotate(ones(columns), alongAxes(info, positions), {
    role: 'query',
  }).data;
  const key = encoding.rotate(ones(1), alongAxes(info, range(0, 1)), { role: 'key' }).data;
  const agreement = new Float64Array(columns);
  for (let column = 0; column < columns; column += 1) {
    let dot = 0;
    for (let i = 0; i < headDim; i += 1)
      dot += (queries[column * headDim + i] as number) * (key[i] as number);
    agreement[column] = dot / headDim;
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
      'Map: the cosine of the angle by which each pair of channels turns at a position.',
      'Curve: a vector of ones at position δ times the same at position 0, over the width: (1/n) Σ cos(ωᵢ δ).',
    ],
  };
}

/** Query in the middle, keys on both sides: positive distances lie in the past. */
function ofBias(info: EncodingInfo, encoding: Encoding, length: number): Picture {
  const columns = 2 * length - 1;
  const query = alongAxes(info, range(length - 1, 1));
  // One key tells the number of heads, before all keys are asked for.
  const rows = encoding.bias(query, alongAxes(info, range(0, 1))).shape[0] as number;
  limit(rows * columns);
  const { data } = encoding.bias(query, alongAxes(info, range(0, columns)));
  const cells = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row += 1)
    for (let column = 0; column < columns; column += 1)
      cells[row * columns + column] = data[row * columns + columns - 1 - column] as number;
  return {
    columns,
    rows,
    first: 1 - length,
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
      `Map and curve: what is added to the score at distance δ = query − key, one line per head; the query stands at ${length - 1}. Right of 0 lies the past.`,
    ],
  };
}

const probes = 8;
/** The part of attention that only position explains: all keys are the same vector, so content cannot prefer one. */
function ofAttention(
  info: EncodingInfo,
  encoding: Encoding,
  engine: Engine,
  settings: Settings,
  length: number,
): Picture {
  const columns = 2 * length - 1;
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
      queryPositions: alongAxes(info, range(length - 1, 1)),
      keyPositions: alongAxes(info, range(0, columns)),
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
    first: 1 - length,
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

export function pictureOf(
  engine: Engine,
  info: EncodingInfo,
  settings: Settings,
  length: number,
): Picture {
  return withEncoding(engine, info.id, optionsOf(info, settings), (encoding) => {
    if (actsAt(info, 'embed')) return ofEmbeddings(info, encoding, length);
    if (actsAt(info, 'rotate')) return ofRotation(info, encoding, settings, length);
    if (actsAt(info, 'score') && info.contentFree) return ofBias(info, encoding, length);
    return ofAttention(info, encoding, engine, settings, length);
  });
}

// SPDX-License-Identifier: Apache-2.0
// What the atlas draws of an encoding, chosen by where it acts. Every number comes out of the package.
import { type Encoding, type Engine, withEncoding } from '../engine.ts';
import { actsAt, actsNowhere, type EncodingInfo } from '../model/manifest.ts';
import {
  gridInWords,
  gridOf,
  placesIn,
  type Surroundings,
  surroundings,
  tokensWithin,
} from '../model/places.ts';
import { hash, normal } from '../model/random.ts';
import { type Range, rangeOf } from '../model/range.ts';
import { effective, optionsOf, type Settings, valueWidth } from '../model/settings.ts';
import { cellsIn, limit, type Placing, range, transpose } from './cells.ts';
import { ofDistances } from './distances.ts';
import { type Again, ofRotation } from './rotation.ts';
import type { Around } from './spread.ts';

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
  /** Of the cells. */
  readonly range: Range;
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
  /** Of turning pairs, where it was asked for: how far other vectors than those of the curve may agree. */
  readonly around?: Around;
}

function ofEmbeddings(
  place: Placing,
  encoding: Encoding,
  columns: number,
  spare: Float32Array | undefined,
): Picture {
  // One row tells the width, before the whole is asked for.
  const rows = encoding.table(place(range(0, 1))).shape[1] as number;
  limit(rows * columns);
  const { data } = encoding.table(place(range(0, columns)));
  const cells = cellsIn(spare, rows * columns);
  const reach = transpose(
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
    range: reach,
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

/** Query in the middle, keys on both sides: positive distances lie in the past. */
function ofBias(
  place: Placing,
  encoding: Encoding,
  { query: index, keys: columns }: Surroundings,
): Picture {
  const query = place(range(index, 1));
  // One key tells the number of heads, before all keys are asked for.
  const rows = encoding.bias(query, place(range(0, 1))).shape[0] as number;
  limit(rows * columns);
  const { data } = encoding.bias(query, place(range(0, columns)));
  const cells = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row += 1)
    for (let column = 0; column < columns; column += 1)
      cells[row * columns + column] = data[row * columns + columns - 1 - column] as number;
  return {
    columns,
    rows,
    first: index - columns + 1,
    cells,
    range: rangeOf(cells),
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
  const values = valueWidth(info, settings);
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
      queryPositions: place(range(index, 1)),
      keyPositions: place(range(0, columns)),
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
    range: rangeOf(cells),
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

export interface Wanted {
  /** Counts only where an encoding turns every head in its own way. */
  readonly head?: number;
  /** Whether to tell what other vectors would score. */
  readonly around?: boolean;
  /** Cells of a picture that nobody looks at any more, to be written over. */
  readonly spare?: Float32Array | undefined;
}

export function pictureOf(
  engine: Engine,
  info: EncodingInfo,
  settings: Settings,
  length: number,
  { head = 0, around: spreading = false, spare }: Wanted = {},
): Picture {
  const made: Again = (use) => withEncoding(engine, info.id, optionsOf(info, settings), use);
  return made((encoding) => {
    const absolute = actsAt(info, 'embed', 'rotate');
    const around = surroundings(info, settings, length);
    const columns = absolute ? tokensWithin(info, settings, length) : around.keys;
    const grid = gridOf(info, settings, columns);
    const place: Placing = (indices) => placesIn(info, grid, indices);
    const picture = actsAt(info, 'embed')
      ? ofEmbeddings(place, encoding, columns, spare)
      : info.remapsDistance
        ? ofDistances(encoding, columns)
        : actsAt(info, 'rotate')
          ? ofRotation(
              engine,
              info,
              place,
              encoding,
              settings,
              columns,
              head,
              spreading ? made : undefined,
              spare,
            )
          : actsAt(info, 'score') && info.contentFree
            ? ofBias(place, encoding, around)
            : ofAttention(info, place, encoding, engine, settings, around);
    return grid
      ? { ...picture, definitions: [...picture.definitions, gridInWords(grid)] }
      : picture;
  });
}

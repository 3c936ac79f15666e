// SPDX-License-Identifier: Apache-2.0
// What the atlas draws of an encoding that makes distances count as others.
import type { Encoding } from '../engine.ts';
import { rangeOf } from '../model/range.ts';
import { range } from './cells.ts';
import type { Picture } from './picture.ts';

/** As many as show a pattern that repeats with the query's own place; 8192 distances make 400,000 cells. */
const queries = 48;

/** Row r is the query r places after the one from which every key of the picture lies in the past. */
export function ofDistances(encoding: Encoding, columns: number): Picture {
  const cells = new Float32Array(queries * columns);
  let first = new Float64Array(columns);
  for (let row = 0; row < queries; row += 1) {
    const query = columns - 1 + row;
    const keys = Float64Array.from({ length: columns }, (_, distance) => query - distance);
    const { data } = encoding.distances(Float64Array.of(query), keys);
    if (row === 0) first = Float64Array.from(data);
    cells.set(data, row * columns);
  }
  return {
    columns,
    rows: queries,
    first: 0,
    cells,
    range: rangeOf(cells),
    columnName: 'distance',
    rowName: 'query',
    cellName: 'counts as',
    curves: [
      { name: 'counts as', values: first },
      { name: 'distance', values: range(0, columns) },
    ],
    perRow: false,
    baseline: 0,
    curveName: 'distance that counts',
    definitions: [
      `Map: the distance that δ = query − key counts as, one query per line, from place ${columns - 1} on.`,
      'Curve: the same for the first line, above or below the thin line, which is δ itself.',
    ],
  };
}

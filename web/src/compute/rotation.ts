// SPDX-License-Identifier: Apache-2.0
// The picture of an encoding that turns pairs of channels.
import type { Encoding, Engine } from '../engine.ts';
import type { EncodingInfo } from '../model/manifest.ts';
import type { Range } from '../model/range.ts';
import { effective, type Settings } from '../model/settings.ts';
import { cellsIn, limit, type Placing, range, transpose } from './cells.ts';
import { factorsAt, type Pairs, pairsOf, readPairs } from './pairs.ts';
import type { Picture } from './picture.ts';
import { around, spreadInWords } from './spread.ts';
import { Turner } from './turner.ts';

/** Uses the same encoding again, made anew: what is asked for later finds the first one gone. */
export type Again = <T>(use: (encoding: Encoding) => T) => T;

/** The first channel of every pair. */
function unitsOf({ count, headDim, step }: Pairs): Float32Array {
  const units = new Float32Array(headDim);
  for (let pair = 0; pair < count; pair += 1) units[pair * step] = 1;
  return units;
}

/** Rows that grow hold the first half of every pair only, and its length in place of it: their channels are no pairs. */
function readGrown(
  turner: Turner,
  encoding: Encoding,
  pairs: Pairs,
  columns: number,
  cells: Float32Array,
): { range: Range; agreement: Float64Array } {
  const { width } = turner;
  const places = range(0, columns);
  const firsts = Array.from({ length: pairs.count }, (_, pair) => pair * pairs.step);
  const reach = turner.queries(encoding, unitsOf(pairs), places, (rows) => {
    const found = transpose(rows, width, firsts, cells, columns);
    const length = rows[0] as number;
    for (let i = 0; i < cells.length; i += 1) cells[i] = (cells[i] as number) / length;
    return { low: Math.fround(found.low / length), high: Math.fround(found.high / length) };
  });
  const ones = new Float32Array(pairs.headDim).fill(1);
  const key = turner.key(encoding, ones);
  const size = key.reduce((sum, value) => sum + value ** 2, 0);
  const agreement = turner.queries(encoding, ones, places, (rows) =>
    Float64Array.from({ length: columns }, (_, column) => {
      let dot = 0;
      for (let i = 0; i < width; i += 1)
        dot += (rows[column * width + i] as number) * (key[i] as number);
      return dot / size;
    }),
  );
  return { range: reach, agreement };
}

/** Turns the unit vector of every pair and reads its cosine back. */
export function ofRotation(
  engine: Engine,
  info: EncodingInfo,
  place: Placing,
  encoding: Encoding,
  settings: Settings,
  columns: number,
  wantedHead: number,
  again: Again | undefined,
  spare: Float32Array | undefined,
): Picture {
  const headDim = Number(effective(info, 'headDim', settings) ?? 64);
  const named = effective(info, 'heads', settings);
  const heads = Number(named ?? 1);
  const head = Math.max(0, Math.min(heads - 1, wantedHead));
  const { rotaryDim, layout, growth } = encoding.plan();
  const grows = growth > 0;
  const pairs = pairsOf(headDim, grows ? rotaryDim : rotaryDim / 2, layout);
  const rows = Math.max(1, pairs.count);
  limit(heads * (headDim + growth) * columns);
  const turner = new Turner(
    engine,
    place,
    headDim,
    growth,
    named === undefined ? undefined : heads,
    head,
  );
  const cells = cellsIn(spare, rows * columns);
  if (pairs.count === 0) cells.fill(0);
  const picture = {
    columns,
    rows,
    first: 0,
    cells,
    columnName: 'position',
    rowName: 'pair',
    cellName: 'cosine of the angle',
    perRow: false,
    baseline: 0,
    curveName: 'agreement of two equal vectors',
    ...(named === undefined ? {} : { head }),
  } as const;
  const curve =
    'Curve: a vector of ones at position δ times the same at position 0, over the width: (1/n) Σ cos(ωᵢ δ).';
  const ofHead =
    named === undefined
      ? []
      : [
          `Every head turns in its own way; this is head ${head} of 0 to ${heads - 1}, chosen by the head switch of the first lab.`,
        ];
  if (grows) {
    const { range, agreement } = readGrown(turner, encoding, pairs, columns, cells);
    return {
      ...picture,
      range,
      growth,
      curves: [{ name: 'agreement', values: agreement }],
      definitions: [
        'Map: the cosine of the angle at which each channel, now the length of a pair, points at a position.',
        curve,
        ...ofHead,
      ],
    };
  }
  const units = unitsOf(pairs);
  // A vector of ones turns in each pair as one along the first channel and one along the second, whose products add up to twice
  // those of the first.
  const key = turner.key(encoding, units);
  const found = turner.queries(encoding, units, range(0, columns), (rows) =>
    readPairs(pairs, rows, key, columns, cells),
  );
  const surrounded =
    again &&
    around(headDim, pairs.count, found.envelope, (places, score) =>
      again((encoding) =>
        turner.queries(encoding, units, places, (rows) =>
          score((place, factors) => factorsAt(pairs, rows, key, place, factors)),
        ),
      ),
    );
  return {
    ...picture,
    range: found.range,
    curves: [{ name: 'agreement', values: found.agreement }],
    definitions: [
      'Map: the cosine of the angle by which each pair of channels turns at a position.',
      curve,
      ...(surrounded ? spreadInWords(surrounded, columns) : []),
      ...ofHead,
    ],
    ...(surrounded ? { around: surrounded } : {}),
  };
}

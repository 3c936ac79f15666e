// SPDX-License-Identifier: Apache-2.0
// The picture of an encoding that turns pairs of channels.
import type { Encoding, Engine } from '../engine.ts';
import type { EncodingInfo } from '../model/manifest.ts';
import { effective, type Settings } from '../model/settings.ts';
import { limit, type Placing, transpose } from './cells.ts';
import type { Picture } from './picture.ts';
import { around, spreadInWords, type Turning } from './spread.ts';

/** Fills data with one vector after the other. Doubled: setting thousands of short rows takes longer than turning them. */
function repeat(vector: Float32Array, data: Float32Array): void {
  data.set(vector);
  for (let done = vector.length; done < data.length; done *= 2) data.copyWithin(done, 0, done);
}

/** Uses the same encoding again, made anew: what is asked for later finds the first one gone. */
export type Again = <T>(use: (encoding: Encoding) => T) => T;

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
  const shapeOf = (count: number, channels: number): number[] =>
    named === undefined ? [count, channels] : [heads, count, channels];
  const ofHead = (data: Float32Array, count: number, set = 0): Float32Array =>
    data.subarray((set * heads + head) * count * width, (set * heads + head + 1) * count * width);
  /** What `read` makes of vectors that stand at all columns in every head, turned; `of` gives that of one, in the head drawn. */
  const turned = <T>(
    encoding: Encoding,
    vectors: readonly Float32Array[],
    read: (of: (set: number) => Float32Array) => T,
  ): T => {
    // In the module's memory, and all vectors at once: 8192 rows of 64 take 2.0 ms there, and 3.4 by way of two new arrays.
    const sets = vectors.length;
    const source = engine.tensor([sets, ...shapeOf(columns, headDim)]);
    const out = grows ? engine.tensor([sets, ...shapeOf(columns, width)]) : source;
    try {
      const size = heads * columns * headDim;
      vectors.forEach((vector, set) => {
        repeat(vector, source.data.subarray(set * size, (set + 1) * size));
      });
      encoding.rotate(source, place(0, columns), { role: 'query', out });
      return read((set) => ofHead(out.data, columns, set));
    } finally {
      source.dispose();
      if (grows) out.dispose();
    }
  };
  const firstKey = (encoding: Encoding, vector: Float32Array): Float32Array => {
    const data = new Float32Array(heads * headDim);
    repeat(vector, data);
    const one = { shape: shapeOf(1, headDim), data };
    return ofHead(encoding.rotate(one, place(0, 1), { role: 'key' }).data, 1);
  };
  const units = new Float32Array(headDim);
  for (let pair = 0; pair < pairs; pair += 1) units[firstOf(pair)] = 1;
  // A vector of ones turns in each pair as one along the first channel and one along the second, whose products add up to twice
  // those of the first. Where a row grows, its channels are no pairs.
  const whole = grows ? new Float32Array(headDim).fill(1) : units;
  const key = firstKey(encoding, whole);
  const size = grows ? key.reduce((sum, value) => sum + value ** 2, 0) : headDim / 2;
  const atRest = grows ? 0 : headDim / 2 - pairs;
  const cells = new Float32Array(rows * columns);
  const agreement = new Float64Array(columns);
  turned(encoding, grows ? [units, whole] : [units], (of) => {
    const angles = of(0);
    const queries = of(grows ? 1 : 0);
    transpose(
      angles,
      width,
      Array.from({ length: rows }, (_, row) => firstOf(row)),
      cells,
      columns,
    );
    if (grows) {
      const length = angles[0] as number;
      for (let i = 0; i < cells.length; i += 1) cells[i] = (cells[i] as number) / length;
    }
    for (let column = 0; column < columns; column += 1) {
      let dot = atRest;
      for (let i = 0, at = column * width; i < width; i += 1, at += 1)
        dot += (queries[at] as number) * (key[i] as number);
      agreement[column] = dot / size;
    }
  });
  const turning = (angles: Float32Array, start: Float32Array): Turning => {
    const second = layout === 'half' ? pairs : 1;
    return {
      headDim,
      pairs,
      columns,
      at: (column, real, imaginary) => {
        for (let pair = 0; pair < pairs; pair += 1) {
          const first = firstOf(pair);
          const x = angles[column * width + first] as number;
          const y = angles[column * width + first + second] as number;
          const u = start[first] as number;
          const v = start[first + second] as number;
          real[pair] = x * u + y * v;
          imaginary[pair] = y * u - x * v;
        }
      },
    };
  };
  // Turned once more when it is asked for: kept until then, the rows would be 2 MB to clear away at every step of a slider.
  const surrounded =
    again && !grows
      ? around({ headDim, columns }, (use) =>
          again((encoding) =>
            turned(encoding, [units], (of) => use(turning(of(0), firstKey(encoding, units)))),
          ),
        )
      : undefined;
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
      ...(surrounded ? spreadInWords(surrounded, columns) : []),
      ...(named === undefined
        ? []
        : [
            `Every head turns in its own way; this is head ${head} of 0 to ${heads - 1}, chosen by the head switch of the first lab.`,
          ]),
    ],
    ...(named === undefined ? {} : { head }),
    ...(grows ? { growth } : {}),
    ...(surrounded ? { around: surrounded } : {}),
  };
}

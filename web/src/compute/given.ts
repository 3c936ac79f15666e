// SPDX-License-Identifier: Apache-2.0
// Rows of an embedding table as the layer over words takes them: of one size, and as wide as the layer.
import { hash, normal } from '../model/random.ts';
import type { Layer } from './words.ts';

/** A layer of any number of heads on offer takes rows of these widths as they are. */
export const fitsLayer = (width: number): boolean => width % 16 === 0 && width <= 512;
/** Channels of a row: a projection of more would take over a second. */
export const widestRow = 16_384;

/** To root mean square 1, as by the norm before a model's first layer; tables differ in size by a hundredfold. Zeros stay. */
export function normed(row: Float32Array): Float32Array {
  const squares = row.reduce((sum, value) => sum + value * value, 0);
  const scale = squares > 0 ? 1 / Math.sqrt(squares / row.length) : 0;
  return row.map((value) => value * scale);
}

/** From [given] to [width] by a matrix [given, width], in double and in one order. */
function projected(row: Float32Array, matrix: Float32Array, width: number): Float32Array {
  const sums = new Float64Array(width);
  row.forEach((value, i) => {
    for (let column = 0; column < width; column += 1)
      sums[column] = (sums[column] as number) + value * (matrix[i * width + column] as number);
  });
  return Float32Array.from(sums);
}

/** Rows by token id, normed, and projected by the seed where they are not as wide as the layer. */
export function vectorsOf(
  given: number,
  rowAt: (id: number) => Float32Array,
  { width, seed }: Pick<Layer, 'width' | 'seed'>,
): (id: number) => Float32Array {
  const matrix =
    given === width
      ? undefined
      : normal(hash(`${seed}:table`), given * width, 1 / Math.sqrt(given));
  const known = new Map<number, Float32Array>();
  return (id) => {
    const before = known.get(id);
    if (before) return before;
    const plain = normed(rowAt(id));
    const row = matrix ? projected(plain, matrix, width) : plain;
    known.set(id, row);
    return row;
  };
}

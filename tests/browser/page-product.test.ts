// SPDX-License-Identifier: Apache-2.0
// Rows times a matrix, against the sum that it stands for.
import { expect, it } from 'vitest';
import { product } from '../../web/src/compute/product.ts';
import { normal } from '../../web/src/model/random.ts';

it.each([
  [1, 4, 4],
  [2, 16, 16],
  [5, 12, 8],
  [7, 3, 20],
])(
  'of %i rows of %i with %i columns is each sum in its order, to the last bit',
  (count, depth, columns) => {
    const rows = normal(1, count * depth);
    const matrix = normal(2, depth * columns);
    const expected = Float32Array.from({ length: count * columns }, (_, at) => {
      const [row, column] = [Math.floor(at / columns), at % columns];
      let sum = 0;
      for (let i = 0; i < depth; i += 1)
        sum += (rows[row * depth + i] as number) * (matrix[i * columns + column] as number);
      return sum;
    });
    expect(product(rows, matrix, depth)).toEqual(expected);
  },
);

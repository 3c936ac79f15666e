// SPDX-License-Identifier: Apache-2.0
// Queries and keys of trained heads: a symbol's vector, a norm, a linear map for each head. Sums run in double.
import type { Table } from '../model/settings.ts';
import type { TrainedHeads } from '../train/heads.ts';
import { type Linear, layerNorm } from '../train/operators.ts';
import { symbolOf } from '../train/symbols.ts';
import type { Task } from '../train/tasks.ts';
import type { Part } from './words.ts';

type Weights = Pick<TrainedHeads, 'width' | 'heads' | 'embedding' | 'norm' | 'query' | 'key'>;

/** For each place the rows of the embedding that are added up there; none where only places count. */
export const rowsAt = (task: Task, labels: readonly string[], part: Part): number[][] =>
  labels.map((label) => {
    const { token, beside } = symbolOf(task, label) ?? { token: -1, beside: -1 };
    return part === 'position' ? [] : [token, beside].filter((row) => row >= 0);
  });

function linear(x: Float64Array, { weight, bias }: Linear, { width, heads }: Weights): Table {
  const headDim = width / heads;
  const count = x.length / width;
  const data = new Float32Array(count * width);
  for (let head = 0; head < heads; head += 1)
    for (let row = 0; row < count; row += 1)
      for (let column = 0; column < headDim; column += 1) {
        let sum = bias[head * headDim + column] as number;
        for (let i = 0; i < width; i += 1)
          sum +=
            (x[row * width + i] as number) *
            (weight[(head * width + i) * headDim + column] as number);
        data[(head * count + row) * headDim + column] = sum;
      }
  return { shape: [heads, count, headDim], data };
}

/** [heads, symbols, headDim] each. */
export function projections(
  weights: Weights,
  task: Task,
  labels: readonly string[],
  part: Part,
  embed?: (rows: Float32Array) => Float32Array,
): readonly [Table, Table] {
  const { width, embedding, norm, query, key } = weights;
  let rows = new Float64Array(labels.length * width);
  rowsAt(task, labels, part).forEach((list, place) => {
    for (const from of list)
      for (let i = 0; i < width; i += 1)
        rows[place * width + i] =
          (rows[place * width + i] as number) + (embedding[from * width + i] as number);
  });
  if (embed) rows = Float64Array.from(embed(Float32Array.from(rows)));
  const normed = layerNorm(rows, norm);
  return [linear(normed, query, weights), linear(normed, key, weights)];
}

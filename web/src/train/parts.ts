// SPDX-License-Identifier: Apache-2.0
// What a decoder consists of, as views of one long array: so that one loop can update all of it.
import type { Linear, Norm, Rows } from './operators.ts';

export interface Shape {
  readonly width: number;
  readonly heads: number;
  readonly layers: number;
  readonly vocabulary: number;
  readonly answers: number;
}

export interface Layer {
  readonly before: Norm;
  readonly qkv: Linear;
  readonly out: Linear;
  readonly between: Norm;
  readonly up: Linear;
  readonly down: Linear;
}
export interface Parts {
  readonly embedding: Rows;
  readonly layers: readonly Layer[];
  readonly last: Norm;
  readonly head: Linear;
  /** Of the encoding, by name. */
  readonly tables: ReadonlyMap<string, Rows>;
}

/** The MLP is twice as wide as the rows. */
export const wider = 2;

/** Cuts one long array into the parts of the decoder. */
export function cut(
  shape: Shape,
  tables: readonly (readonly [string, number])[],
  whole?: Rows,
): { readonly parts: Parts; readonly size: number } {
  const { width, layers, vocabulary, answers } = shape;
  let at = 0;
  const take = (size: number): Rows => {
    at += size;
    return whole ? whole.subarray(at - size, at) : new Float64Array(0);
  };
  const norm = (): Norm => ({ gain: take(width), shift: take(width) });
  const map = (inner: number, columns: number): Linear => ({
    weight: take(inner * columns),
    bias: take(columns),
  });
  const parts: Parts = {
    embedding: take(vocabulary * width),
    layers: Array.from({ length: layers }, () => ({
      before: norm(),
      qkv: map(width, 3 * width),
      out: map(width, width),
      between: norm(),
      up: map(width, wider * width),
      down: map(wider * width, width),
    })),
    last: norm(),
    head: map(width, answers),
    tables: new Map(tables.map(([name, size]) => [name, take(size)])),
  };
  return { parts, size: at };
}

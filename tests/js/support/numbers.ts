// SPDX-License-Identifier: Apache-2.0
/** Tensors to test with, and how close numbers must be. */

import type { Tensor } from 'posenc';
import { expect } from 'vitest';

/** Repeatable noise in [-1, 1). */
export function noise(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 31 - 1;
  };
}

export const sizeOf = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1);

export function randomTensor(shape: readonly number[], seed = 1): Tensor {
  const next = noise(seed);
  return { data: Float32Array.from({ length: sizeOf(shape) }, next), shape };
}

export const tensor = (shape: readonly number[], data: ArrayLike<number>): Tensor => ({
  data: Float32Array.from(data),
  shape,
});

export interface Tolerance {
  rtol: number;
  atol: number;
}

/** Fails with the worst element. NaN in `want` is not compared; infinities must be equal. */
export function expectClose(
  got: ArrayLike<number>,
  want: ArrayLike<number>,
  { rtol, atol }: Tolerance,
  what = 'values',
): void {
  expect(got.length, `length of ${what}`).toBe(want.length);
  let worst = { excess: 0, index: -1 };
  for (let i = 0; i < want.length; ++i) {
    if (Number.isNaN(want[i]) || Object.is(got[i], want[i])) continue;
    const off = Math.abs(got[i] - want[i]);
    const excess = Number.isFinite(off) ? off / (atol + rtol * Math.abs(want[i])) : Infinity;
    if (excess > worst.excess && excess > 0) worst = { excess, index: i };
  }
  const { excess, index } = worst;
  expect(
    excess,
    `${what}[${index}]: got ${got[index]}, want ${want[index]}, in units of the tolerance`,
  ).toBeLessThanOrEqual(1);
}

/** Equal bit for bit; the sign of zero counts. */
export function expectSame(got: ArrayLike<number>, want: ArrayLike<number>): void {
  expect(Array.from(got)).toEqual(Array.from(want));
}

// SPDX-License-Identifier: Apache-2.0
/** Calls to refuse, and how a table of them is checked. */

import type { AttentionOptions, TensorInput } from 'posenc';
import { describe, it } from 'vitest';
import { expectRefusal, type Refusal } from './failure.ts';
import { anyEncoding, pe } from './instance.ts';
import { randomTensor } from './numbers.ts';

/** The number leads back to the project's catalogue of bad input. */
export type Row = [name: string, call: () => unknown, refusal: Refusal];

/**
 * Every row is checked for class and code, for what the message says, for memory as before, and for
 * an instance that still gives the right answer.
 */
export function check(title: string, rows: readonly Row[]): void {
  describe(title, () => {
    for (const [name, call, refusal] of rows) it(name, () => void expectRefusal(call, refusal));
  });
}

export const make = (id: unknown, options?: unknown) => () =>
  anyEncoding(pe, id as string, options as object);
export const rope = (headDim: unknown) => make('rope', { headDim });

export const four = pe.encoding('rope', { headDim: 4 });
export const rotate = (x: unknown) => () => four.rotate(x as TensorInput);
export const q = randomTensor([2, 3, 4], 1);
export const attend =
  (options: unknown, [a, b, c] = [q, q, q]) =>
  () =>
    pe.attention(a, b, c, options as AttentionOptions);

export const neverCalled = {
  valueOf() {
    throw new Error('valueOf must not be called');
  },
  toString() {
    throw new Error('toString must not be called');
  },
};

// SPDX-License-Identifier: Apache-2.0
/** A text of random tokens that a cache is given in pieces. */

import type { AttentionOptions, KVCache, Tensor } from 'posenc';
import { pe } from './instance.ts';
import { randomTensor, tensor } from './numbers.ts';

export const [H, G, D] = [4, 2, 8];
/** Of float32 sums in another order. */
export const close = { rtol: 0, atol: 2e-5 };

/** Rows first … end - 1 of [B, heads, n, width]. */
export const rows = (
  { data, shape: [B, heads, n, width] }: Tensor,
  first: number,
  end: number,
): Tensor =>
  tensor(
    [B, heads, end - first, width],
    Array.from({ length: B * heads }, (_, p) => [
      ...data.subarray((p * n + first) * width, (p * n + end) * width),
    ]).flat(),
  );
export const text = (n: number) => ({
  q: randomTensor([1, H, n, D], 1),
  k: randomTensor([1, G, n, D], 2),
  v: randomTensor([1, G, n, D], 3),
});
export type Text = ReturnType<typeof text>;

/** The outputs of all tokens, which come in pieces. */
export function decoded(
  all: Text,
  cache: KVCache,
  pieces: readonly number[],
  options: AttentionOptions,
) {
  const got: number[][] = [];
  let at = 0;
  for (const size of pieces) {
    const [q, k, v] = [all.q, all.k, all.v].map((x) => rows(x, at, at + size));
    const { data } = pe.attention(q, cache, { causal: true, ...options, append: { k, v } }).output;
    for (let t = 0; t < size; ++t)
      got.push(
        Array.from({ length: H }, (_, h) => [
          ...data.subarray((h * size + t) * D, (h * size + t + 1) * D),
        ]).flat(),
      );
    at += size;
  }
  return got.flat();
}

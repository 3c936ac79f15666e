// SPDX-License-Identifier: Apache-2.0
/** Texts, and the steps of a cache through them. */

import type { CacheOptions, Tensor } from 'posenc';
import { pe } from './instance.ts';
import { randomTensor } from './numbers.ts';

export const [H, G, D] = [4, 2, 8];
/** Rows first .. end - 1 of [B, heads, n, width]. */
export const rowsOf = ({ data, shape }: Tensor, first: number, end: number): Tensor => {
  const [B, heads, n, width] = shape;
  const out = new Float32Array(B * heads * (end - first) * width);
  for (let p = 0; p < B * heads; ++p)
    out.set(
      data.subarray((p * n + first) * width, (p * n + end) * width),
      p * (end - first) * width,
    );
  return { data: out, shape: [B, heads, end - first, width] };
};
export const text = (n: number, B = 1) => ({
  q: randomTensor([B, H, n, D], 1),
  k: randomTensor([B, G, n, D], 2),
  v: randomTensor([B, G, n, D], 3),
});
type Text = ReturnType<typeof text>;
export const step = (t: Text, cache: ReturnType<typeof pe.cache>, count = 1, options = {}) => {
  const at = cache.length;
  const append = { k: rowsOf(t.k, at, at + count), v: rowsOf(t.v, at, at + count) };
  return pe.attention(rowsOf(t.q, at, at + count), cache, { causal: true, append, ...options });
};
export const geometry: CacheOptions = { heads: G, headDim: D, capacity: 64 };

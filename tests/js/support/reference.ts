// SPDX-License-Identifier: Apache-2.0
/** Attention written to be read: one row at a time, in float64. */

import type { Tensor } from 'posenc';

export interface ReferenceRules {
  scale?: number;
  /** Added to the scaled score. */
  bias?: (b: number, h: number, i: number, j: number) => number;
  /** Whether query i may see key j. */
  sees?: (b: number, h: number, i: number, j: number) => boolean;
}

/** q [B, H, T, D], k [B, G, S, D], v [B, G, S, E]. */
export function referenceAttention(q: Tensor, k: Tensor, v: Tensor, rules: ReferenceRules = {}) {
  const [B, H, T, D] = q.shape;
  const [, G, S] = k.shape;
  const E = v.shape[3];
  const { scale = 1 / Math.sqrt(D), bias = () => 0, sees = () => true } = rules;
  const output = new Float64Array(B * H * T * E);
  const weights = new Float64Array(B * H * T * S);
  const logSumExp = new Float64Array(B * H * T).fill(-Infinity);
  for (let b = 0; b < B; ++b)
    for (let h = 0; h < H; ++h)
      for (let i = 0; i < T; ++i) {
        const g = Math.floor((h * G) / H);
        const query = ((b * H + h) * T + i) * D;
        const scores = Array.from({ length: S }, (_, j) => {
          if (!sees(b, h, i, j)) return -Infinity;
          const key = ((b * G + g) * S + j) * D;
          let dot = 0;
          for (let d = 0; d < D; ++d) dot += q.data[query + d] * k.data[key + d];
          return scale * dot + bias(b, h, i, j);
        });
        const top = Math.max(...scores);
        if (top === -Infinity) continue;
        const sum = scores.reduce((total, score) => total + Math.exp(score - top), 0);
        const row = (b * H + h) * T + i;
        logSumExp[row] = top + Math.log(sum);
        for (const [j, score] of scores.entries()) {
          const weight = Math.exp(score - top) / sum;
          weights[row * S + j] = weight;
          if (weight === 0) continue;
          const value = ((b * G + g) * S + j) * E;
          for (let e = 0; e < E; ++e) output[row * E + e] += weight * v.data[value + e];
        }
      }
  return { output, weights, logSumExp };
}

// SPDX-License-Identifier: Apache-2.0
/**
 * Attention by its definition, in float64, one row after the other: what it is compared with shares
 * nothing with it. The order of the terms is that of the public contract.
 */

export interface Sizes {
  B: number;
  H: number;
  G: number;
  T: number;
  S: number;
  D: number;
  E: number;
}

/** One query. */
export interface Row {
  b: number;
  h: number;
  /** The key/value head of h. */
  g: number;
  t: number;
}

export interface Rules {
  /** Whether this query may see key j. */
  sees(row: Row, j: number): boolean;
  /** Scaled q·k and terms of content for each key; those of keys that are not seen are not read. */
  scores(row: Row, seen: readonly boolean[]): ArrayLike<number>;
  /** s becomes c·tanh(s/c). */
  softcap?: number;
  /** Added after the cap. */
  bias(row: Row, j: number): number;
  /** A logit that only the denominator counts. */
  sink?(h: number): number;
  value(row: Row, j: number, e: number): number;
}

export interface Answer {
  /** [B, H, T, E] */
  output: Float64Array;
  /** [B, H, T, S] */
  weights: Float64Array;
  /** [B, H, T] */
  logSumExp: Float64Array;
}

export function naiveAttention({ B, H, G, T, S, E }: Sizes, rules: Rules): Answer {
  const output = new Float64Array(B * H * T * E);
  const weights = new Float64Array(B * H * T * S);
  const logSumExp = new Float64Array(B * H * T).fill(-Infinity);
  const { softcap } = rules;
  for (let b = 0; b < B; ++b)
    for (let h = 0; h < H; ++h)
      for (let t = 0; t < T; ++t) {
        const row = { b, h, g: Math.floor((h * G) / H), t };
        const at = (b * H + h) * T + t;
        const seen = Array.from({ length: S }, (_, j) => rules.sees(row, j));
        // A row that sees nothing is nothing by definition, with a sink as well.
        if (!seen.includes(true)) continue;
        const scores = Float64Array.from(rules.scores(row, seen));
        const sink = rules.sink?.(h) ?? -Infinity;
        let top = sink;
        for (let j = 0; j < S; ++j) {
          if (!seen[j]) continue;
          if (softcap !== undefined) scores[j] = softcap * Math.tanh(scores[j] / softcap);
          scores[j] += rules.bias(row, j);
          top = Math.max(top, scores[j]);
        }
        let sum = Math.exp(sink - top);
        for (let j = 0; j < S; ++j) if (seen[j]) sum += Math.exp(scores[j] - top);
        logSumExp[at] = top + Math.log(sum);
        for (let j = 0; j < S; ++j) {
          if (!seen[j]) continue;
          const weight = Math.exp(scores[j] - top) / sum;
          weights[at * S + j] = weight;
          for (let e = 0; e < E; ++e) output[at * E + e] += weight * rules.value(row, j, e);
        }
      }
  return { output, weights, logSumExp };
}

// SPDX-License-Identifier: Apache-2.0
/** Long prefills: right at sixteen thousand tokens, and memory that grows with them and not with their square. */

import { load, type OwnedTensor } from 'posenc';
import { describe, expect, it } from 'vitest';
import { inNode, pe } from './support/instance.ts';
import { noise } from './support/numbers.ts';

const [H, D] = [8, 64];

/** Noise that repeats after a million numbers, which is soon made. */
function fill(x: OwnedTensor, seed: number): OwnedTensor {
  const next = noise(seed);
  const { data } = x;
  const pattern = Float32Array.from({ length: Math.min(data.length, 2 ** 20) }, next);
  for (let at = 0; at < data.length; at += pattern.length)
    data.set(pattern.subarray(0, data.length - at), at);
  return x;
}

/** Row t of head h, in float64: causal, or with only `left` keys before its own. */
function rowOf([q, k, v]: readonly Float32Array[], S: number, h: number, t: number, left = t) {
  const first = Math.max(0, t - left);
  const scores = Float64Array.from({ length: t + 1 - first }, (_, j) => {
    let dot = 0;
    for (let d = 0; d < D; ++d) dot += q[(h * S + t) * D + d] * k[(h * S + first + j) * D + d];
    return dot / Math.sqrt(D);
  });
  const top = scores.reduce((a, b) => Math.max(a, b));
  const row = new Float64Array(D);
  let sum = 0;
  for (const [j, score] of scores.entries()) {
    const weight = Math.exp(score - top);
    sum += weight;
    for (let d = 0; d < D; ++d) row[d] += weight * v[(h * S + first + j) * D + d];
  }
  return row.map((x) => x / sum);
}

describe('a long prefill', () => {
  // All of it is 275 billion operations, 7 s: once, in Node. On a machine of many users it has taken 106 s.
  it.each([
    inNode ? (['causal', {}] as const) : (['a window', { window: { left: 700 } }] as const),
  ])(
    'of 16384 tokens and 8 heads of 64 is right: %s',
    { timeout: 600_000 },
    (_, rules: { window?: { left: number } }) => {
      const S = 16384;
      using q = fill(pe.tensor([1, H, S, D]), 1);
      using k = fill(pe.tensor([1, H, S, D]), 2);
      using v = fill(pe.tensor([1, H, S, D]), 3);
      using out = pe.tensor([1, H, S, D]);
      pe.attention(q, k, v, { causal: true, out, ...rules });
      const inputs = [q, k, v].map(({ data }) => data);
      let worst = 0;
      for (const t of [0, 1, 63, 64, 700, 701, 4095, 8192, 12345, S - 2, S - 1])
        for (const h of [0, 3, H - 1])
          for (const [d, want] of rowOf(inputs, S, h, t, rules.window?.left).entries())
            worst = Math.max(worst, Math.abs(out.data[(h * S + t) * D + d] - want));
      // float32 over up to 16384 keys of values below 1.
      expect(worst).toBeLessThan(2e-6);
    },
  );

  it('takes memory in proportion to its tokens', async () => {
    const uses = [];
    for (const S of [2048, 4096, 8192]) {
      using fresh = await load({ fresh: true });
      const make = () => fresh.tensor([1, H, S, D]);
      const tensors = [make(), make(), make(), make()];
      const [q, k, v, out] = tensors;
      // The workspace is that of any causal call; the window only saves time.
      fresh.attention(q, k, v, { causal: true, window: { left: 15 }, out });
      const { bytes, heapBytes, peakBytes } = fresh.info.memory();
      expect(bytes).toBeGreaterThanOrEqual(4 * H * S * D * 4);
      uses.push({ bytes, heapBytes, peakBytes });
      for (const one of tensors) one.dispose();
      expect(fresh.info.memory().bytes).toBeLessThan(4096);
    }
    for (const what of ['bytes', 'heapBytes', 'peakBytes'] as const)
      for (const i of [1, 2])
        expect(uses[i][what] / uses[i - 1][what], what).toBeLessThanOrEqual(2.05);
  });
});

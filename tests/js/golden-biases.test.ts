// SPDX-License-Identifier: Apache-2.0
/** Encodings for which no reference file exists, against published or written-out numbers. */

import type { Encoding } from 'posenc';
import { describe, expect, it } from 'vitest';
import { dynamicBias, sandwichBias, sandwichNumbers } from './golden/score-biases.ts';
import { caught } from './support/failure.ts';
import { pe } from './support/instance.ts';
import { expectClose, randomTensor } from './support/numbers.ts';

/** Nine published digits, or one rounding to float32 of numbers up to 50. */
const tolerance = { rtol: 1e-6, atol: 3e-6 };

describe('biases without reference files', () => {
  it.each([
    [0, sandwichNumbers.start0],
    [1, sandwichNumbers.start1],
  ])('sandwich from %i on', (start, want) => {
    // The first of 8 heads has the divisor 1.
    expectClose(sandwichBias(start).data.slice(0, want.length), want, tolerance);
  });

  it('kerple that multiplies scores is no bias, and acts before those that are added', () => {
    const [heads, D, n] = [2, 4, 9];
    const lists = { r1: [0.5, 1], r2: [1, 0.5] };
    const wei = { w1: [0.3, 0.1], w2: [1, 0.5] };
    using kerple = pe.encoding('kerple', { heads, kind: 'log', ...lists, ...wei });
    using alibi = pe.encoding('alibi', { heads });
    const count = Array.from({ length: n }, (_, i) => i);
    expect(caught(() => kerple.bias(count, count))).toMatchObject({ code: 'UNSUPPORTED' });
    const [q, k, v] = [1, 2, 3].map((seed) => randomTensor([heads, n, D], seed));
    const given = (...encoding: Encoding[]) =>
      pe.attention(q, k, v, { encoding, causal: true, weights: true }).weights?.data ?? [];
    const slopes = alibi.bias([1], [0]).data;
    const want = new Float64Array(heads * n * n);
    for (let h = 0; h < heads; ++h)
      for (let i = 0; i < n; ++i) {
        const scores = count.slice(0, i + 1).map((j) => {
          const d = i - j;
          let dot = 0;
          for (let c = 0; c < D; ++c)
            dot += q.data[(h * n + i) * D + c] * k.data[(h * n + j) * D + c];
          const factor = d === 0 ? 1 : Math.exp(-wei.w1[h] * d ** wei.w2[h]);
          return (
            (dot / Math.sqrt(D)) * factor -
            lists.r1[h] * Math.log1p(lists.r2[h] * d) +
            slopes[h] * d
          );
        });
        const sum = scores.reduce((all, s) => all + Math.exp(s), 0);
        for (const [j, s] of scores.entries()) want[(h * n + i) * n + j] = Math.exp(s) / sum;
      }
    for (const order of [
      [kerple, alibi],
      [alibi, kerple],
    ] as const)
      expectClose(given(...order), want, { rtol: 0, atol: 1e-6 });
  });

  it('dynamic-bias of one unit, within its reach and beyond', () => {
    const { got, want } = dynamicBias([-5000, -3, 0, 1, 2, 511, 513, 0.5]);
    expectClose(got.data, want, tolerance);
  });
});

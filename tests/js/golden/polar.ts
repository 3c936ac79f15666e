// SPDX-License-Identifier: Apache-2.0
import { pe } from '../support/instance.ts';
import { expectClose } from '../support/numbers.ts';
import { type GoldenCase, tensorOf } from './cases.ts';

/** Rows of twice the width, and the scores that attention makes of them: with q·k alone, unscaled. */
export function runPope({ params, inputs, expected, tolerance }: GoldenCase): void {
  const { heads, head_dim: headDim, base } = params;
  const phases = tensorOf(inputs.learned_bias);
  const encoding = pe.encoding('pope', { heads, headDim, base, phases });
  const [q, k] = [tensorOf(inputs.q), tensorOf(inputs.k)];
  for (const [name, x, role] of [
    ['q', q, 'query'],
    ['k', k, 'key'],
  ] as const) {
    const turned = encoding.rotate(x, undefined, { role });
    expectClose(turned.data, expected[name].data, tolerance.f32, name);
  }
  const n = q.shape[2];
  const options = { encoding, scale: 1, weights: true, logSumExp: true };
  const { weights, logSumExp } = pe.attention(q, k, k, options);
  // weight = e^(score - logSumExp)
  const scores = weights?.data.map(
    (w, i) => Math.log(w) + (logSumExp?.data[Math.floor(i / n)] ?? Number.NaN),
  );
  expectClose(scores ?? [], expected.scores.data, tolerance.f32, 'scores');
}

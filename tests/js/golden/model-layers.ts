// SPDX-License-Identifier: Apache-2.0
/** Attention on activations of a trained model: rotation inside attention, and by itself. */

import { pe } from '../support/instance.ts';
import { expectClose } from '../support/numbers.ts';
import { type GoldenCase, tensorOf } from './cases.ts';

export function runRealLayer({ params, inputs, expected, tolerance }: GoldenCase): void {
  const rope = pe.encoding('rope', {
    headDim: params.head_dim,
    base: params.theta,
    layout: params.rope_style,
  });
  // [n, H, D], so one batch entry in the other layout.
  const [q, k, v] = ['q', 'k', 'v'].map((name) => tensorOf(inputs[name]));
  const { output } = pe.attention(q, k, v, { encoding: rope, layout: 'bnhd', causal: true });
  expectClose(output.data, expected.out.data, tolerance.f32, 'out');
  for (const [name, x] of [
    ['q_rotated', q],
    ['k_rotated', k],
  ] as const) {
    const [n, heads, width] = x.shape;
    // Row t of head h is at (t, h): the same rotation with each position repeated for every head.
    const positions = Array.from({ length: n * heads }, (_, i) => Math.floor(i / heads));
    const turned = rope.rotate({ data: x.data, shape: [n * heads, width] }, positions);
    expectClose(turned.data, expected[name].data, tolerance.f32, name);
  }
}

// SPDX-License-Identifier: Apache-2.0
/** Distance remaps, through attention: each case holds one sequence, causal, and its weights. */

import { pe } from '../support/instance.ts';
import { expectClose } from '../support/numbers.ts';
import { type GoldenCase, tensorOf } from './cases.ts';

const remapOf = ({ case: name, params }: GoldenCase) => {
  const rope = { headDim: params.head_dim, base: params.theta, layout: params.style };
  if (name.startsWith('selfextend_')) {
    const logn = params.logn_scale_base > 1;
    const more = logn ? { logn, trainedLength: params.logn_scale_base } : {};
    const { group_size: group, neighbor_window: window } = params;
    return pe.encoding('self-extend', { ...rope, group, window, ...more });
  }
  const { window, training_length: trainedLength, scaling_factor: step } = params;
  const remap = { ...rope, window, logn: true, trainedLength };
  return name.startsWith('leaky_')
    ? pe.encoding('leaky-rerope', { ...remap, step })
    : pe.encoding('rerope', remap);
};

export function runRemap(one: GoldenCase): void {
  const { inputs, expected, tolerance } = one;
  const encoding = remapOf(one);
  const [q, k, v] = ['q', 'k', 'v'].map((name) => tensorOf(inputs[name]));
  const all = pe.attention(q, k, v, { encoding, causal: true, weights: true });
  expectClose(all.weights?.data ?? [], expected.probs.data, tolerance.f32, 'probs');
  expectClose(all.output.data, expected.out.data, tolerance.f32, 'out');
  if (expected.decode_last_out === undefined) return;
  const [H, T, D] = q.shape;
  const last = Array.from({ length: H }, (_, h) => [
    ...q.data.subarray((h * T + T - 1) * D, (h + 1) * T * D),
  ]);
  const lastQuery = { data: Float64Array.from(last.flat()), dims: [H, 1, D] };
  const decoded = pe.attention(lastQuery, k, v, { encoding, causal: true });
  expectClose(decoded.output.data, expected.decode_last_out.data, tolerance.f32, 'decoded');
}

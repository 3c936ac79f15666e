// SPDX-License-Identifier: Apache-2.0
/** The gradients of a case that brings them. */

import type { AttentionOptions, AttentionResult, Tensor } from 'posenc';
import { pe } from '../support/instance.ts';
import { expectClose } from '../support/numbers.ts';
import { type GoldenCase, tensorOf } from './cases.ts';

export function runBackward(
  { inputs, expected, tolerance }: GoldenCase,
  [q, k, v]: readonly Tensor[],
  options: AttentionOptions,
  { output, logSumExp }: AttentionResult,
): void {
  if (expected.grad_q === undefined || logSumExp === undefined) return;
  const gradients = pe.attentionBackward(q, k, v, output, logSumExp, tensorOf(inputs.grad_out), {
    ...options,
    ...(expected.grad_bias && { maskGradient: true }),
  });
  const { dq, dk, dv, dSinks, dMask } = gradients;
  for (const [got, name] of [
    [dq, 'grad_q'],
    [dk, 'grad_k'],
    [dv, 'grad_v'],
    [dSinks, 'grad_sinks'],
    [dMask, 'grad_bias'],
  ] as const)
    if (expected[name]) expectClose(got?.data ?? [], expected[name].data, tolerance.f32, name);
}

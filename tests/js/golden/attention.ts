// SPDX-License-Identifier: Apache-2.0
import type { AttentionOptions, AttentionResult, Tensor } from 'posenc';
import { pe } from '../support/instance.ts';
import { expectClose, expectSame } from '../support/numbers.ts';
import { type GoldenArray, type GoldenCase, maskOf, tensorOf } from './cases.ts';
import { runLatentAttention } from './latent-attention.ts';

export function runAttention(one: GoldenCase): void {
  if (one.case.startsWith('attn_mla_')) {
    runLatentAttention(one);
    return;
  }
  const { inputs, expected, tolerance } = one;
  const [q, k, v] = ['q', 'k', 'v'].map((name) => tensorOf(inputs[name]));
  const options = optionsOf(one, q, k);
  const result = pe.attention(q, k, v, { ...options, weights: true, logSumExp: true });
  compare(result, expected, tolerance.f32);
  // Asking for more must not change the output.
  expectSame(pe.attention(q, k, v, options).output.data, result.output.data);
}

function compare(
  result: AttentionResult,
  expected: GoldenCase['expected'],
  f32: { rtol: number; atol: number },
) {
  expectClose(result.output.data, expected.out.data, f32, 'out');
  if (expected.probs) expectClose(result.weights?.data ?? [], expected.probs.data, f32, 'probs');
  if (expected.lse) expectClose(result.logSumExp?.data ?? [], expected.lse.data, f32, 'lse');
}

function optionsOf({ case: name, params, inputs, expected }: GoldenCase, q: Tensor, k: Tensor) {
  const [B, H, T] = q.shape;
  const S = k.shape[2];
  const options: AttentionOptions = { scale: params.scale };
  // Where the case brings the mask that its rule comes to, the mask is what is applied.
  const boolean: GoldenArray | null = inputs.mask ?? expected.mask ?? null;
  const keys: GoldenArray | null = inputs.key_mask ?? null;
  if (boolean) options.mask = maskOf(boolean);
  else if (keys) options.mask = maskOf(keys, [B, 1, 1, S]);
  else if (inputs.bias) options.mask = tensorOf(inputs.bias);
  if (isCausal(name, params.causal) && !(boolean && expected.mask)) options.causal = true;
  if (name.includes('top_left')) options.queryOffset = 0;
  if (inputs.slopes) {
    const slopes: number[] = inputs.slopes.data;
    options.encoding = pe.encoding('alibi', { heads: H, slopes, form: 'symmetric' });
  }
  if (inputs.relative_attention_bias) {
    const t5 = pe.encoding('t5', {
      heads: H,
      buckets: params.num_buckets,
      maxDistance: params.max_distance,
      bidirectional: params.bidirectional,
      table: tensorOf(inputs.relative_attention_bias),
    });
    // The bias of the case, from the encoding alone.
    const places = (n: number, from: number) => Array.from({ length: n }, (_, i) => from + i);
    const { data } = t5.bias(places(T, S - T), places(S, 0));
    expectClose(data, expected.bias.data, { rtol: 1e-6, atol: 0 }, 'bias');
    options.encoding = t5;
    delete options.scale; // its own wish is 1
  }
  return options;
}

const isCausal = (name: string, causal: unknown) =>
  causal === 'bottom-right' || causal === true || name.includes('top_left');

// SPDX-License-Identifier: Apache-2.0
import { type AttentionOptions, type AttentionResult, fromTotal, type Tensor } from 'posenc';
import { expect } from 'vitest';
import { pe } from '../support/instance.ts';
import { expectClose, expectSame, tensor } from '../support/numbers.ts';
import { runBackward } from './backward.ts';
import { type GoldenArray, type GoldenCase, maskOf, tensorOf } from './cases.ts';
import { runLatentAttention } from './latent-attention.ts';

export function runAttention(one: GoldenCase): void {
  if (one.case.startsWith('attn_mla_')) {
    runLatentAttention(one);
    return;
  }
  if (one.case.startsWith('attn_streaming_llm_')) {
    runStreaming(one);
    return;
  }
  const { inputs, expected, tolerance } = one;
  const [q, k, v] = ['q', 'k', 'v'].map((name) => tensorOf(inputs[name]));
  const options = optionsOf(one, q, k);
  const result = pe.attention(q, k, v, { ...options, weights: true, logSumExp: true });
  compare(result, expected, tolerance.f32);
  runBackward(one, [q, k, v], options, result);
  runRule(one, q, k, v);
  runCached(one, q, k, v, options);
  // Asking for more must not change the output.
  expectSame(pe.attention(q, k, v, options).output.data, result.output.data);
}

const rowsOf = (x: Tensor, first: number, end: number): Tensor => {
  const [B, heads, n, width] = x.shape;
  const planes = Array.from({ length: B * heads }, (_, p) =>
    Array.from(x.data.subarray((p * n + first) * width, (p * n + end) * width)),
  );
  return tensor([B, heads, end - first, width], planes.flat());
};

/** The same with all keys before the queries in a cache, and those of the queries appended. */
function runCached(
  { expected, tolerance }: GoldenCase,
  q: Tensor,
  k: Tensor,
  v: Tensor,
  options: AttentionOptions,
): void {
  const [[batch, , T], [, heads, S, headDim]] = [q.shape, k.shape];
  const { encoding, keyPositions: _, ...rest } = options;
  if (T > S || S === 0 || 'keyLengths' in rest || 'cuSeqlens' in rest || 'queryOffset' in rest)
    return;
  const valueDim = v.shape[3];
  using cache = pe.cache({
    batch,
    heads,
    headDim,
    valueDim,
    capacity: S,
    ...(encoding && { encoding }),
  });
  cache.append(rowsOf(k, 0, S - T), rowsOf(v, 0, S - T));
  const append = { k: rowsOf(k, S - T, S), v: rowsOf(v, S - T, S) };
  const wants = { weights: true, logSumExp: true };
  compare(pe.attention(q, cache, { ...rest, ...wants, append }), expected, tolerance.f32);
  // Once more over what is there now.
  compare(pe.attention(q, cache, { ...rest, ...wants }), expected, tolerance.f32);
}

/** Where a case brings a mask that a rule of ours comes to, the rule gives the same. */
function runRule(one: GoldenCase, q: Tensor, k: Tensor, v: Tensor): void {
  const rule = ruleOf(one);
  if (rule === undefined) return;
  const { mask: _, ...options } = optionsOf(one, q, k);
  const { output } = pe.attention(q, k, v, { ...options, ...rule });
  expectClose(output.data, one.expected.out.data, one.tolerance.f32, 'out by rule');
}

function ruleOf({ case: name, params, inputs, expected }: GoldenCase) {
  const mask: number[] = (inputs.mask ?? expected.mask)?.data ?? [];
  const [T, S] = [params.q_len, params.k_len];
  const row = (t: number) => mask.slice(t * S, (t + 1) * S);
  if (params.sliding_window && expected.mask)
    return { causal: true, window: fromTotal(params.sliding_window) };
  // The first row sees the prefix; the documents begin where the row above sees nothing of a row.
  if (name === 'attn_prefix_lm') return { causal: true, prefix: row(0).lastIndexOf(1) + 1 };
  if (name !== 'attn_packed_documents') return undefined;
  const begins = Array.from({ length: T }, (_, t) => t).filter((t) => row(t).indexOf(1) === t);
  return { causal: true, cuSeqlens: { q: [...begins, T] } };
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
  if (params.softcap) options.softcap = params.softcap;
  if (inputs.sinks) options.sinks = inputs.sinks.data;
  if (params.sliding_window && !options.mask) options.window = fromTotal(params.sliding_window);
  const { window_left: left = -1, window_right: right = -1 } = params;
  if (left >= 0 || right >= 0)
    options.window = { ...(left >= 0 && { left }), ...(right >= 0 && { right }) };
  // There the window goes by the keys that are not padding.
  if ('window_left' in params && keys) {
    const lengths = Array.from({ length: B }, (_, b) =>
      keys.data.slice(b * S, (b + 1) * S).reduce((sum, one) => sum + one, 0),
    );
    Object.assign(options, { keyLengths: lengths, queryOffset: lengths.map((n) => n - T) });
    delete options.mask;
  }
  // A query sees its own chunk: sequences as long as the chunks.
  const chunk: number = params.attention_chunk ?? 0;
  if (chunk > 0) {
    const q = Array.from({ length: Math.ceil(T / chunk) + 1 }, (_, i) => Math.min(T, i * chunk));
    options.cuSeqlens = { q };
  }
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

/**
 * Token by token: the first and the latest keys, which stand at their places in the cache, and the
 * query at the last of them.
 */
function runStreaming({ params, inputs, expected, tolerance }: GoldenCase): void {
  const [q, k, v] = ['q', 'k', 'v'].map((name) => tensorOf(inputs[name]));
  const { start_size: start, recent_size: recent, head_dim: D, heads: H, tokens } = params;
  const encoding = pe.encoding('rope', { headDim: D, base: params.theta });
  const rows = (x: Tensor, head: number, list: readonly number[]) =>
    list.flatMap((t) =>
      Array.from(x.data.subarray((head * tokens + t) * D, (head * tokens + t + 1) * D)),
    );
  const out = new Float32Array(expected.out.data.length);
  let kept: number[] = [];
  for (let t = 0; t < tokens; ++t) {
    const seen = [...kept, t];
    expect(seen.length).toBe(expected.keys_seen[t]);
    const heads = Array.from({ length: H }, (_, h) => rows(q, h, [t])).flat();
    const { output } = pe.attention(
      tensor([1, H, 1, D], heads),
      tensor([1, 1, seen.length, D], rows(k, 0, seen)),
      tensor([1, 1, seen.length, D], rows(v, 0, seen)),
      { encoding, causal: true, scale: params.scale },
    );
    for (let h = 0; h < H; ++h)
      out.set(output.data.subarray(h * D, (h + 1) * D), (h * tokens + t) * D);
    const excess = seen.length - start - recent;
    kept = excess > 0 ? [...seen.slice(0, start), ...seen.slice(start + excess)] : seen;
  }
  expectClose(out, expected.out.data, tolerance.f32, 'out');

  using cache = pe.cache({ heads: 1, headDim: D, window: recent, sinks: start, encoding });
  for (let t = 0; t < tokens; ++t) {
    const append = { k: rowsOf(k, t, t + 1), v: rowsOf(v, t, t + 1) };
    const { output } = pe.attention(rowsOf(q, t, t + 1), cache, { append, scale: params.scale });
    for (let h = 0; h < H; ++h)
      out.set(output.data.subarray(h * D, (h + 1) * D), (h * tokens + t) * D);
  }
  expectClose(out, expected.out.data, tolerance.f32, 'out of the cache');
}

const isCausal = (name: string, causal: unknown) =>
  causal === 'bottom-right' || causal === true || name.includes('top_left');

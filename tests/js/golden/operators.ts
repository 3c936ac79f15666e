// SPDX-License-Identifier: Apache-2.0
/**
 * The attention operators of ONNX and onnxruntime in terms of ours. What differs: heads may be packed
 * into rows, `causal` counts from the past (none: from the top left), short masks hide the rest, raw
 * scores can be asked for, GroupQueryAttention has lengths minus one and a window that counts the
 * query's own key.
 */

import { type AttentionOptions, fromTotal, type Tensor } from 'posenc';
import { pe } from '../support/instance.ts';
import { expectClose, sizeOf, tensor } from '../support/numbers.ts';
import { type GoldenArray, type GoldenCase, maskOf, tensorOf } from './cases.ts';

type Slots = Record<string, GoldenArray | null | undefined>;

/** [B, n, heads · w] as [B, heads, n, w]; rank 4 is that already. */
function split(x: GoldenArray, heads: number): Tensor {
  if (x.shape.length === 4) return tensorOf(x);
  const [B, n, all] = x.shape;
  const w = all / heads;
  const data = Float32Array.from({ length: B * n * all }, (_, i) => {
    const [c, t, h] = [i % w, Math.floor(i / w) % n, Math.floor(i / (w * n)) % heads];
    const b = Math.floor(i / (w * n * heads));
    return x.data[(b * n + t) * all + h * w + c];
  });
  return { data, shape: [B, heads, n, w] };
}

/** [B, heads, n, w] in the layout of the case. */
function joined(x: Tensor, rank: number): ArrayLike<number> {
  if (rank === 4) return x.data;
  const [B, heads, n, w] = x.shape;
  return Float32Array.from({ length: B * heads * n * w }, (_, i) => {
    const [c, h, t] = [i % w, Math.floor(i / w) % heads, Math.floor(i / (w * heads)) % n];
    const b = Math.floor(i / (w * heads * n));
    return x.data[((b * heads + h) * n + t) * w + c];
  });
}

/** Rows one after the other, head by head. */
function append(past: GoldenArray | null | undefined, x: Tensor): Tensor {
  if (past == null) return x;
  const [B, heads, n, w] = x.shape;
  const before = past.shape[2];
  const all = before + n;
  const data = Float32Array.from({ length: B * heads * all * w }, (_, i) => {
    const [row, t] = [Math.floor(i / (all * w)), Math.floor(i / w) % all];
    return t < before
      ? past.data[(row * before + t) * w + (i % w)]
      : x.data[(row * n + t - before) * w + (i % w)];
  });
  return { data, shape: [B, heads, all, w] };
}

/** A last axis shorter than the keys hides those it does not reach. */
function maskFor(mask: GoldenArray, keys: number): AttentionOptions['mask'] {
  const width = mask.shape[mask.shape.length - 1];
  const shape = [...mask.shape.slice(0, -1), keys];
  const boolean = mask.dtype === 'bool';
  if (width === keys || width === 1) return boolean ? maskOf(mask) : tensorOf(mask);
  const data = Array.from({ length: sizeOf(shape) }, (_, i) => {
    const j = i % keys;
    return j < width ? mask.data[Math.floor(i / keys) * width + j] : boolean ? 0 : -Infinity;
  });
  return boolean ? { data: Uint8Array.from(data), shape } : tensor(shape, data);
}

/** Scores back from the softmax: ln weight + logSumExp. */
function scoresOf(q: Tensor, k: Tensor, v: Tensor, options: AttentionOptions): Float64Array {
  const { weights, logSumExp } = pe.attention(q, k, v, {
    ...options,
    weights: true,
    logSumExp: true,
  });
  const keys = k.shape[2];
  return Float64Array.from(weights?.data ?? [], (w, i) =>
    w === 0 ? -Infinity : Math.log(w) + (logSumExp?.data[Math.floor(i / keys)] ?? Number.NaN),
  );
}

export function runOnnxAttention({ params, inputs, expected, tolerance }: GoldenCase): void {
  const { attributes } = params;
  const slots = inputs as Slots;
  const [Q, K, V] = [inputs.Q, inputs.K, inputs.V] as GoldenArray[];
  const q = split(Q, attributes.q_num_heads);
  const k = append(slots.past_key, split(K, attributes.kv_num_heads));
  const v = append(slots.past_value, split(V, attributes.kv_num_heads));
  const [, , queries] = q.shape;
  const keys = k.shape[2];
  const present = Array.from(slots.nonpad_kv_seqlen?.data ?? []);
  const options: AttentionOptions = {
    ...(attributes.scale ? { scale: attributes.scale } : {}),
    ...(attributes.softcap ? { softcap: attributes.softcap } : {}),
    ...(slots.attn_mask ? { mask: maskFor(slots.attn_mask, keys) } : {}),
    ...(present.length > 0 ? { keyLengths: present } : {}),
  };
  if (attributes.is_causal) {
    options.causal = true;
    options.queryOffset =
      present.length > 0 ? present.map((n) => n - queries) : (slots.past_key?.shape[2] ?? 0);
  }
  const f32 = tolerance.f32;
  const { output, weights } = pe.attention(q, k, v, { ...options, weights: true });
  expectClose(joined(output, Q.shape.length), expected.Y.data, f32, 'Y');
  if (expected.present_key) expectClose(k.data, expected.present_key.data, f32, 'present_key');
  if (expected.present_value)
    expectClose(v.data, expected.present_value.data, f32, 'present_value');
  if (!expected.qk_matmul_output) return;
  const { softcap: _, mask, causal, keyLengths, ...plain } = options;
  const capped = { ...plain, ...(options.softcap ? { softcap: options.softcap } : {}) };
  const got = [
    () => scoresOf(q, k, v, plain),
    () => scoresOf(q, k, v, capped),
    () => scoresOf(q, k, v, options),
    () => weights?.data ?? [],
  ][attributes.qk_matmul_output_mode ?? 0]();
  expectClose(got, expected.qk_matmul_output.data, f32, 'qk_matmul_output');
}

export function runOrtAttention({ params, inputs, expected, tolerance }: GoldenCase): void {
  const { attributes } = params;
  const slots = inputs as Slots;
  const { query, key, value } = inputs as Record<string, GoldenArray>;
  const heads: number = attributes.num_heads;
  const q = split(query, heads);
  const kNew = split(key, attributes.kv_num_heads ?? heads);
  const grouped = params.operator === 'GroupQueryAttention';
  const past = slots.past_key?.shape[2] ?? 0;
  const [batch, , queries, width] = q.shape;
  const total = past + queries;
  const rope = attributes.do_rotary
    ? pe.encoding('rope', {
        headDim: width,
        rotaryDim: 2 * (slots.cos_cache?.shape[1] ?? 0),
        layout: attributes.rotary_interleaved ? 'interleaved' : 'half',
      })
    : undefined;
  const places = Array.from({ length: queries }, (_, i) => past + i);
  const turn = (x: Tensor, role: 'query' | 'key') => rope?.rotate(x, places, { role }) ?? x;
  const k = append(slots.past_key, turn(kNew, 'key'));
  const v = append(slots.past_value, split(value, attributes.kv_num_heads ?? heads));
  const lengths = slots.seqlens_k?.data.map((n) => n + 1);
  const options: AttentionOptions = {
    ...(grouped || attributes.unidirectional ? { causal: true } : {}),
    ...(attributes.local_window_size ? { window: fromTotal(attributes.local_window_size) } : {}),
    ...(attributes.softcap ? { softcap: attributes.softcap } : {}),
    ...(slots.head_sink ? { sinks: slots.head_sink.data } : {}),
    ...(slots.attention_bias ? { mask: tensorOf(slots.attention_bias) } : {}),
    ...(slots.key_padding_mask
      ? { mask: maskOf(slots.key_padding_mask, [batch, 1, 1, slots.key_padding_mask.shape[1]]) }
      : {}),
    ...(lengths ? { keyLengths: lengths } : {}),
  };
  const f32 = tolerance.f32;
  /** NaN marks rows of padding, which are not to be compared. */
  const compare = (x: Tensor, rank: number, name: string) => {
    const wanted: number[] = expected[name].data;
    const got = joined(x, rank);
    const real = (numbers: ArrayLike<number>) =>
      Array.from(numbers).filter((_, i) => !Number.isNaN(wanted[i]));
    expectClose(real(got), real(wanted), f32, name);
  };
  compare(pe.attention(turn(q, 'query'), k, v, options).output, 3, 'output');
  if (expected.present_key) compare(k, 4, 'present_key');
  if (expected.present_value) compare(v, 4, 'present_value');
  // Rotated inside attention, the same: where nothing in the cache is rotated already.
  if (rope && past === 0 && total === k.shape[2])
    compare(pe.attention(q, kNew, v, { ...options, encoding: rope }).output, 3, 'output');
}

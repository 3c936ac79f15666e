// SPDX-License-Identifier: Apache-2.0
/** What attention itself must know: scale, mask, window, cap; and what it cannot be told by options. */

import { type Context, counting } from './context.js';
import { windowOf } from './layers.js';
import type { RopeDict } from './rope-dict.js';
import type { ModelAttention, Need } from './types.js';

export interface Facts {
  attention: ModelAttention;
  needs: Need[];
}

export function scoreOptions(c: Context, type: string, rotates: boolean, dict?: RopeDict): Facts {
  const attention: ModelAttention = {};
  const needs: Need[] = [];
  if (causalOf(c)) attention.causal = true;
  const scale = scaleOf(c);
  if (scale !== undefined) attention.scale = scale;
  const cap = c.number(['attn_logit_softcapping', 'attention_logit_softcapping'], {
    min: 0,
    above: true,
    max: 1e9,
  });
  if (cap !== undefined) attention.softcap = c.enter('softcap', cap);
  if (type === 'sliding_attention') slide(c, attention);
  if (type === 'chunked_attention') {
    const chunk = c.take('chunk', ['attention_chunk_size'], counting);
    needs.push({
      what: 'chunk',
      value: chunk,
      message: 'a query sees the keys of its own chunk only: pass that as a mask',
    });
  }
  if (c.family.sinks === true)
    needs.push({
      what: 'sinks',
      message: 'one trained logit for each head: read sinks from the weights',
    });
  temperature(c, rotates, dict, needs);
  if (c.flag(['use_logn_attn'])?.value === true)
    needs.push({
      what: 'logn',
      value: c.number(['seq_length', 'max_position_embeddings'], counting)?.value,
      message: 'queries are multiplied by max(1, log(position + 1) / log(trained length))',
    });
  return { attention, needs };
}

/** Decoders, and encoders that say they are one. */
export function causalOf(c: Context): boolean {
  const decoder = c.flag(['is_decoder', 'is_causal', 'use_causal_mask']);
  if (decoder?.value === true) return c.enter('causal', decoder);
  return c.ledger.note('causal', c.family.causal !== false, 'default');
}

function scaleOf(c: Context): number | undefined {
  const rules = { min: 0, above: true, max: 1e9 };
  const over = c.number(['query_pre_attn_scalar'], rules);
  if (over !== undefined)
    return c.enter('scale', { ...over, value: 1 / Math.sqrt(over.value), provenance: 'derived' });
  const times = c.number(['attention_multiplier', 'softmax_scale'], rules);
  if (times !== undefined) return c.enter('scale', times);
  if (c.family.assumes?.unscaled_scores === true) return c.ledger.note('scale', 1, 'default');
  const rotated = c.number(['qk_rope_head_dim'], counting);
  const plain = c.number(['qk_nope_head_dim'], counting);
  if (rotated === undefined || plain === undefined) return undefined;
  // Both parts of a latent-attention head are scored together.
  const value = 1 / Math.sqrt(rotated.value + plain.value);
  return c.enter('scale', { ...rotated, value, provenance: 'derived' });
}

/** W keys with the query's own in a decoder; half of them on each side in an encoder. */
function slide(c: Context, attention: ModelAttention): void {
  const keys = windowOf(c);
  if (keys === undefined) return;
  const found = c.number(['sliding_window', 'sliding_window_size', 'local_attention']);
  c.ledger.note('window', keys, found?.provenance ?? 'derived', found?.path);
  const side = Math.floor(keys / 2);
  attention.window =
    attention.causal === true ? { left: keys - 1, right: 0 } : { left: side, right: side };
}

/** Llama 4 warms the queries of layers without rotation, Ministral those of all layers. */
function temperature(
  c: Context,
  rotates: boolean,
  dict: RopeDict | undefined,
  needs: Need[],
): void {
  const beta = dict?.number('llama_4_scaling_beta', { min: 0, max: 100 });
  if (beta !== undefined && dict != null) {
    const length = dict.number('original_max_position_embeddings', counting);
    c.ledger.note('temperature', beta, 'given', dict.pathOf('llama_4_scaling_beta'));
    needs.push({
      what: 'temperature',
      value: { scale: beta, length: length ?? 8192, shift: 0 },
      message: 'query m is multiplied by 1 + scale·ln(1 + ⌊m / length⌋)',
    });
    return;
  }
  if (rotates || !tuned(c)) return;
  const scale = c.take('temperature', ['attn_scale'], { min: 0, max: 100 });
  const length = c.take('temperatureLength', ['floor_scale'], {
    min: 0,
    above: true,
    max: 2 ** 53,
  });
  needs.push({
    what: 'temperature',
    value: { scale, length, shift: 1 },
    message: 'query m is multiplied by 1 + scale·ln(1 + ⌊(m + 1) / length⌋)',
  });
}

/** The flag is written as true, and as 4 in early files. */
function tuned(c: Context): boolean {
  const at = c.find(['attn_temperature_tuning']);
  if (at === undefined) return c.family.assumes?.attn_temperature_tuning === true;
  const value = at.section.get(at.key);
  return typeof value === 'boolean' ? value : (at.section.number(at.key) ?? 0) !== 0;
}

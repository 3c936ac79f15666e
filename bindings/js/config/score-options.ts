// SPDX-License-Identifier: Apache-2.0
/** What attention itself must know: scale, mask, window, cap; and what it cannot be told by options. */

import type { QueryScale } from '../attention-options.js';
import { type Context, counting } from './context.js';
import { windowOf } from './layers.js';
import type { RopeDict } from './rope-dict.js';
import type { ModelAttention, Need } from './types.js';

const farthest = 2 ** 31 - 1;

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
    if (chunk !== undefined) attention.chunk = chunk;
  }
  if (c.family.sinks === true)
    needs.push({
      what: 'sinks',
      message: 'one trained logit for each head: read sinks from the weights',
    });
  if (c.family.norms !== undefined && type !== 'linear_attention')
    needs.push({
      what: 'norm',
      message: `qNorm and kNorm for each head, before it rotates: read them from the weights${c.family.norms === 'weights' ? '' : ' and add 1'}`,
    });
  const grown = temperature(c, rotates, dict) ?? logarithmic(c);
  if (grown !== undefined) attention.queryScale = grown;
  return { attention, needs };
}

/** Decoders, and encoders that say they are one. */
export function causalOf(c: Context): boolean {
  const decoder = c.flag(['is_decoder', 'is_causal', 'use_causal_mask']);
  if (decoder?.value === true) return c.enter('causal', decoder);
  return c.ledger.note('causal', c.family.causal !== false, 'default');
}

function scaleOf(c: Context): number | undefined {
  const rules = { min: 1e-9, max: 1e9 };
  const over = c.number(['query_pre_attn_scalar'], rules);
  if (over !== undefined)
    return c.enter('scale', {
      ...over,
      value: 1 / Math.sqrt(over.value),
      provenance: over.provenance === 'given' ? 'derived' : 'default',
    });
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
  // No sequence is longer than attention can count.
  const side = Math.min(Math.floor(keys / 2), farthest);
  attention.window =
    attention.causal === true
      ? { left: Math.min(keys - 1, farthest), right: 0 }
      : { left: side, right: side };
}

/** Qwen 1 beyond its trained length. */
function logarithmic(c: Context): QueryScale | undefined {
  if (c.flag(['use_logn_attn'])?.value !== true) return undefined;
  const length = c.number(['seq_length', 'max_position_embeddings'], { ...counting, min: 2 });
  if (length === undefined) throw c.missing(['seq_length']);
  return { kind: 'logn', length: c.enter('lognLength', length) };
}

/** Llama 4 warms the queries of layers without rotation, Ministral those of all layers. */
function temperature(
  c: Context,
  rotates: boolean,
  dict: RopeDict | undefined,
): QueryScale | undefined {
  const beta = dict?.number('llama_4_scaling_beta', { min: 0, max: 100 });
  if (beta !== undefined && dict != null) {
    const key = 'original_max_position_embeddings';
    const given = dict.number(key, counting);
    c.ledger.note('temperature', beta, 'given', dict.pathOf('llama_4_scaling_beta'));
    const origin = given === undefined ? 'default' : 'given';
    const length = c.ledger.note('temperatureLength', given ?? 8192, origin, dict.pathOf(key));
    return { kind: 'ministral', length, factor: beta };
  }
  if (rotates || !tuned(c)) return undefined;
  const scale = c.take('temperature', ['attn_scale'], { min: 0, max: 100 });
  const length = c.take('temperatureLength', ['floor_scale'], { min: 1, max: 2 ** 53 });
  return { kind: 'llama4', factor: scale ?? 0.1, length: length ?? 8192 };
}

/** The flag is written as true, and as 4 in early files. */
function tuned(c: Context): boolean {
  const at = c.find(['attn_temperature_tuning']);
  if (at === undefined) return c.family.assumes?.attn_temperature_tuning === true;
  const value = at.section.get(at.key);
  return typeof value === 'boolean' ? value : (at.section.number(at.key) ?? 0) !== 0;
}

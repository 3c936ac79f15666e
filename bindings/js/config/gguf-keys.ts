// SPDX-License-Identifier: Apache-2.0
/** GGUF metadata under the names of config.json, each key remembering what it is called in the file. */

import { nearest, quote } from '../errors.js';
import { isArray } from '../intrinsics.js';
import { sectionsInTurns } from './gguf-architectures.js';
import type { Ledger } from './ledger.js';
import { Section } from './section.js';

/** After `{architecture}.`; the right side is a key of the root or of `rope_scaling`. */
const keys: Readonly<Record<string, string>> = {
  context_length: 'max_position_embeddings',
  embedding_length: 'hidden_size',
  block_count: 'num_hidden_layers',
  'attention.head_count': 'num_attention_heads',
  'attention.head_count_kv': 'num_key_value_heads',
  'attention.key_length': 'head_dim',
  'attention.sliding_window': 'sliding_window',
  'attention.sliding_window_pattern': 'sliding_window_pattern',
  'attention.chunk_size': 'attention_chunk_size',
  'attention.scale': 'attention_multiplier',
  'attention.max_alibi_bias': 'alibi_bias_max',
  'attention.relative_buckets_count': 'relative_attention_num_buckets',
  'attention.causal': 'is_causal',
  'attention.temperature_scale': 'attn_scale',
  'attention.temperature_length': 'floor_scale',
  attn_logit_softcapping: 'attn_logit_softcapping',
  'rope.freq_base': 'rope_theta',
  'rope.freq_base_swa': 'rope_local_base_freq',
  'rope.dimension_count': 'rotary_dim',
  'rope.dimension_sections': 'rope_scaling.mrope_section',
  'rope.scaling.type': 'rope_scaling.rope_type',
  'rope.scaling.factor': 'rope_scaling.factor',
  'rope.scale_linear': 'rope_scaling.factor',
  'rope.scaling.alpha': 'rope_scaling.alpha',
  'rope.scaling.original_context_length': 'rope_scaling.original_max_position_embeddings',
  'rope.scaling.yarn_beta_fast': 'rope_scaling.beta_fast',
  'rope.scaling.yarn_beta_slow': 'rope_scaling.beta_slow',
  'rope.scaling.yarn_ext_factor': 'rope_scaling.extrapolation_factor',
  'rope.scaling.attn_factor': 'rope_scaling.attention_factor',
  'rope.scaling.yarn_attn_factor': 'rope_scaling.attention_factor',
};
const silent = ['rope.scaling.finetuned', 'rope.scaling.yarn_log_multiplier'];

export interface Translation {
  root: Section;
  /** Of the translated object, for values that come from tensors. */
  scaling: Record<string, unknown>;
}

export function translate(metadata: Section, arch: string, ledger: Ledger): Translation {
  const object: Record<string, unknown> = { model_type: arch };
  const scaling: Record<string, unknown> = {};
  const original = new Map<string, string>([['model_type', 'general.architecture']]);
  for (const [suffix, target] of Object.entries(keys)) {
    const key = `${arch}.${suffix}`;
    const nested = target.startsWith('rope_scaling.');
    const [holder, name] = nested ? [scaling, target.slice(13)] : [object, target];
    const value = scalar(metadata.get(key));
    // Absent ones too: an error about a missing key has to name it as the file would.
    if (!original.has(target) || (value !== undefined && holder[name] === undefined))
      original.set(target, key);
    if (value !== undefined && holder[name] === undefined) holder[name] = value;
  }
  adapt(metadata, arch, object, scaling, original);
  if (Object.keys(scaling).length > 0) object.rope_scaling = scaling;
  warnUnknown(metadata, arch, ledger);
  return { root: new Section(object, '', ledger, original), scaling };
}

/** What the files write in a form of their own. */
function adapt(
  metadata: Section,
  arch: string,
  object: Record<string, unknown>,
  scaling: Record<string, unknown>,
  original: Map<string, string>,
): void {
  if (scaling.rope_type === 'none') delete scaling.rope_type;
  if (scaling.rope_type === undefined && scaling.alpha !== undefined) scaling.rope_type = 'ntk';
  else if (scaling.rope_type === undefined && metadata.has(`${arch}.rope.scale_linear`))
    scaling.rope_type = 'linear';
  if (isArray(scaling.mrope_section)) {
    // Four axes, of which text and pictures have three.
    scaling.mrope_section = [...(scaling.mrope_section as unknown[])].slice(0, 3);
    scaling.mrope_interleaved = sectionsInTurns(arch);
  }
  // A tenth of DeepSeek's number, and the number itself in files of Mistral's.
  const log = metadata.number(`${arch}.rope.scaling.yarn_log_multiplier`);
  if (log !== undefined) {
    scaling.mscale_all_dim = arch === 'mistral3' ? log : log * 10;
    scaling.mscale = scaling.mscale_all_dim;
    original.set('rope_scaling.mscale_all_dim', `${arch}.rope.scaling.yarn_log_multiplier`);
    original.set('rope_scaling.mscale', `${arch}.rope.scaling.yarn_log_multiplier`);
  }
  // gpt-oss has untruncated bounds, for which there is no key.
  if (arch === 'gpt-oss' && scaling.rope_type === 'yarn') scaling.truncate = false;
  if (arch === 'deepseek2' || arch === 'minicpm3') latent(metadata, arch, object, original);
  if (object.alibi_bias_max === 0 || object.alibi_bias_max === 0n) delete object.alibi_bias_max;
}

/** Latent attention: the rotated width is a part of the key's, the rest is scored unrotated. */
function latent(
  metadata: Section,
  arch: string,
  object: Record<string, unknown>,
  original: Map<string, string>,
): void {
  const rotated = metadata.number(`${arch}.rope.dimension_count`);
  const key =
    metadata.number(`${arch}.attention.key_length_mla`) ??
    metadata.number(`${arch}.attention.key_length`);
  if (rotated === undefined) return;
  object.qk_rope_head_dim = rotated;
  delete object.rotary_dim;
  delete object.head_dim;
  original.set('qk_rope_head_dim', `${arch}.rope.dimension_count`);
  if (key === undefined || key <= rotated) return;
  object.qk_nope_head_dim = key - rotated;
  original.set('qk_nope_head_dim', `${arch}.attention.key_length`);
}

/** Some files repeat a number for each layer. */
function scalar(value: unknown): unknown {
  if (!isArray(value) || value.length === 0 || value.length > 4096) return value;
  if (typeof value[0] === 'boolean') return undefined;
  return value.every((one) => one === value[0]) && value.length > 4 ? value[0] : value;
}

function warnUnknown(metadata: Section, arch: string, ledger: Ledger): void {
  const known = [...Object.keys(keys), ...silent];
  for (const key of metadata.keys(65536)) {
    if (!key.startsWith(`${arch}.rope.`)) continue;
    const suffix = key.slice(arch.length + 1);
    if (known.includes(suffix) || suffix.startsWith('rope.dimension_count')) continue;
    const like = nearest(suffix, known, 2);
    const advice = like === undefined ? '' : `; is it ${quote(`${arch}.${like}`)}?`;
    ledger.warn(
      'W12',
      key.slice(0, 80),
      `no reader knows this key${advice}`,
      metadata.get(key),
      undefined,
    );
  }
}

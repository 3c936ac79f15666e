// SPDX-License-Identifier: Apache-2.0
/**
 * What each model type does with positions, and what its readers assume where the configuration is
 * silent. Only facts that differ from the usual are written down.
 */

export type Kind =
  | 'rope'
  | 'alibi'
  | 't5'
  | 'learned'
  | 'sinusoidal'
  | 'bert'
  | 'deberta'
  | 'transformer-xl'
  | 'swin'
  | 'speech'
  | 'none';

export interface Family {
  readonly kind: Kind;
  /** How channels pair in the reference reader; half the head apart where not said. */
  readonly layout?: 'interleaved';
  /** Decoders see the past only, which is the rule where this is not said. */
  readonly causal?: false;
  /** Layer i sees everything if (i + 1) is a multiple; the others have the window. */
  readonly fullEvery?: number;
  /** Counting from layer 0 instead. */
  readonly fullFirst?: true;
  /** Only odd ones out: these layers do not rotate. */
  readonly unrotated?: 'full' | 'listed';
  /** Only these layers use the scaling; the others rotate at their base. */
  readonly scaled?: 'full';
  /** A window is there but off until `use_sliding_window` says otherwise. */
  readonly windowOff?: true;
  /** Per-head logits in the softmax denominator. */
  readonly sinks?: true;
  /** Queries and keys are normalised head by head; what the files hold as weights of that. */
  readonly norms?: 'weights' | 'weights less 1';
  /** An encoder and a decoder with attention across. */
  readonly stacks?: true;
  /** Rows of a learned table before position 0: a number, or the padding index and one. */
  readonly reserved?: number | 'padding';
  readonly assumes?: Readonly<Record<string, number | boolean | string>>;
}

const rope: Family = { kind: 'rope' };
const turned: Family = { kind: 'rope', layout: 'interleaved' };
const mla: Family = { kind: 'rope', layout: 'interleaved' };
const glm: Family = { ...turned, assumes: { partial_rotary_factor: 0.5 } };
const gemma3: Family = {
  kind: 'rope',
  norms: 'weights less 1',
  fullEvery: 6,
  assumes: { rope_theta: 1e6, rope_local_base_freq: 1e4, head_dim: 256, sliding_window: 4096 },
};
const gemma4: Family = {
  kind: 'rope',
  fullEvery: 6,
  assumes: { head_dim: 256, global_head_dim: 512 },
};
const llama4: Family = {
  kind: 'rope',
  layout: 'interleaved',
  unrotated: 'listed',
  assumes: {
    rope_theta: 5e5,
    head_dim: 128,
    no_rope_layer_interval: 4,
    attention_chunk_size: 8192,
    attn_temperature_tuning: true,
    attn_scale: 0.1,
    floor_scale: 8192,
  },
};
const bert: Family = { kind: 'bert', causal: false };
const padded: Family = { kind: 'bert', causal: false, reserved: 'padding' };
const t5: Family = {
  kind: 't5',
  assumes: { relative_attention_num_buckets: 32, relative_attention_max_distance: 128 },
};
const qwen: Family = { kind: 'rope', windowOff: true };
const qwen3: Family = { ...qwen, norms: 'weights' };
const qwenNext: Family = {
  ...qwen,
  norms: 'weights less 1',
  assumes: { partial_rotary_factor: 0.25 },
};
const learned: Family = { kind: 'learned' };
const cohere: Family = { ...turned };

export const families: Readonly<Record<string, Family>> = {
  llama: rope,
  mistral: { ...rope, assumes: { sliding_window: 4096 } },
  mixtral: rope,
  ministral3: rope,
  mistral3: rope,
  phi: { ...rope, assumes: { partial_rotary_factor: 0.5 } },
  phi3: rope,
  phimoe: rope,
  phi4mm: rope,
  qwen2: qwen,
  qwen2_moe: qwen,
  qwen3,
  qwen3_moe: qwen3,
  qwen3_next: qwenNext,
  qwen3_5: qwenNext,
  qwen3_5_text: qwenNext,
  qwen2_vl: qwen,
  qwen2_vl_text: qwen,
  qwen2_5_vl: qwen,
  qwen2_5_vl_text: qwen,
  qwen3_vl: qwen3,
  qwen3_vl_text: qwen3,
  qwen3_vl_moe: qwen3,
  qwen: { kind: 'rope', assumes: { rotary_pct: 1 } },
  gemma: { ...rope, assumes: { head_dim: 256 } },
  gemma2: {
    ...rope,
    fullEvery: 2,
    assumes: {
      head_dim: 256,
      sliding_window: 4096,
      attn_logit_softcapping: 50,
      query_pre_attn_scalar: 256,
    },
  },
  gemma3,
  gemma3_text: gemma3,
  gemma4,
  gemma4_text: gemma4,
  olmo: rope,
  olmo2: rope,
  olmoe: rope,
  olmo3: { ...rope, fullEvery: 4, scaled: 'full', assumes: { sliding_window: 4096 } },
  gpt_oss: {
    ...rope,
    fullEvery: 2,
    sinks: true,
    assumes: { rope_theta: 150000, head_dim: 64, sliding_window: 128 },
  },
  smollm3: { ...rope, unrotated: 'listed', assumes: { no_rope_layer_interval: 4 } },
  stablelm: { ...rope, assumes: { partial_rotary_factor: 0.25 } },
  persimmon: { ...rope, assumes: { partial_rotary_factor: 0.5 } },
  nemotron: { ...rope, assumes: { partial_rotary_factor: 0.5 } },
  starcoder2: rope,
  granite: rope,
  granitemoe: rope,
  granitemoehybrid: rope,
  internlm2: rope,
  internlm: rope,
  exaone: rope,
  exaone4: { ...rope, unrotated: 'full' },
  hunyuan: rope,
  hunyuan_v1_dense: rope,
  hunyuan_v1_moe: rope,
  minicpm: rope,
  minicpm3: rope,
  seed_oss: rope,
  apertus: rope,
  arcee: rope,
  bitnet: rope,
  dbrx: rope,
  telechat3: rope,
  gpt_neox: { ...rope, assumes: { rotary_pct: 0.25 } },
  gpt_neox_japanese: rope,
  gptj: { ...turned, assumes: { rotary_dim: 64 } },
  codegen: { ...turned, assumes: { rotary_dim: 64 } },
  roformer: { ...turned, causal: false },
  cohere,
  cohere2: { ...cohere, fullEvery: 4, unrotated: 'full', assumes: { sliding_window: 4096 } },
  ernie4_5: turned,
  ernie4_5_moe: turned,
  glm,
  glm4: glm,
  glm4_moe: { ...rope, assumes: { partial_rotary_factor: 0.5 } },
  chatglm: glm,
  deepseek: rope,
  deepseek_v2: mla,
  deepseek_v3: mla,
  deepseek_v32: mla,
  kimi_k2: mla,
  glm4_moe_lite: mla,
  llama4,
  llama4_text: llama4,
  modernbert: {
    ...rope,
    causal: false,
    fullEvery: 3,
    fullFirst: true,
    assumes: {
      global_rope_theta: 160000,
      local_rope_theta: 10000,
      local_attention: 128,
      global_attn_every_n_layers: 3,
    },
  },
  nomic_bert: { ...rope, causal: false },
  falcon: rope,
  RefinedWeb: rope,
  RefinedWebModel: rope,
  bloom: { kind: 'alibi' },
  mpt: { kind: 'alibi' },
  baichuan: { kind: 'alibi' },
  jais: { kind: 'alibi' },
  refact: { kind: 'alibi' },
  gpt_refact: { kind: 'alibi' },
  t5,
  mt5: t5,
  umt5: t5,
  longt5: t5,
  bert,
  albert: bert,
  electra: bert,
  ernie: bert,
  distilbert: bert,
  roberta: padded,
  'xlm-roberta': padded,
  'xlm-roberta-xl': padded,
  camembert: padded,
  longformer: padded,
  mpnet: padded,
  esm: padded,
  data2vec: padded,
  gpt2: learned,
  gpt_bigcode: learned,
  gpt_neo: { kind: 'learned', assumes: { unscaled_scores: true } },
  'openai-gpt': learned,
  opt: { kind: 'learned', reserved: 2 },
  biogpt: { kind: 'learned', reserved: 2 },
  bart: { kind: 'learned', reserved: 2, stacks: true },
  mbart: { kind: 'learned', reserved: 2, stacks: true },
  marian: { kind: 'sinusoidal', stacks: true },
  pegasus: { kind: 'sinusoidal', stacks: true },
  xglm: { kind: 'sinusoidal', reserved: 'padding', assumes: { frequencies: 't2t' } },
  m2m_100: {
    kind: 'sinusoidal',
    stacks: true,
    reserved: 'padding',
    assumes: { frequencies: 't2t' },
  },
  whisper: { kind: 'speech' },
  deberta: { kind: 'deberta', causal: false },
  'deberta-v2': { kind: 'deberta', causal: false },
  'transfo-xl': { kind: 'transformer-xl' },
  xlnet: { kind: 'transformer-xl' },
  swin: { kind: 'swin', causal: false },
  swinv2: { kind: 'swin', causal: false },
  jamba: { kind: 'none' },
  mamba: { kind: 'none' },
  mamba2: { kind: 'none' },
};

/** The family of a model type; nothing is known of one that is not listed. */
export function familyOf(modelType: string): Family | undefined {
  return Object.hasOwn(families, modelType) ? families[modelType] : undefined;
}

// SPDX-License-Identifier: Apache-2.0
/**
 * The architectures of GGUF files. The files have no key for the pairing of channels: it follows from
 * the architecture, and differs from that of the original weights, which the converter permutes.
 */

import type { Family } from './families.js';

const interleaved = [
  'llama',
  'llama4',
  'deci',
  'baichuan',
  'starcoder',
  'plamo',
  'orion',
  'internlm2',
  'minicpm',
  'xverse',
  'command-r',
  'cohere2',
  'olmo',
  'arctic',
  'deepseek',
  'deepseek2',
  'chatglm',
  'glm4',
  'granite',
  'granitemoe',
  'chameleon',
  'bailingmoe',
  'smollm3',
  'arcee',
  'ernie4_5',
  'ernie4_5-moe',
  'mistral3',
  'mistral4',
];

const half = [
  'falcon',
  'grok',
  'dbrx',
  'nomic-bert',
  'modern-bert',
  'stablelm',
  'bitnet',
  'qwen',
  'qwen2',
  'qwen2moe',
  'qwen2vl',
  'qwen3',
  'qwen3moe',
  'qwen3vl',
  'qwen3vlmoe',
  'olmo2',
  'olmoe',
  'phi2',
  'phi3',
  'phimoe',
  'gemma',
  'gemma2',
  'gemma3',
  'gemma4',
  'starcoder2',
  'openelm',
  'gptneox',
  'codeshell',
  'nemotron',
  'exaone',
  'exaone4',
  'minicpm3',
  'gpt-oss',
  'hunyuan-dense',
  'hunyuan-moe',
];

const special: Readonly<Record<string, Omit<Family, 'kind' | 'layout'>>> = {
  gemma2: { fullEvery: 2 },
  gemma3: { fullEvery: 6 },
  gemma4: { fullEvery: 6 },
  'gpt-oss': { fullEvery: 2, sinks: true },
  cohere2: { fullEvery: 4, unrotated: 'full' },
  exaone4: { unrotated: 'full' },
  olmo2: { fullEvery: 4, scaled: 'full' },
  smollm3: { unrotated: 'listed', assumes: { no_rope_layer_interval: 4 } },
  llama4: {
    unrotated: 'listed',
    assumes: { no_rope_layer_interval: 4, attention_chunk_size: 8192 },
  },
  'nomic-bert': { causal: false },
  'modern-bert': { causal: false, fullEvery: 3, fullFirst: true },
};

const others: Readonly<Record<string, Family>> = {
  bert: { kind: 'bert', causal: false },
  gpt2: { kind: 'learned' },
  bloom: { kind: 'alibi', assumes: { alibi_bias_max: 8 } },
  refact: { kind: 'alibi', assumes: { alibi_bias_max: 8 } },
  mpt: { kind: 'alibi', assumes: { alibi: true } },
  jais: { kind: 'alibi' },
  'jina-bert-v2': { kind: 'alibi', causal: false },
  t5: { kind: 't5', assumes: { relative_attention_max_distance: 128 } },
  t5encoder: { kind: 't5', assumes: { relative_attention_max_distance: 128 } },
  mamba: { kind: 'none' },
  mamba2: { kind: 'none' },
  rwkv6: { kind: 'none' },
  rwkv7: { kind: 'none' },
};

export function architecture(name: string): Family | undefined {
  if (Object.hasOwn(others, name)) return others[name];
  const more = Object.hasOwn(special, name) ? special[name] : {};
  if (interleaved.includes(name)) return { kind: 'rope', layout: 'interleaved', ...more };
  return half.includes(name) ? { kind: 'rope', ...more } : undefined;
}

/** Sections of three axes in turns; in runs elsewhere. */
export const sectionsInTurns = (name: string) => /^qwen3(vl|vlmoe|5|5moe)$/.test(name);
export const knownArchitectures: readonly string[] = [
  ...interleaved,
  ...half,
  ...Object.keys(others),
];

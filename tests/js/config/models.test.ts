// SPDX-License-Identifier: Apache-2.0
/** Each published configuration gives the encoding its model was trained with. */

import { fromConfig } from 'posenc';
import { describe, expect, it } from 'vitest';
import { fixture, fixtures } from './fixtures.ts';

interface Expected {
  id: string;
  options: Record<string, unknown>;
  trained?: number;
  layer?: number;
  type?: string;
  attention?: Record<string, unknown>;
  needs?: readonly string[];
}

const rope = (base: number, headDim = 128, more: Record<string, unknown> = {}) => ({
  id: 'rope',
  options: { headDim, rotaryDim: headDim, base, layout: 'half', ...more },
});
const alibi = (heads: number, biasMax = 8) => ({
  id: 'alibi',
  options: { heads, biasMax, form: 'relative' },
});
const yarn = (factor: number, originalLength: number, more: Record<string, unknown> = {}) => ({
  factor,
  originalLength,
  betaFast: 32,
  betaSlow: 1,
  truncate: true,
  ...more,
});
const llama3 = (factor: number, highFreqFactor = 4) => ({
  factor,
  lowFreqFactor: 1,
  highFreqFactor,
  originalLength: 8192,
});
const scaled = (id: string, base: string | Expected, more: Record<string, unknown>) => ({
  id,
  options: { ...(base as Expected).options, ...more },
});

/** As written in the file; no approximation of a square root. */
const v2Scale = 707 / 1000;

const expected: Record<string, Expected | Expected[]> = {
  'llama-2-7b': { ...rope(10000), trained: 4096, attention: { causal: true } },
  'code-llama-7b': { ...rope(1e6), trained: 16384 },
  'llama-3.1-8b': { ...scaled('rope-llama3', rope(5e5), llama3(8)), trained: 131072 },
  'llama-3.2-1b': { ...scaled('rope-llama3', rope(5e5, 64), llama3(32)), trained: 131072 },
  'llama-4-scout': [
    {
      ...scaled('rope-llama3', rope(5e5, 128, { layout: 'interleaved' }), llama3(16, 1)),
      trained: 10485760,
      attention: { causal: true, chunk: 8192 },
      needs: [],
    },
    {
      id: 'none',
      options: {},
      layer: 3,
      needs: [],
      attention: { causal: true, queryScale: { kind: 'llama4', factor: 0.1, length: 8192 } },
    },
    {
      ...scaled('rope-llama3', rope(5e5, 128, { layout: 'interleaved' }), llama3(16, 1)),
      layer: 4,
    },
  ],
  'qwen2.5-7b': { ...rope(1e6), trained: 32768, attention: { causal: true } },
  'qwen2.5-7b-yarn': scaled('rope-yarn', rope(1e6), yarn(4, 32768)),
  'qwen2-vl-7b': scaled('mrope', rope(1e6), { sections: [16, 24, 24], interleaved: false }),
  'qwen3-vl-8b': {
    ...scaled('mrope', rope(5e6), { sections: [24, 20, 20], interleaved: true }),
    trained: 262144,
  },
  'qwen3.5': scaled('mrope', rope(1e7, 256, { rotaryDim: 64 }), {
    sections: [11, 11, 10],
    interleaved: true,
  }),
  'phi-3.5-mini': {
    id: 'rope-longrope',
    options: { headDim: 96, rotaryDim: 96, factor: 32, originalLength: 4096 },
  },
  'phi-4-mini': {
    id: 'rope-longrope',
    options: { headDim: 128, rotaryDim: 96, factor: 32, originalLength: 4096 },
  },
  'deepseek-v3': {
    ...scaled(
      'rope-yarn',
      rope(10000, 64, { layout: 'interleaved' }),
      yarn(40, 4096, { mscale: 1, mscaleAllDim: 1, scaleLogits: true }),
    ),
    trained: 163840,
    attention: { causal: true, scale: 1 / Math.sqrt(192) },
    needs: ['logitScale'],
  },
  'deepseek-v2-lite': scaled(
    'rope-yarn',
    rope(10000, 64, { layout: 'interleaved' }),
    yarn(40, 4096, { mscale: v2Scale, mscaleAllDim: v2Scale, scaleLogits: true }),
  ),
  'gpt-oss-20b': [
    {
      ...scaled('rope-yarn', rope(150000, 64), yarn(32, 4096, { truncate: false })),
      attention: { causal: true, window: { left: 127, right: 0 } },
      needs: ['sinks'],
    },
    {
      ...scaled('rope-yarn', rope(150000, 64), yarn(32, 4096, { truncate: false })),
      layer: 1,
      attention: { causal: true },
      needs: ['sinks'],
    },
  ],
  'gemma-3-4b': [
    {
      ...rope(10000, 256),
      attention: { causal: true, scale: 1 / 16, window: { left: 1023, right: 0 } },
    },
    {
      ...scaled('rope-linear', rope(1e6, 256), { factor: 8 }),
      layer: 5,
      attention: { causal: true, scale: 1 / 16 },
    },
    { ...rope(10000, 256), layer: 6 },
    { ...scaled('rope-linear', rope(1e6, 256), { factor: 8 }), type: 'full_attention' },
  ],
  'gemma-3-1b': [
    {
      ...rope(10000, 256),
      attention: { causal: true, scale: 1 / 16, window: { left: 511, right: 0 } },
    },
    { ...rope(1e6, 256), layer: 11 },
  ],
  'gemma-4': [
    rope(10000, 256),
    {
      id: 'rope-proportional',
      options: { headDim: 512, base: 1e6, layout: 'half', fraction: 0.25, factor: 1 },
      layer: 5,
    },
  ],
  'mistral-7b-v0.1': {
    ...rope(10000),
    attention: { causal: true, window: { left: 4095, right: 0 } },
  },
  'ministral-3': {
    ...scaled('rope-yarn', rope(1e6), yarn(16, 16384, { mscale: 1, mscaleAllDim: 1 })),
    trained: 262144,
    needs: [],
    attention: {
      causal: true,
      queryScale: { kind: 'ministral', factor: 0.1, length: 16384 },
    },
  },
  'falcon-7b': { ...rope(10000, 64), trained: 2048 },
  'falcon-rw-1b': {
    id: 'alibi',
    options: { heads: 32, biasMax: 8, form: 'relative', slopeScale: 1 / 8, rounding: 'bf16' },
  },
  'bloom-560m': { ...alibi(16), trained: 2048 },
  'bloom-176b': alibi(112),
  'mpt-7b': { ...alibi(32), trained: 2048 },
  'mpt-7b-storywriter': { ...alibi(32, 16), trained: 65536 },
  'baichuan-13b': { ...alibi(40), trained: 4096 },
  't5-base': [
    {
      id: 't5',
      options: { heads: 12, bidirectional: true, buckets: 32, maxDistance: 128 },
      attention: {},
    },
    {
      id: 't5',
      options: { heads: 12, bidirectional: false, buckets: 32, maxDistance: 128 },
      type: 'decoder',
      attention: { causal: true },
    },
    // H10: no bias across.
    { id: 'none', options: {}, type: 'cross_attention', attention: {} },
  ],
  'bert-base': { id: 'learned', options: { offset: 0 }, trained: 512, attention: {} },
  'roberta-base': { id: 'learned', options: { offset: 2 }, trained: 512, attention: {} },
  'opt-1.3b': { id: 'learned', options: { offset: 2 }, trained: 2048, attention: { causal: true } },
  gpt2: { id: 'learned', options: { offset: 0 }, trained: 1024 },
  'gpt-neox-20b': rope(10000, 96, { rotaryDim: 24 }),
  'gpt-j-6b': rope(10000, 256, { rotaryDim: 64, layout: 'interleaved' }),
  'phi-2': rope(10000, 80, { rotaryDim: 32 }),
  'glm-4-9b': { ...rope(5e6, 128, { rotaryDim: 64, layout: 'interleaved' }), trained: 131072 },
  'deepseek-coder-6.7b': scaled('rope-linear', rope(1e5), { factor: 4 }),
  'internlm2-chat-7b': scaled('rope-dynamic-ntk', rope(1e6), {
    factor: 2,
    originalLength: 32768,
    variant: 'hf',
  }),
  'olmo-3-7b': [
    { ...rope(5e5), attention: { causal: true, window: { left: 4095, right: 0 } } },
    {
      ...scaled('rope-yarn', rope(5e5), yarn(8, 8192, { attentionFactor: 1.2079441541679836 })),
      layer: 3,
      attention: { causal: true },
    },
  ],
  'smollm3-3b': [rope(5e6), { id: 'none', options: {}, layer: 3 }, { ...rope(5e6), layer: 4 }],
  'deberta-v3-base': {
    id: 'deberta',
    options: { heads: 12, headDim: 64, buckets: 256, maxDistance: 512, terms: ['c2p', 'p2c'] },
    needs: ['projection', 'norm'],
  },
  'whisper-tiny': [
    {
      id: 'sinusoidal',
      options: { dim: 384, frequencies: 't2t', layout: 'half', start: 0 },
      attention: {},
      trained: 1500,
    },
    {
      id: 'learned',
      options: { offset: 0 },
      type: 'decoder',
      trained: 448,
      attention: { causal: true },
    },
  ],
};

it('has an expectation for every file', () => {
  expect(Object.keys(expected).sort()).toEqual([...fixtures.keys()].sort());
});

for (const [name, wanted] of Object.entries(expected))
  describe(name, () => {
    for (const one of [wanted].flat()) {
      const at = one.type ?? `layer ${one.layer ?? 0}`;
      it(`${at} is ${one.id}`, () => {
        const model = fromConfig(
          fixture(name),
          one.type === undefined ? {} : { layerType: one.type },
        );
        const { id, options }: { id: string; options: object } = model.encodingFor(one.layer ?? 0);
        expect(id).toBe(one.id);
        if (id === 'rope-longrope') expect(options).toMatchObject(one.options);
        else expect(options).toEqual(one.options);
        if (one.trained !== undefined) expect(model.trainedLength).toBe(one.trained);
        if (one.attention !== undefined)
          expect(model.attentionFor(one.layer ?? 0)).toEqual(one.attention);
        if (one.needs !== undefined)
          expect(model.kindOf(one.layer ?? 0).needs.map(({ what }) => what)).toEqual(one.needs);
      });
    }

    it('is the same from text, and again; and says where each number is from', () => {
      const config = fixture(name);
      const model = fromConfig(config);
      expect(JSON.stringify(fromConfig(JSON.stringify(config)))).toBe(JSON.stringify(model));
      expect(config, 'the argument stays as it was').toEqual(fixture(name));
      const named = new Set(model.parameters.map((one) => one.name));
      // Everything in the options has an entry: given, derived, or a default that is told.
      for (const option of Object.keys(model.encodingFor(0).options))
        if (option !== 'fraction') expect(named, option).toContain(option);
      for (const origin of Object.values(model.provenance))
        expect(['given', 'default', 'derived', 'ignored']).toContain(origin);
    });
  });

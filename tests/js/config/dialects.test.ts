// SPDX-License-Identifier: Apache-2.0
/** Spellings, dialects and families beyond the published files: field cases of other readers. */

import { fromConfig } from 'posenc';
import { describe, expect, it } from 'vitest';
import { fixture } from './fixtures.ts';

const heads = { hidden_size: 4096, num_attention_heads: 32 };
const llama = { model_type: 'llama', ...heads, max_position_embeddings: 4096 };
const options = (config: object, layer = 0) => fromConfig(config).encodingFor(layer).options;

describe('rotary keys', () => {
  it('C1, C2, C3: the base is read, from every place it is written at', () => {
    expect(options({ ...llama, rope_theta: 1e6 }).base).toBe(1e6);
    expect(options({ ...llama, rotary_emb_base: 5e5 }).base).toBe(5e5);
    expect(options({ ...llama, rope_parameters: { rope_theta: 5e5 } }).base).toBe(5e5);
    expect(fromConfig(llama).provenance.base).toBe('default');
  });

  it('C5, C7: both spellings of the type scale alike', () => {
    const dict = {
      factor: 8,
      low_freq_factor: 1,
      high_freq_factor: 4,
      original_max_position_embeddings: 8192,
    };
    const [a, b] = ['type', 'rope_type'].map((key) =>
      fromConfig({ ...llama, rope_scaling: { ...dict, [key]: 'llama3' } }).encodingFor(0),
    );
    expect(a).toEqual(b);
    expect(a.id).toBe('rope-llama3');
  });

  it('C9: NTK with alpha', () => {
    const { id, options } = fromConfig({
      model_type: 'hunyuan_v1_dense',
      head_dim: 128,
      rope_theta: 5e5,
      max_position_embeddings: 32768,
      rope_scaling: { type: 'dynamic', alpha: 2.6, factor: 1 },
    }).encodingFor(0);
    expect(id).toBe('rope-ntk');
    expect(options.factor).toBe(2.6);
  });

  it('C12: a given factor is not replaced by the ratio of lengths', () => {
    const scaling = { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 32768 };
    expect(
      options({ ...llama, max_position_embeddings: 40960, rope_scaling: scaling }).factor,
    ).toBe(4);
    const { factor: _, ...without } = scaling;
    const model = fromConfig({ ...llama, max_position_embeddings: 40960, rope_scaling: without });
    expect(model.encodingFor(0).options.factor).toBe(1.25);
    expect(model.provenance.factor).toBe('derived');
  });

  it('C13: the length of training and the longest are two numbers', () => {
    const scaling = { rope_type: 'yarn', factor: 2, original_max_position_embeddings: 4096 };
    for (const longest of [8192, 16384])
      expect(
        options({ ...llama, max_position_embeddings: longest, rope_scaling: scaling }),
      ).toMatchObject({ originalLength: 4096, factor: 2 });
  });

  it('E2, E3: partial rotation by any of its names, and by the family', () => {
    expect(options({ head_dim: 128, partial_rotary_factor: 0.5 }).rotaryDim).toBe(64);
    expect(options({ head_dim: 128, rotary_pct: 0.25 }).rotaryDim).toBe(32);
    expect(options({ head_dim: 128, rotary_dim: 48 }).rotaryDim).toBe(48);
    expect(options({ model_type: 'glm', head_dim: 128 }).rotaryDim).toBe(64);
  });

  it('su is longrope, deepseek_yarn is yarn', () => {
    const lists = { short_factor: [1, 1], long_factor: [2, 4] };
    const su = { ...lists, type: 'su' };
    const config = {
      head_dim: 4,
      max_position_embeddings: 16,
      original_max_position_embeddings: 8,
    };
    expect(fromConfig({ ...config, rope_scaling: su }).encodingFor(0)).toMatchObject({
      id: 'rope-longrope',
      options: { shortFactor: [1, 1], longFactor: [2, 4], factor: 2, originalLength: 8 },
    });
    const yarn = { rope_type: 'deepseek_yarn', factor: 2, original_max_position_embeddings: 8 };
    expect(
      fromConfig({ head_dim: 4, max_position_embeddings: 16, rope_scaling: yarn }).encodingFor(0)
        .id,
    ).toBe('rope-yarn');
  });

  it('a null entry of nested parameters does not rotate', () => {
    const model = fromConfig({
      head_dim: 64,
      layer_types: ['full_attention', 'sliding_attention'],
      sliding_window: 8,
      rope_parameters: { full_attention: null, sliding_attention: { rope_theta: 20000 } },
    });
    expect(model.encodingFor(0).id).toBe('none');
    expect(model.encodingFor(1).options.base).toBe(20000);
  });

  it('Qwen 1: flags for dynamic scaling and log-n', () => {
    const model = fromConfig({
      model_type: 'qwen',
      ...heads,
      kv_channels: 128,
      rotary_emb_base: 10000,
      seq_length: 2048,
      max_position_embeddings: 8192,
      use_dynamic_ntk: true,
      use_logn_attn: true,
    });
    expect(model.encodingFor(0)).toMatchObject({
      id: 'rope-dynamic-ntk',
      options: { originalLength: 2048, variant: 'qwen', rotaryDim: 128 },
    });
    expect(model.attention.queryScale).toEqual({ kind: 'logn', length: 2048 });
  });

  it('a window that is switched off is no window', () => {
    const qwen = { model_type: 'qwen2', ...heads, sliding_window: 4096, num_hidden_layers: 4 };
    expect(fromConfig({ ...qwen, use_sliding_window: false }).attention.window).toBeUndefined();
    expect(fromConfig(qwen).attention.window).toBeUndefined();
    const on = fromConfig({ ...qwen, use_sliding_window: true, max_window_layers: 2 });
    expect([0, 1, 2, 3].map((layer) => on.attentionFor(layer).window?.left)).toEqual([
      undefined,
      undefined,
      4095,
      4095,
    ]);
  });

  it('ModernBERT: two bases, and half of the window on each side', () => {
    const model = fromConfig({
      model_type: 'modernbert',
      hidden_size: 768,
      num_attention_heads: 12,
      num_hidden_layers: 22,
      global_rope_theta: 160000,
      local_rope_theta: 10000,
      local_attention: 128,
      global_attn_every_n_layers: 3,
    });
    expect(model.encodingFor(0).options.base).toBe(160000);
    expect(model.encodingFor(1).options.base).toBe(10000);
    expect(model.attentionFor(1)).toEqual({ window: { left: 64, right: 64 } });
    expect(model.encodingFor(3).options.base).toBe(160000);
  });

  it('Cohere 2 rotates only where there is a window', () => {
    const model = fromConfig({
      model_type: 'cohere2',
      ...heads,
      num_hidden_layers: 8,
      rope_theta: 50000,
    });
    expect(model.encodingFor(0)).toMatchObject({ id: 'rope', options: { layout: 'interleaved' } });
    expect(model.encodingFor(3).id).toBe('none');
  });

  it('layers without attention have no encoding', () => {
    const model = fromConfig({
      ...(fixture('qwen3.5').text_config as object),
      layer_types: ['linear_attention', 'linear_attention', 'linear_attention', 'full_attention'],
    });
    expect(model.encodingFor(0).id).toBe('none');
    expect(model.encodingFor(3).id).toBe('mrope');
  });
});

describe('other families', () => {
  it('RoBERTa with padding index 3 has 510 usable rows', () => {
    const model = fromConfig({ ...fixture('roberta-base'), pad_token_id: 3 });
    expect(model.trainedLength).toBe(510);
    expect(model.encodingFor(0).options.offset).toBe(4);
  });

  it('BERT with relative keys is Shaw, with the rows turned around', () => {
    const config = { ...fixture('bert-base'), position_embedding_type: 'relative_key' };
    const model = fromConfig(config);
    expect(model.encodingFor(0)).toMatchObject({
      id: 'shaw',
      options: { headDim: 64, maxDistance: 511 },
      needs: ['keyTable'],
      shapes: { keyTable: [1023, 64] },
    });
    expect(model.needs[0].what).toBe('order');
    const both = fromConfig({ ...config, position_embedding_type: 'relative_key_query' });
    expect(both.encodingFor(0).needs).toEqual(['keyTable', 'queryTable']);
  });

  it('the smaller Baichuan rotates, MPT without ALiBi has a table', () => {
    expect(fromConfig({ model_type: 'baichuan', ...heads }).encodingFor(0).id).toBe('rope');
    const mpt = { ...fixture('mpt-7b'), attn_config: { alibi: false } };
    expect(fromConfig(mpt).encodingFor(0).id).toBe('learned');
  });

  it('encoders with ALiBi look both ways', () => {
    const jina = { ...fixture('bert-base'), position_embedding_type: 'alibi' };
    expect(fromConfig(jina).encodingFor(0).options).toEqual({
      heads: 12,
      biasMax: 8,
      form: 'symmetric',
    });
  });

  it('DeBERTa without buckets, Transformer-XL, Swin, sinusoids', () => {
    const v1 = { ...fixture('deberta-v3-base'), model_type: 'deberta', position_buckets: -1 };
    expect(fromConfig(v1).encodingFor(0).options).not.toHaveProperty('buckets');
    const xl = { model_type: 'transfo-xl', d_model: 1024, n_head: 16, d_head: 64, clamp_len: 1000 };
    expect(fromConfig(xl).encodingFor(0)).toMatchObject({
      id: 'transformer-xl',
      options: { heads: 16, headDim: 64, clamp: 1000 },
      needs: ['u', 'v', 'relative'],
    });
    const swin = fromConfig({
      model_type: 'swin',
      num_heads: [3, 6, 12, 24],
      depths: [2, 2, 6, 2],
      window_size: 7,
      embed_dim: 96,
    });
    expect(swin.encodingFor(4)).toMatchObject({
      id: 'swin',
      options: { heads: 12, window: [7, 7] },
      shapes: { table: [169, 12] },
    });
    expect(swin.layers).toBe(12);
    const marian = fromConfig({ model_type: 'marian', d_model: 512, max_position_embeddings: 512 });
    expect(marian.encodingFor(0).options).toEqual({
      dim: 512,
      frequencies: 'paper',
      layout: 'half',
      start: 0,
    });
    const m2m = fromConfig({ model_type: 'm2m_100', d_model: 1024, pad_token_id: 1 });
    expect(m2m.encodingFor(0).options).toMatchObject({ frequencies: 't2t', start: 2 });
  });

  it('encoders, decoders, and what is between them', () => {
    const config = { d_model: 768, encoder_attention_heads: 12, max_position_embeddings: 1024 };
    for (const [model_type, id] of [
      ['bart', 'learned'],
      ['pegasus', 'sinusoidal'],
    ]) {
      const { kinds } = fromConfig({ model_type, ...config });
      expect(
        [...kinds].map(([type, { encoding, attention }]) => [type, encoding.id, attention.causal]),
      ).toEqual([
        ['encoder', id, undefined],
        ['decoder', id, true],
        ['cross_attention', 'none', undefined],
      ]);
    }
    const xglm = fromConfig({ model_type: 'xglm', ...config, pad_token_id: 1 });
    expect([...xglm.kinds.keys()]).toEqual(['full_attention']);
    expect(xglm.attention).toEqual({ causal: true });
    const distil = { model_type: 'distilbert', dim: 768, n_heads: 12, sinusoidal_pos_embds: true };
    expect(fromConfig(distil).encodingFor(0).options).toMatchObject({ layout: 'interleaved' });
  });

  it('Gemma 2 caps its scores, GPT-Neo does not scale them and has local layers', () => {
    const gemma = fromConfig({
      model_type: 'gemma2',
      ...heads,
      attn_logit_softcapping: 50,
      query_pre_attn_scalar: 144,
    });
    expect(gemma.attention).toEqual({
      causal: true,
      scale: 1 / 12,
      softcap: 50,
      window: { left: 4095, right: 0 },
    });
    const silent = fromConfig({ model_type: 'gemma2', ...heads });
    expect(silent.attention).toEqual({
      causal: true,
      scale: 1 / 16,
      softcap: 50,
      window: { left: 4095, right: 0 },
    });
    expect(silent.provenance).toMatchObject({
      scale: 'default',
      softcap: 'default',
      window: 'default',
    });
    const off = { model_type: 'gemma2', ...heads, attn_logit_softcapping: null };
    expect(fromConfig(off).attention).not.toHaveProperty('softcap');
    const neo = fromConfig({
      model_type: 'gpt_neo',
      hidden_size: 2048,
      max_position_embeddings: 2048,
      window_size: 256,
      attention_types: [[['global', 'local'], 12]],
    });
    expect(neo.attention.scale).toBe(1);
    expect(neo.needs).toMatchObject([{ what: 'window', value: 256 }]);
  });

  it('Mistral has a window unless it says otherwise, and null says so', () => {
    const silent = fromConfig({ model_type: 'mistral', ...heads });
    expect(silent.attention.window).toEqual({ left: 4095, right: 0 });
    expect(silent.provenance.window).toBe('default');
    const off = fromConfig({ model_type: 'mistral', ...heads, sliding_window: null });
    expect(off.attention).not.toHaveProperty('window');
    const given = fromConfig({ model_type: 'mistral', ...heads, sliding_window: 1024 });
    expect(given.provenance.window).toBe('given');
  });

  it('models without positions', () => {
    expect(fromConfig({ model_type: 'mamba', hidden_size: 8 }).encodingFor(0).id).toBe('none');
    const nope = { ...llama, model_type: 'granitemoehybrid', position_embedding_type: 'nope' };
    expect(fromConfig(nope).encodingFor(0).id).toBe('none');
  });
});

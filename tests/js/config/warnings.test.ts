// SPDX-License-Identifier: Apache-2.0
/** Each rule by the smallest configuration that breaks it, and by one that does not. */

import { fromConfig } from 'posenc';
import { describe, expect, it } from 'vitest';
import { base, codes, llama3, only, refused, scaling, warnings, yarn } from './rules.ts';

it('a plain model of today has no warnings, at most notes', () => {
  expect(codes({ ...base, rope_theta: 1e4 })).toEqual(['W14']);
  expect(warnings(scaling(yarn)).every(({ severity }) => severity === 'note')).toBe(true);
});

describe('rules', () => {
  it('W01: attn_factor is read by no one as attention_factor (D9)', () => {
    const config = scaling({ ...yarn, attn_factor: 0.8782488562869419 });
    expect(only('W01', config)).toMatchObject({
      path: 'rope_scaling.attn_factor',
      seen: 0.8782488562869419,
      severity: 'warning',
    });
    const model = fromConfig(config);
    expect(model.encodingFor(0).options).not.toHaveProperty('attentionFactor');
    expect(model.provenance['rope_scaling.attn_factor']).toBe('ignored');
    const { attentionFactor } = fromConfig(scaling({ ...yarn, attention_factor: 1 })).encodingFor(
      0,
    ).options;
    expect(attentionFactor, 'D8: an explicit one wins').toBe(1);
  });

  it('W02: the legacy key, or both', () => {
    expect(only('W02', scaling({ type: 'linear', factor: 2 }))).toMatchObject({ severity: 'note' });
    only('W02', scaling({ type: 'linear', rope_type: 'linear', factor: 2 }));
    expect(codes(scaling({ rope_type: 'linear', factor: 2 }))).not.toContain('W02');
    refused(
      scaling({ type: 'linear', rope_type: 'dynamic', factor: 2 }),
      'CONFLICT',
      'rope_scaling.rope_type',
      'W02',
    );
    const lenient = fromConfig(scaling({ type: 'linear', rope_type: 'dynamic', factor: 2 }), {
      lenient: true,
    });
    expect(lenient.encodingFor(0).id).toBe('rope-dynamic-ntk');
    expect(
      lenient.warnings.some(({ code, severity }) => code === 'W02' && severity === 'warning'),
    ).toBe(true);
  });

  it('W02: both dictionaries', () => {
    const both = { ...base, rope_parameters: { ...yarn, rope_theta: 10000 }, rope_scaling: yarn };
    expect(fromConfig(both).encodingFor(0).id).toBe('rope-yarn');
    const apart = { ...both, rope_scaling: { ...yarn, factor: 2 } };
    const error = refused(apart, 'CONFLICT', 'rope_parameters.factor', 'W02');
    expect(error.details).toMatchObject({ other: 'rope_scaling.factor', values: ['4', '2'] });
  });

  it('W20: parameters of a scaling that is not named', () => {
    expect(only('W20', scaling({ factor: 4 }))).toMatchObject({
      path: 'rope_scaling.rope_type',
      severity: 'warning',
      used: 'default',
    });
    const model = fromConfig(scaling({ factor: 4 }));
    expect(model.encodingFor(0).id).toBe('rope');
    expect(model.provenance['rope_scaling.factor']).toBe('ignored');
    expect(model.provenance.method).toBe('default');
    const plain = [{ rope_theta: 1e4 }, { rope_type: 'linear', factor: 4 }, {}, null];
    for (const dict of plain) expect(codes(scaling(dict))).not.toContain('W20');
  });

  it('W03: the base is only inside the dictionary, or the root has another', () => {
    expect(only('W03', { ...base, rope_parameters: { rope_theta: 1e6 } })).toMatchObject({
      path: 'rope_parameters.rope_theta',
      seen: 1e6,
      used: 1e6,
      severity: 'note',
    });
    const other = { ...base, rope_theta: 20000, rope_parameters: { rope_theta: 1e6 } };
    expect(only('W03', other).severity).toBe('warning');
    expect(fromConfig(other).encodingFor(0).options.base).toBe(1e6);
    expect(codes({ ...base, rope_theta: 1e6, rope_parameters: { rope_theta: 1e6 } })).not.toContain(
      'W03',
    );
  });

  it('W04: a dictionary that is none', () => {
    for (const wrong of [1, 'linear', [2], true]) {
      refused(scaling(wrong), 'WRONG_TYPE', 'rope_scaling', 'W04');
      only('W04', scaling(wrong), { lenient: true });
    }
    expect(codes(scaling(null))).not.toContain('W04');
  });

  it('W05: mrope as a type', () => {
    expect(only('W05', scaling({ type: 'mrope', mrope_section: [8, 12, 12] })).severity).toBe(
      'note',
    );
    expect(codes(scaling({ rope_type: 'default', mrope_section: [8, 12, 12] }))).not.toContain(
      'W05',
    );
    refused(scaling({ type: 'mrope' }), 'MISSING_KEY', 'rope_scaling.mrope_section');
    // E4: sections of a partial rotation have to fit the part.
    refused(
      scaling({ rope_type: 'default', mrope_section: [2, 1, 1] }),
      'INCONSISTENT',
      'rope_scaling.mrope_section',
    );
    // Sections with a scaling are right for text alone, and that is said.
    const both = scaling({ ...yarn, mrope_section: [8, 12, 12] });
    expect(only('W05', both).severity).toBe('warning');
    expect(fromConfig(both).encodingFor(0).id).toBe('rope-yarn');
  });

  it('W06: nested parameters, and a type of layer without any', () => {
    const nested = {
      ...base,
      sliding_window: 8,
      layer_types: ['full_attention', 'sliding_attention'],
      rope_parameters: { full_attention: { rope_theta: 1e6 } },
    };
    const found = warnings(nested).filter(({ code }) => code === 'W06');
    expect(found.map(({ path, severity }) => [path, severity])).toEqual([
      ['rope_parameters', 'note'],
      ['rope_parameters.sliding_attention', 'warning'],
    ]);
    expect(fromConfig(nested).encodingFor(1)).toMatchObject({
      id: 'rope',
      options: { base: 10000 },
    });
  });

  it('W07: no original length', () => {
    const { original_max_position_embeddings: _, ...without } = yarn;
    expect(only('W07', scaling(without))).toMatchObject({ used: 4096, severity: 'warning' });
    expect(fromConfig(scaling(without)).provenance.originalLength).toBe('derived');
    expect(codes(scaling(without, { original_max_position_embeddings: 1024 }))).not.toContain(
      'W07',
    );
  });

  it('W08: factor and lengths do not fit together', () => {
    expect(only('W08', scaling({ ...yarn, factor: 3 }))).toMatchObject({
      severity: 'warning',
      seen: 3,
    });
    expect(codes(scaling(yarn))).not.toContain('W08');
  });

  it('W09: factors up to 1', () => {
    only('W09', scaling({ rope_type: 'linear', factor: 1 }));
    only('W09', scaling({ rope_type: 'linear', factor: 0.5 }));
    for (const factor of [0, -2])
      refused(scaling({ rope_type: 'linear', factor }), 'OUT_OF_RANGE', 'rope_scaling.factor');
    expect(codes(scaling({ rope_type: 'linear', factor: 8 }))).not.toContain('W09');
  });

  it('W10: lists of the wrong length, or out of order', () => {
    const lists = (n: number, long = 2) => ({
      rope_type: 'longrope',
      short_factor: Array(n).fill(1),
      long_factor: Array.from({ length: n }, (_, i) => (i === 1 ? 1 : long)),
      original_max_position_embeddings: 1024,
    });
    refused(scaling(lists(31)), 'INCONSISTENT', 'rope_scaling.short_factor', 'W10');
    expect(only('W10', scaling(lists(32))).severity).toBe('note');
    expect(codes(scaling(lists(32, 1)))).not.toContain('W10');
  });

  it('W11: widths', () => {
    only('W11', { ...base, hidden_size: 512, num_attention_heads: 4 });
    expect(codes({ ...base, hidden_size: 256, num_attention_heads: 4 })).not.toContain('W11');
    refused(
      { ...base, partial_rotary_factor: 0.25, head_dim: 12 },
      'INCONSISTENT',
      'partial_rotary_factor',
      'W11',
    );
    refused({ ...base, rotary_dim: 128 }, 'INCONSISTENT', 'rotary_dim', 'W11');
    refused({ ...base, head_dim: 63 }, 'INCONSISTENT', 'head_dim', 'W11');
    refused(
      { model_type: 'llama', hidden_size: 100, num_attention_heads: 3 },
      'INCONSISTENT',
      'hidden_size',
      'W11',
    );
  });

  it('W12: an unknown key, with the one that was meant', () => {
    expect(only('W12', scaling({ ...yarn, beta_fats: 16 })).message).toContain('beta_fast');
    expect(only('W12', scaling({ ...yarn, finetuned: true })).message).not.toContain('is it');
    expect(only('W12', { ...base, rope_tetha: 1e6 }).message).toContain('rope_theta');
    expect(codes({ ...base, rope_theta: 1e6, vocab_size: 7, torch_dtype: 'x' })).not.toContain(
      'W12',
    );
    expect(
      fromConfig(scaling({ ...yarn, beta_fats: 16 })).provenance['rope_scaling.beta_fats'],
    ).toBe('ignored');
    // C10: two scalings at once.
    only('W12', scaling({ rope_type: 'linear', factor: 4, alpha: 4 }));
  });

  it('W13: frequencies that change with the length', () => {
    only('W13', scaling({ rope_type: 'dynamic', factor: 2 }));
    expect(codes(scaling(llama3))).not.toContain('W13');
  });

  it('W14: pairs without a whole turn', () => {
    expect(only('W14', base)).toMatchObject({ seen: 9, used: 32, severity: 'note' });
    expect(codes({ ...base, max_position_embeddings: 1e6 })).not.toContain('W14');
  });

  it('W15: lengths at which float32 is not enough', () => {
    expect(codes(base)).not.toContain('W15');
    expect(codes(base, { length: 4096 })).not.toContain('W15');
    expect(only('W15', base, { length: 131072 }).message).toContain('7.8e-3');
    expect(only('W15', base, { length: 2 ** 25 }).message).toContain('16777216');
  });

  it('beyond the first set: strings, small bases, unknown models', () => {
    only('W16', { ...base, rope_theta: '10000' }, { lenient: true });
    only('W17', { ...base, rope_theta: 1000 }); // C11
    only('W18', { ...base, model_type: 'novelty' });
  });
});

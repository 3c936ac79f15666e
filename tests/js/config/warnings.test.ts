// SPDX-License-Identifier: Apache-2.0
/** Each rule by the smallest configuration that breaks it, and by one that does not. */

import { type ConfigOptions, fromConfig, type PosencErrorCode } from 'posenc';
import { describe, expect, it } from 'vitest';
import { caught } from '../support/failure.ts';

const base = { model_type: 'llama', head_dim: 64, max_position_embeddings: 4096 };
const yarn = { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 1024 };
const llama3 = {
  rope_type: 'llama3',
  factor: 8,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 512,
};
const scaling = (rope_scaling: unknown, more: object = {}) => ({ ...base, ...more, rope_scaling });

function warnings(config: object, options?: ConfigOptions) {
  return fromConfig(config, options).warnings;
}
function only(code: string, config: object, options?: ConfigOptions) {
  const found = warnings(config, options).filter((one) => one.code === code);
  expect(found.length, `${code} in ${JSON.stringify(warnings(config, options))}`).toBeGreaterThan(
    0,
  );
  return found[0];
}
const codes = (config: object, options?: ConfigOptions) =>
  warnings(config, options).map(({ code }) => code);

function refused(config: object | string, code: PosencErrorCode, path: string, warning?: string) {
  const error = caught(() => fromConfig(config));
  expect([error.kind, error.code, error.details.path], error.message).toEqual([
    'config',
    code,
    path,
  ]);
  if (warning !== undefined) expect(error.details.warning).toBe(warning);
  expect(error.message).toContain('fromConfig');
  expect(error.message.length).toBeLessThanOrEqual(200);
  return error;
}

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
    only('W17', { ...base, rope_theta: 1000 });
    only('W18', { ...base, model_type: 'novelty' });
  });
});

describe('errors', () => {
  it('row 91: not a configuration', () => {
    for (const wrong of [null, [], 7, true, undefined, new Float32Array(1)])
      refused(wrong as never, 'NOT_A_CONFIG', 'config');
    for (const text of ['', 'llama', '[1]', '{"a":NaN}', '{', '3'])
      refused(text, 'NOT_A_CONFIG', 'config');
  });

  it('row 92: an unknown type', () => {
    const error = refused(
      scaling({ rope_type: 'yarm', factor: 2 }),
      'UNKNOWN_ROPE_TYPE',
      'rope_scaling.rope_type',
    );
    expect(error.message).toContain("'yarn'");
    expect(error.details.nearest).toBe('yarn');
  });

  it('row 93: a key without which the method is nothing', () => {
    const without = (dict: object, key: string) =>
      Object.fromEntries(Object.entries(dict).filter(([name]) => name !== key));
    for (const key of [
      'factor',
      'low_freq_factor',
      'high_freq_factor',
      'original_max_position_embeddings',
    ])
      refused(scaling(without(llama3, key)), 'MISSING_KEY', `rope_scaling.${key}`);
    refused(scaling({ rope_type: 'linear' }), 'MISSING_KEY', 'rope_scaling.factor');
    refused(scaling({ rope_type: 'dynamic' }), 'MISSING_KEY', 'rope_scaling.factor');
    refused(scaling({ rope_type: 'longrope' }), 'MISSING_KEY', 'rope_scaling.short_factor');
    refused(
      scaling({ rope_type: 'proportional' }),
      'MISSING_KEY',
      'rope_scaling.partial_rotary_factor',
    );
    refused({ model_type: 'llama' }, 'MISSING_KEY', 'hidden_size');
    refused({ model_type: 'llama', hidden_size: 8 }, 'MISSING_KEY', 'num_attention_heads');
    refused({}, 'MISSING_KEY', 'model_type');
    refused({ model_type: 'bert' }, 'MISSING_KEY', 'max_position_embeddings');
  });

  it('row 94: wrong types are not converted', () => {
    for (const factor of ['8.0', true, [8], {}])
      refused(scaling({ rope_type: 'linear', factor }), 'WRONG_TYPE', 'rope_scaling.factor');
    refused({ ...base, head_dim: '64' }, 'WRONG_TYPE', 'head_dim');
    refused({ ...base, model_type: 7 }, 'WRONG_TYPE', 'model_type');
    refused({ ...base, text_config: [] }, 'WRONG_TYPE', 'text_config');
    const lenient = fromConfig(scaling({ rope_type: 'linear', factor: '8.0' }), { lenient: true });
    expect(lenient.encodingFor(0).options.factor).toBe(8);
  });

  it('row 95: numbers out of range', () => {
    for (const factor of [Number.NaN, Infinity, -1])
      refused(scaling({ rope_type: 'linear', factor }), 'OUT_OF_RANGE', 'rope_scaling.factor');
    refused('{"head_dim": 1e400, "rope_theta": 1}', 'OUT_OF_RANGE', 'head_dim');
    refused({ ...base, head_dim: 0 }, 'OUT_OF_RANGE', 'head_dim');
    refused({ ...base, head_dim: 63.5 }, 'NOT_INTEGER', 'head_dim');
  });

  it('C6: a number is a number, however it is written', () => {
    expect(fromConfig(scaling({ ...yarn, factor: 4.0, beta_slow: 1 })).encodingFor(0).id).toBe(
      'rope-yarn',
    );
  });

  it('row 99: what contradicts itself, with both values', () => {
    const low = { ...llama3, low_freq_factor: 5 };
    expect(refused(scaling(low), 'INCONSISTENT', 'rope_scaling.low_freq_factor').message).toContain(
      '4',
    );
    const betas = { ...yarn, beta_fast: 1, beta_slow: 32 };
    refused(scaling(betas), 'INCONSISTENT', 'rope_scaling.beta_fast');
    refused(
      { ...base, num_hidden_layers: 3, layer_types: ['full_attention'] },
      'INCONSISTENT',
      'layer_types',
    );
  });

  it('layers and options', () => {
    const model = fromConfig({ ...base, num_hidden_layers: 4 });
    for (const layer of [-1, 4, 0.5, Number.NaN, '1'])
      expect(caught(() => model.encodingFor(layer as number))).toMatchObject({
        kind: 'config',
        code: 'INCONSISTENT',
        field: 'layer',
      });
    for (const [options, code] of [
      [{ layerType: 'sliding' }, 'INCONSISTENT'],
      [{ layer: 9 }, 'INCONSISTENT'],
      [{ layer: -1 }, 'WRONG_TYPE'],
      [{ length: 0 }, 'WRONG_TYPE'],
      [{ lenient: 1 }, 'WRONG_TYPE'],
      [{ layertype: 'x' }, 'UNKNOWN_OPTION'],
      [7, 'WRONG_TYPE'],
    ] as const)
      expect(
        caught(() => fromConfig({ ...base, num_hidden_layers: 4 }, options as never)),
      ).toMatchObject({
        kind: 'config',
        code,
      });
  });
});

// SPDX-License-Identifier: Apache-2.0
/** What is no configuration, or contradicts itself: rows 91 to 99 of the catalogue of bad inputs. */

import { fromConfig } from 'posenc';
import { describe, expect, it } from 'vitest';
import { caught } from '../support/failure.ts';
import { base, llama3, refused, scaling, yarn } from './rules.ts';

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

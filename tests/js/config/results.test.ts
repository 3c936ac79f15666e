// SPDX-License-Identifier: Apache-2.0
/** What all results have: they cannot be changed, and nothing in them is silent. */

import { fromConfig } from 'posenc';
import { describe, expect, it } from 'vitest';
import { fixture } from './fixtures.ts';

describe('what all models share', () => {
  it('nothing in a result can be changed from outside', () => {
    const model = fromConfig(fixture('phi-4-mini'));
    const { options } = model.encodingFor(0);
    expect(Object.isFrozen(options)).toBe(true);
    expect(Object.isFrozen(options.longFactor)).toBe(true);
    const attention = model.attentionFor(0) as { causal?: boolean };
    attention.causal = false;
    expect(model.attentionFor(0).causal).toBe(true);
  });

  it('table-based encodings say which tables they need, and how large', () => {
    const bert = fromConfig(fixture('bert-base')).encodingFor(0);
    expect(bert.needs).toEqual(['table']);
    expect(bert.shapes).toEqual({ table: [512, 768] });
    expect(fromConfig(fixture('opt-1.3b')).encodingFor(0).shapes).toEqual({ table: [2050, 2048] });
    expect(fromConfig(fixture('t5-base')).encodingFor(0).shapes).toEqual({ table: [32, 12] });
  });

  it('provenance tells given, default, derived and ignored apart', () => {
    const { provenance } = fromConfig(fixture('llama-2-7b'));
    expect(provenance).toMatchObject({
      base: 'default',
      headDim: 'derived',
      trainedLength: 'given',
    });
    expect(fromConfig(fixture('qwen2.5-7b')).provenance).toMatchObject({
      base: 'given',
      window: 'ignored',
    });
    const gemma = fromConfig(fixture('gemma-3-4b')).provenance;
    expect(gemma['full_attention.factor']).toBe('given');
    expect(gemma['sliding_attention.base']).toBe('given');
  });

  it('the keys of Gemma 3 that its files leave out come from the family', () => {
    const model = fromConfig({
      model_type: 'gemma3',
      text_config: {
        model_type: 'gemma3_text',
        hidden_size: 2560,
        num_hidden_layers: 34,
        rope_scaling: { factor: 8, rope_type: 'linear' },
        sliding_window: 1024,
      },
    });
    expect(model.encodingFor(0).options).toMatchObject({ headDim: 256, base: 10000 });
    expect(model.encodingFor(5)).toMatchObject({
      id: 'rope-linear',
      options: { base: 1e6, factor: 8 },
    });
    expect(model.provenance['full_attention.base']).toBe('default');
  });
});

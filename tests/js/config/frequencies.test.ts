// SPDX-License-Identifier: Apache-2.0
/** The frequencies of what was read: published numbers, reference readers' numbers, and the module's. */

import { encodings, frequenciesOf, fromConfig, type LayerEncoding } from 'posenc';
import { describe, expect, it } from 'vitest';
import { anyEncoding, pe } from '../support/instance.ts';
import { fixture, fixtures } from './fixtures.ts';

/** Printed to nine digits. */
const printed = 1e-8;
/** Two computations in float64. */
const double = 1e-12;

const near = (got: number, want: number, tolerance: number, what: string) =>
  expect(Math.abs(got / want - 1), `${what}: got ${got}, want ${want}`).toBeLessThan(tolerance);

/** At pairs 0, 1, 2, n/4, n/2, 3n/4, n-2, n-1; computed with numpy in float64. */
const published: Record<string, number[]> = {
  'llama-2-7b': [1, 0.865964323, 0.749894209, 0.1, 0.01, 0.001, 1.33352143e-4, 1.15478198e-4],
  'code-llama-7b': [
    1, 0.805842188, 0.649381632, 0.0316227766, 0.001, 3.16227766e-5, 1.53992653e-6, 1.24093776e-6,
  ],
  'qwen2.5-7b-yarn': [
    1, 0.805842188, 0.649381632, 0.0316227766, 6.02941176e-4, 7.90569415e-6, 3.84981632e-7,
    3.1023444e-7,
  ],
  'deepseek-v3': [1, 0.749894209, 0.562341325, 0.1, 0.0055, 2.5e-5, 4.44569853e-6, 3.33380358e-6],
  'gpt-oss-20b': [
    1, 0.689044306, 0.474782055, 0.0508132748, 4.56483919e-4, 4.09997848e-6, 4.38797825e-7,
    3.02351143e-7,
  ],
  'llama-3.1-8b': [
    1, 0.814617234, 0.663601238, 0.0376060309, 5.24846161e-4, 6.64786987e-6, 3.76732269e-7,
    3.06892599e-7,
  ],
  'llama-3.2-1b': [
    1, 0.663601238, 0.440366603, 0.0376060309, 4.29556797e-4, 1.66196747e-6, 1.41927203e-7,
    9.41830673e-8,
  ],
};

const frequencies = (encoding: LayerEncoding, length?: number) => {
  const found = frequenciesOf(encoding, length);
  if (found === undefined) throw new Error(`${encoding.id} does not rotate`);
  return found;
};

describe('published numbers', () => {
  for (const [name, want] of Object.entries(published))
    it(name, () => {
      const { values } = frequencies(fromConfig(fixture(name)).encodingFor(0));
      const n = values.length;
      for (const [at, i] of [0, 1, 2, n / 4, n / 2, (3 * n) / 4, n - 2, n - 1].entries())
        near(values[i], want[at], printed, `pair ${i}`);
    });

  it('factors of attention and logits', () => {
    const of = (name: string, layer = 0) =>
      frequencies(fromConfig(fixture(name)).encodingFor(layer));
    near(of('deepseek-v3').logitScale, 1.87385, 1e-5, 'V3');
    expect(of('deepseek-v3').attentionFactor).toBe(1);
    near(of('deepseek-v2-lite').logitScale, 1.58963, 1e-5, 'V2');
    near(of('phi-3.5-mini').attentionFactor, 1.1902380714, 1e-10, 'Phi');
    near(of('gpt-oss-20b').attentionFactor, 1.34657, 1e-5, 'gpt-oss');
    near(of('olmo-3-7b', 3).attentionFactor, 1.2079441541679836, 1e-15, 'OLMo');
    near(of('qwen2.5-7b-yarn').attentionFactor, 1.138629, 1e-6, 'Qwen');
    expect(of('ministral-3').attentionFactor).toBe(1);
  });

  it('C1, C2, D14: angles', () => {
    near(
      frequencies(fromConfig(fixture('code-llama-7b')).encodingFor(0)).values[32] * 4096,
      4.096,
      1e-12,
      'C1',
    );
    const gemma = fromConfig(fixture('gemma-3-4b'));
    near(frequencies(gemma.encodingFor(5)).values[1] * 800, 89.768713, 1e-8, 'global');
    near(frequencies(gemma.encodingFor(0)).values[1] * 800, 744.457633, 1e-8, 'local');
  });

  it('Gemma 4: 64 pairs turn, the last at 3.3376e-2', () => {
    const { values } = frequencies(fromConfig(fixture('gemma-4')).encodingFor(5));
    expect(values.filter((x) => x > 0)).toHaveLength(64);
    near(values[63], 3.3376e-2, 1e-4, 'last');
    expect(values).toHaveLength(256);
  });

  it('D1, D2: dynamic NTK is a function of the length alone', () => {
    const config = {
      head_dim: 8,
      max_position_embeddings: 16,
      rope_scaling: { type: 'dynamic', factor: 2 },
    };
    const { encodingFor } = bound(config);
    const want = [1, 0.069336, 0.004807, 0.000333];
    for (const [i, x] of frequencies(encodingFor, 32).values.entries())
      near(x, want[i], 2e-3, `${i}`);
    expect(frequencies(encodingFor, 8).values.map((x) => Number(x.toFixed(9)))).toEqual([
      1, 0.1, 0.01, 0.001,
    ]);
  });

  it('D4: the bounds of the band of Llama 3.1', () => {
    const { values } = frequencies(fromConfig(fixture('llama-3.1-8b')).encodingFor(0));
    const want = {
      28: 0.00321145,
      29: 0.00216657,
      30: 0.00137189,
      34: 0.000178508,
      35: 9.55621e-5,
      36: 7.78466e-5,
    };
    for (const [i, x] of Object.entries(want)) near(values[Number(i)], x, 2e-5, i);
  });
});

const bound = (config: object) => ({ encodingFor: fromConfig(config).encodingFor(0) });

describe('against the module', () => {
  const known = new Set(encodings.map(({ id }) => id as string));
  for (const name of fixtures.keys()) {
    const model = fromConfig(fixture(name));
    for (const [type, { encoding }] of model.kinds) {
      if (frequenciesOf(encoding) === undefined) continue;
      it.skipIf(!known.has(encoding.id))(`${name}, ${type}: ${encoding.id}`, () => {
        const made = anyEncoding(pe, encoding.id, encoding.options);
        for (const length of [1, 4096, 131072]) {
          const plan = made.plan(length);
          const mine = frequencies(encoding, length);
          expect(plan.inverseFrequencies).toHaveLength(mine.values.length);
          for (const [i, x] of mine.values.entries())
            if (x === 0) expect(plan.inverseFrequencies[i]).toBe(0);
            else near(plan.inverseFrequencies[i], x, double, `pair ${i} at ${length}`);
          near(plan.attentionFactor, mine.attentionFactor, double, 'attention factor');
          near(plan.logitScale, mine.logitScale, double, 'logit scale');
        }
        made.dispose();
      });
    }
  }
});

// SPDX-License-Identifier: Apache-2.0
import { type Context, headsOf } from './context.js';
import { layerEncoding } from './layer-encoding.js';

/** What a nested dictionary says of the biases. */
export interface AlibiSwitch {
  alibi?: boolean;
  biasMax?: number;
  path?: string;
}

/**
 * BLOOM and MPT write the bias by key index, which differs by a constant for each query: the same
 * softmax under a causal mask, but large numbers far from the start. So the relative form is used.
 */
export function alibi(
  c: Context,
  bag: AlibiSwitch = {},
  form: 'relative' | 'symmetric' = 'relative',
) {
  const heads = headsOf(c);
  const root = c.number(['alibi_bias_max', 'max_alibi_bias'], { min: 0, above: true, max: 64 });
  const biasMax =
    bag.biasMax === undefined
      ? c.enter('biasMax', root ?? { value: 8, provenance: 'default' })
      : c.ledger.note('biasMax', bag.biasMax, 'given', bag.path);
  c.ledger.note('form', form, 'default');
  return layerEncoding('alibi', { heads, biasMax, form });
}

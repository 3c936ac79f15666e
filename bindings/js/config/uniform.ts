// SPDX-License-Identifier: Apache-2.0
import { type Context, counting, names } from './context.js';
import type { Reading } from './rope-family.js';
import { scoreOptions } from './score-options.js';
import type { LayerEncoding, Need } from './types.js';

export interface One {
  encoding: LayerEncoding;
  /** Where it differs from the rule of the family. */
  causal?: boolean;
  needs?: Need[];
}

/** One kind of layer everywhere, unless several are given by name. */
export function uniform(
  c: Context,
  read: Readonly<Record<string, () => One>>,
  kindName: (layer: number) => string = () => Object.keys(read)[0],
): Reading {
  const layers = c.take('layers', names.layers, { ...counting, max: 4096 });
  const kinds = new Map(
    Object.entries(read).map(([type, one]) => {
      const [{ encoding, attention, needs }, parameters] = c.ledger.apart(() => {
        const facts = scoreOptions(c, 'full_attention', true);
        const { causal, needs = [], ...rest } = one();
        if (causal === false) delete facts.attention.causal;
        if (causal === true) facts.attention.causal = true;
        if (causal !== undefined) c.ledger.note('causal', causal, 'derived');
        return { ...rest, attention: facts.attention, needs: [...facts.needs, ...needs] };
      });
      const own = parameters.find(({ name }) => name === 'trainedLength')?.value;
      const length = typeof own === 'number' ? { trainedLength: own } : {};
      return [type, { type, encoding, attention, needs, ...length, parameters }];
    }),
  );
  return { kinds, kindName, ...(layers === undefined ? {} : { layers }) };
}

// SPDX-License-Identifier: Apache-2.0
/** Whatever a configuration says, an encoding and options of attention that come of it are taken. */

import { type EncodingOptions, fromConfig, PosencError } from 'posenc';
import { expect, it } from 'vitest';
import { pe } from '../support/instance.ts';
import { randomTensor } from '../support/numbers.ts';
import { fixture, fixtures, paths } from './fixtures.ts';

const x = randomTensor([1, 3, 4]);
const numbers = [0, 0.5, 1, 2, 3, 7, 1000, 4097, 65537, 1e6, 2 ** 31, 1e12];

it.each([...fixtures.keys()])('%s with any one number changed', (name) => {
  const places = [...paths(fixture(name))].filter(([at, key]) => typeof at[key] === 'number');
  for (const [i] of places.entries())
    for (const value of numbers) {
      const config = fixture(name);
      const [at, key] = [...paths(config)].filter(([o, k]) => typeof o[k] === 'number')[i];
      at[key] = value;
      let model: ReturnType<typeof fromConfig>;
      try {
        model = fromConfig(config);
      } catch (error) {
        if (!PosencError.is(error) || error.kind !== 'config') throw error;
        continue;
      }
      for (const { encoding, attention } of model.kinds.values()) {
        const attend = () => pe.attention(x, x, x, attention);
        expect(attend, `${key}: ${value} gives ${JSON.stringify(attention)}`).not.toThrow();
        if (encoding.needs !== undefined) continue;
        // A factor that shrinks is passed on as written, with a warning that says who refuses it.
        if (model.warnings.some(({ code }) => code === 'W09')) continue;
        const options = encoding.options as EncodingOptions['rope'];
        const make = () => pe.encoding(encoding.id as 'rope', options).dispose();
        expect(make, `${key}: ${value} gives ${JSON.stringify(options)}`).not.toThrow();
      }
    }
});

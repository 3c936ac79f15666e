// SPDX-License-Identifier: Apache-2.0
/** Pages that add to the built-in prototypes, where for-in and a missing property find it. */

import { encodings, load } from 'posenc';
import { describe, expect, it } from 'vitest';
import { expectGoldenAnswer, pe } from './support/instance.ts';
import { expectSame, randomTensor } from './support/numbers.ts';

const [q, k, v] = [1, 2, 3].map((seed) => randomTensor([2, 3, 4], seed));

/** Runs `call` while every object inherits enumerable properties. */
function polluted<T>(call: () => T): T {
  const target = Object.prototype as Record<string, unknown>;
  const names = ['foo', 'causal', 'softcap', '7'];
  try {
    for (const name of names) target[name] = 1;
    return call();
  } finally {
    for (const name of names) delete target[name];
  }
}

describe('enumerable properties on Object.prototype', () => {
  const rope = pe.encoding('rope', { headDim: 4 });
  const cached = () => {
    const cache = pe.cache({ heads: 2, headDim: 4, capacity: 8, encoding: rope });
    cache.append(k, v);
    const { output } = pe.attention(q, cache, { causal: true });
    cache.dispose();
    return output.data;
  };
  const calls: Record<string, () => ArrayLike<number>> = {
    attention: () => pe.attention(q, k, v, { encoding: rope, logSumExp: true }).output.data,
    'attention over a cache': cached,
    'attention backwards': () => {
      const { output, logSumExp } = pe.attention(q, k, v, { logSumExp: true });
      if (logSumExp === undefined) throw new Error('it was asked for');
      return pe.attentionBackward(q, k, v, output, logSumExp, q).dq.data;
    },
    rotate: () => rope.rotate(q).data,
    'a new encoding': () => pe.encoding('alibi', { heads: 2 }).bias([0, 1], [0, 1]).data,
  };
  for (const [name, call] of Object.entries(calls))
    it(`change nothing of ${name}`, () => {
      expectSame(polluted(call), call());
      expectGoldenAnswer(pe);
    });
});

describe('what instances share', () => {
  it('cannot be changed, at any depth', async () => {
    const list = pe.encodings as unknown as { length: number; fields: { name: string }[] }[];
    const before = JSON.stringify(encodings);
    const changes = [
      () => {
        (list as { length: number }).length = 0;
      },
      () => {
        list[3].fields = [];
      },
      () => {
        list[3].fields[0].name = 'other';
      },
      () => list[3].fields.pop(),
      () => {
        (pe as { encodings: unknown }).encodings = [];
      },
      () => {
        (pe.info as { version: string }).version = '';
      },
    ];
    for (const change of changes) expect(change).toThrow(TypeError);
    expect(JSON.stringify(encodings)).toBe(before);
    expectGoldenAnswer(pe);
    expectGoldenAnswer(await load({ fresh: true }));
  });
});

// SPDX-License-Identifier: Apache-2.0
/** The distances that remapping encodings count, against rows worked out by hand from the papers. */

import { encodings } from 'posenc';
import { describe, expect, it } from 'vitest';
import { expectRefusal } from './support/failure.ts';
import { pe } from './support/instance.ts';

const count = (n: number) => Array.from({ length: n }, (_, i) => i);
const numbers = (line: string) => line.split(' ').map(Number);

describe('distances', () => {
  const rows: [string, ReturnType<typeof pe.encoding<'rerope'>>, number, string][] = [
    ['rerope', pe.encoding('rerope', { headDim: 8, window: 4 }), 9, '4 4 4 4 4 4 3 2 1 0'],
    [
      'leaky-rerope',
      pe.encoding('leaky-rerope', { headDim: 8, window: 4, step: 2 }) as never,
      9,
      '6.5 6 5.5 5 4.5 4 3 2 1 0',
    ],
    [
      'self-extend',
      pe.encoding('self-extend', { headDim: 8, window: 4, group: 2 }) as never,
      9,
      '6 6 5 5 4 4 3 2 1 0',
    ],
    [
      'self-extend, an even query',
      pe.encoding('self-extend', { headDim: 8, window: 4, group: 2 }) as never,
      8,
      '6 6 5 5 4 3 2 1 0',
    ],
    [
      'dual-chunk',
      pe.encoding('dual-chunk', { headDim: 8, chunk: 10, local: 4 }) as never,
      17,
      '9 8 7 6 5 4 9 8 7 6 5 4 5 4 3 2 1 0',
    ],
    [
      'dual-chunk, the clamp of the code',
      pe.encoding('dual-chunk', { headDim: 8, chunk: 10, local: 4, clampMax: 10 }) as never,
      11,
      '10 9 8 7 6 5 5 4 3 2 1 0',
    ],
  ];
  it.each(rows)('%s', (_, encoding, query, want) => {
    const { data, shape } = encoding.distances([query], count(query + 1));
    expect(shape).toEqual([1, query + 1]);
    expect([...data]).toEqual(numbers(want));
  });

  it('come as one row for each query', () => {
    const rerope = pe.encoding('rerope', { headDim: 8, window: 3 });
    const { data, shape } = rerope.distances([1, 6], [0, 1, 4]);
    expect(shape).toEqual([2, 3]);
    expect([...data]).toEqual([1, 0, -3, 3, 3, 2]);
  });

  it('are there where the manifest says so', () => {
    const remapping = encodings.filter((info) => info.remapsDistance).map(({ id }) => id);
    expect(remapping).toEqual(['rerope', 'leaky-rerope', 'self-extend', 'dual-chunk']);
    const rope = pe.encoding('rope', { headDim: 8 }) as never as (typeof rows)[0][1];
    expectRefusal(() => rope.distances([1], [0]), { code: 'UNSUPPORTED', says: ['distances'] });
    const rerope = rows[0][1];
    expectRefusal(() => rerope.distances([Number.NaN], [0]), {
      code: 'NOT_FINITE',
      field: 'queryPositions',
    });
  });
});

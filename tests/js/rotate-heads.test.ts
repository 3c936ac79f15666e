// SPDX-License-Identifier: Apache-2.0
/** Heads are turned two at a time where that is quicker: with the same bits as one at a time. */

import { expect, it } from 'vitest';
import { pe } from './support/instance.ts';
import { expectSame, randomTensor } from './support/numbers.ts';

const cases = (['half', 'interleaved'] as const).flatMap((layout) =>
  // Whole vectors of pairs, or not; some channels that do not turn.
  [{ headDim: 8 }, { headDim: 24 }, { headDim: 12 }, { headDim: 16, rotaryDim: 8 }].map(
    (sizes) => ({ layout, ...sizes }),
  ),
);

it.each(cases)('rotate of %o gives each head what it gives it alone', ({ ...options }) => {
  using rope = pe.encoding('rope', options);
  const width = options.headDim;
  for (const [batch, heads, rows] of [
    [1, 1, 3],
    [1, 2, 1],
    [2, 3, 5],
    [3, 5, 7],
    [2, 4, 2],
  ] as const) {
    const shape = [batch, heads, rows, width];
    const x = randomTensor(shape, batch * heads * rows);
    const shared = Float64Array.from({ length: rows }, (_, i) => 5 * i + 1);
    const own = {
      shape: [batch, rows],
      data: Float64Array.from({ length: batch * rows }, (_, i) => 7 * i + 2),
    };
    for (const inverse of [false, true])
      for (const positions of [shared, own]) {
        const plane = rows * width;
        const alone = (b: number, head: number) => {
          const data = x.data.slice((b * heads + head) * plane, (b * heads + head + 1) * plane);
          const at = positions === own ? own.data.slice(b * rows, (b + 1) * rows) : shared;
          return rope.rotate({ shape: [rows, width], data }, at, { inverse }).data;
        };
        const want = new Float32Array(x.data.length);
        for (let b = 0; b < batch; ++b)
          for (let head = 0; head < heads; ++head)
            want.set(alone(b, head), (b * heads + head) * plane);
        const kept = x.data.slice();
        expectSame(rope.rotate(x, positions, { inverse }).data, want);
        using result = pe.tensor(shape);
        expect(rope.rotate(x, positions, { inverse, out: result })).toBe(result);
        expectSame(result.data, want);
        using given = pe.tensor(shape, x.data);
        expectSame(rope.rotate(given, positions, { inverse, out: result }).data, want);
        expectSame(given.data, kept);
        rope.rotate(given, positions, { inverse, out: given });
        expectSame(given.data, want);
        expectSame(x.data, kept);
      }
  }
});

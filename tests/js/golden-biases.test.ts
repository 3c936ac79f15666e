// SPDX-License-Identifier: Apache-2.0
/** Encodings for which no reference file exists, against published or written-out numbers. */

import { describe, it } from 'vitest';
import { dynamicBias, sandwichBias, sandwichNumbers } from './golden/score-biases.ts';
import { expectClose } from './support/numbers.ts';

/** Nine published digits, or one rounding to float32 of numbers up to 50. */
const tolerance = { rtol: 1e-6, atol: 3e-6 };

describe('biases without reference files', () => {
  it.each([
    [0, sandwichNumbers.start0],
    [1, sandwichNumbers.start1],
  ])('sandwich from %i on', (start, want) => {
    // The first of 8 heads has the divisor 1.
    expectClose(sandwichBias(start).data.slice(0, want.length), want, tolerance);
  });

  it('dynamic-bias of one unit, within its reach and beyond', () => {
    const { got, want } = dynamicBias([-5000, -3, 0, 1, 2, 511, 513, 0.5]);
    expectClose(got.data, want, tolerance);
  });
});

// SPDX-License-Identifier: Apache-2.0
/** Which encodings of a case act together, made with options that fit its tensors. */

import { type EncodingInfo, encodings, PosencError } from 'posenc';
import { anyEncoding, pe } from '../support/instance.ts';
import { noise } from '../support/numbers.ts';
import type { Case } from './case.ts';
import type { Sizes } from './naive.ts';
import { randomOptions } from './options.ts';
import { amend, termOf } from './terms.ts';

export const hasHeads = (info: EncodingInfo) => info.fields.some(({ name }) => name === 'heads');

/**
 * Those of the case that make sense together: one that rotates, one with terms of content and none
 * that rotates beside it, any number of biases; positions of as many axes.
 */
export function compatible({ encodings: given }: Case) {
  const chosen: { info: EncodingInfo; seed: number; optional: boolean }[] = [];
  for (const { id, seed, optional } of given) {
    const info = encodings.find((one) => one.id === id) as EncodingInfo;
    const rotates = (one: EncodingInfo) => one.sites.includes('rotate');
    const reads = (one: EncodingInfo) => one.sites.includes('score') && !one.contentFree;
    const clash = chosen.some(
      ({ info: other }) =>
        other.id === id ||
        other.axes !== info.axes ||
        ((rotates(other) || reads(other)) && (rotates(info) || reads(info))),
    );
    if (!clash) chosen.push({ info, seed, optional });
  }
  return chosen;
}

export function makeTerm(info: EncodingInfo, sizes: Sizes, seed: number, optional: boolean) {
  const geometry = {
    heads: sizes.H,
    headDim: sizes.D,
    valueDim: sizes.E,
    rotaryDim: sizes.D,
    dim: 8,
  };
  for (const more of optional ? [true, false] : [false]) {
    const options = randomOptions(info, geometry, noise(seed), more, amend);
    try {
      return termOf(info, anyEncoding(pe, info.id, options), options);
    } catch (error) {
      // Options that contradict each other, or a width that the encoding does not have.
      if (!PosencError.is(error) || error.kind !== 'argument') throw error;
    }
  }
  return undefined;
}

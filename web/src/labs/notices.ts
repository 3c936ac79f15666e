// SPDX-License-Identifier: Apache-2.0
// "What to notice": at most forty words, chosen by what is on screen.
import type { Picture } from '../compute/picture.ts';
import { brief } from '../draw/scale.ts';
import { type EncodingInfo, sitesInWords } from '../model/manifest.ts';

export interface OrderFacts {
  readonly words: number;
  readonly moved: boolean;
  readonly placed: string | undefined;
  readonly causal: boolean;
  readonly canonical: boolean;
  readonly changed: boolean;
  readonly twins: boolean;
}

export function orderNotice(facts: OrderFacts): string {
  if (facts.words < 2)
    return 'One word alone attends only to itself. Type at least two to give order a chance to matter.';
  if (!facts.moved) {
    if (facts.placed)
      return `${facts.placed} now tells the words apart by place. Swap two of them and guess first: whose output changes, the two or all?`;
    if (facts.causal)
      return 'Each word now sees only itself and the words before it. Shuffle, and ask how attention can know the order without any positions.';
    return 'Nothing has moved yet. Guess before you press Shuffle: will any word’s output change at all?';
  }
  if (facts.placed && !facts.changed)
    return `The words moved, yet ${facts.placed} changed no output beyond rounding: at these distances it treats the places alike.`;
  if (facts.placed && facts.causal)
    return `Two sources of order at once: ${facts.placed} and the causal mask. Switch either off and see how much of the change remains.`;
  if (facts.placed)
    return `With ${facts.placed}, the same words in another order mean something else: every word’s output follows the new arrangement.`;
  if (facts.causal)
    return 'No encoding, and still the outputs changed: a causal mask already tells order apart, which is why decoders without positional encoding work.';
  if (facts.canonical)
    return 'Summed in the order first typed, the outputs agree to the last bit: without positions, attention sees a set and not a sequence.';
  if (facts.twins)
    return 'The outputs moved with their words, unchanged but for rounding. The marked words are equal and get equal outputs: nothing tells them apart.';
  return 'The outputs moved with their words, unchanged but for rounding: the sums ran in another order. Without positions, attention cannot see order.';
}

export function atlasNotice(info: EncodingInfo, picture: Picture): string {
  const values = picture.curves[0]?.values ?? new Float64Array(1);
  const zero = -picture.first;
  if (!info.sites.length)
    return 'Nothing acts here, so every distance gets the same weight. This flat picture is the background all the others are drawn on.';
  if (picture.rowName === 'pair') {
    const below = values.findIndex((value, i) => i > zero && value < 0);
    const crossing =
      below < 0
        ? 'stays above zero over this length'
        : `first falls below zero at distance ${below - zero}`;
    return `Fast pairs at the top tell neighbours apart, slow ones below tell far places apart. Agreement ${crossing}: it sinks with distance, but in waves.`;
  }
  if (picture.rowName === 'query') {
    const bent = values.findIndex((value, distance) => value !== distance);
    const most = values.reduce((all, value) => Math.max(all, value), 0);
    return bent < 0
      ? 'Over this length every distance counts as itself. Make the length greater, or the window smaller, and the curve will bend.'
      : `Distances below ${bent} count as themselves. Farther ones are drawn together: none here counts as more than ${most}, so few angles are new to the model.`;
  }
  if (picture.rowName === 'dimension') {
    const near =
      Math.abs((values[zero + 1] ?? 0) - (values[zero + 2] ?? 0)) < 0.2 &&
      (values[zero + 1] ?? 0) > 0.5;
    return near
      ? 'Neighbouring rows are alike and far ones less so: closeness is written into the vectors, though nothing here was trained.'
      : 'The rows are random, as before training: any two places are equally unlike. Whatever closeness means, such a table has to learn it.';
  }
  if (picture.perRow) {
    const past = values[Math.min(values.length - 1, zero + 8)] ?? 0;
    const future = values[Math.max(0, zero - 8)] ?? 0;
    const sides =
      Math.abs(past - future) < 1e-6
        ? 'Both directions look alike.'
        : 'Past and future are treated differently.';
    return `Each head gets its own curve, added to the score whatever the words say. ${sides} Move up and down to compare heads.`;
  }
  return `What this encoding adds depends on the query, so each line, with its own query, differs. It ${sitesInWords(info).replace('; ', ' and ')}.`.slice(
    0,
    260,
  );
}

export const wordCount = (text: string): number => text.split(/\s+/).filter(Boolean).length;

/** The curve in one sentence, for those who do not see it. */
export function curveSentence(info: EncodingInfo, picture: Picture): string {
  const values = picture.curves[0]?.values ?? new Float64Array(1);
  const zero = -picture.first;
  const last = values.length - 1;
  const crossing = values.findIndex((value, i) => i > zero && value < 0);
  const below = crossing < 0 ? 'never below zero' : `first below zero at ${crossing - zero}`;
  return `${info.title}, ${picture.curveName}${picture.perRow ? `, ${picture.curves.length} lines, the first` : ''}: ${brief(values[zero] ?? 0)} at distance 0, ${brief(values[last] ?? 0)} at ${last - zero}, ${below}.`;
}

// SPDX-License-Identifier: Apache-2.0
// "What to notice", in at most forty words.
export interface WordsFacts {
  readonly names: readonly [string, string];
  readonly part: 'both' | 'content' | 'position';
  readonly moved: boolean;
  /** Largest change of a weight by the move, under each encoding. */
  readonly rigid: readonly [number, number];
  readonly mean: number;
  readonly most: { readonly word: string; readonly share: number };
  readonly masked: boolean;
  /** Where there is a sink, how much of an average word's attention goes to it, under each encoding. */
  readonly sunk?: readonly [number, number] | undefined;
  /** Of trained heads, how much of it lies on the place that holds the answer, under each encoding. */
  readonly found?: readonly [number, number] | undefined;
}

/** Weights are at most 1; what the order of sums in float32 does stays far below this. */
export const still = 1e-5;
const percent = (share: number): string => `${Math.round(100 * share)} %`;

export function wordsNotice(facts: WordsFacts): string {
  const { names, part, moved, rigid, mean, most, masked, sunk, found } = facts;
  if (sunk && !moved)
    return `The sink takes ${percent(sunk[0])} of an average word’s attention under A and ${percent(sunk[1])} under B, most where no word stands out. No word gets that share: a head may look at nothing.`;
  if (part === 'content')
    return 'With positions off both maps are the same: all that is left is which words resemble each other. Equal words have equal rows and equal columns.';
  if (moved && part === 'both') {
    const [a, b] = rigid.map((change) => change <= still);
    if (a && b)
      return 'The words moved and both maps moved along, cell by cell: neither can tell one order from another.';
    if (masked && b)
      return 'The words moved; a mask goes by place, so it changes the map even where the encoding cannot.';
    if (a !== b)
      return `The words moved. Under ${names[b ? 1 : 0]} the map moved along rigidly; under ${names[b ? 0 : 1]} weights changed by up to ${percent(rigid[b ? 0 : 1])}. That change is order, seen.`;
    return `The words moved, and under both encodings weights between the same two words changed: by up to ${percent(rigid[0])} under A and ${percent(rigid[1])} under B.`;
  }
  if (part === 'position')
    return 'Every word is now one and the same, so whatever pattern remains is position alone. A flat map means: no preference for any place without content.';
  if (found) {
    const [a, b] = found;
    const said = `The place that holds the answer gets ${percent(a)} of attention under A and ${percent(b)} under B.`;
    if (a - b > 0.1)
      return `${said} Queries and keys learned to go with one way of telling places; told otherwise, they look elsewhere.`;
    return Math.max(a, b) < 0.3
      ? `${said} Under neither do these heads find it.`
      : `${said} What these heads go by is content: it stays when places are told otherwise.`;
  }
  return `A and B put ${percent(mean)} of an average word’s attention elsewhere; for “${most.word.slice(0, 24)}” it is ${percent(most.share)}. Guess before you shuffle: which of the two maps will move along unchanged?`;
}

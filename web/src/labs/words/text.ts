// SPDX-License-Identifier: Apache-2.0
// A text as tokens, and their order as a text of the address.
export const mostTokens = 512;

/** A text as the lab takes it. */
export interface Cut {
  readonly words: readonly string[];
  /** Of tokens, where a tokeniser gave them. */
  readonly ids?: readonly number[];
  /** Whether the text has more than these. */
  readonly more: boolean;
  /** What they are, in the plural. */
  readonly unit: string;
  /** Of a text before this one, whose tokens are on their way. */
  readonly late?: true;
}

const pieces = (text: string, cut: 'words' | 'letters'): string[] =>
  cut === 'words' ? text.split(/\s+/u).filter(Boolean) : [...text.replace(/\s+/gu, ' ').trim()];

export const tokensOf = (text: string, cut: 'words' | 'letters'): string[] =>
  pieces(text, cut)
    .slice(0, mostTokens)
    .map((token) => (token === ' ' ? '␣' : token));

export const wordsOf = (text: string, cut: 'words' | 'letters'): Cut => ({
  words: tokensOf(text, cut),
  more: pieces(text, cut).length > mostTokens,
  unit: cut,
});

/** The order as typed where the text is no order of so many. */
export function orderFrom(text: string, count: number): number[] {
  const order = text === '' ? [] : text.split('.').map(Number);
  const whole = order.length === count && new Set(order).size === count;
  return whole && order.every((word) => Number.isInteger(word) && word >= 0 && word < count)
    ? order
    : Array.from({ length: count }, (_, i) => i);
}
export const orderText = (order: readonly number[]): string =>
  order.every((word, place) => word === place) ? '' : order.join('.');

export const percent = (weight: number): string => `${(100 * weight).toFixed(1)} %`;

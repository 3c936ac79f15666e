// SPDX-License-Identifier: Apache-2.0
// A text as tokens, and their order as a text of the address.
export const mostTokens = 512;

export function tokensOf(text: string, cut: 'words' | 'letters'): string[] {
  const found =
    cut === 'words' ? text.split(/\s+/u).filter(Boolean) : [...text.replace(/\s+/gu, ' ').trim()];
  return found.slice(0, mostTokens).map((token) => (token === ' ' ? '␣' : token));
}

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

// SPDX-License-Identifier: Apache-2.0
// Repeatable noise. Only integer arithmetic and additions, so every browser draws the same numbers.

/** 32-bit FNV-1a over UTF-16 units. */
export function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1)
    value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}

const step = 0x9e3779b9;
/** Of a state its number in [0, 1). */
function mixed(state: number): number {
  let bits = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
  bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
  return ((bits ^ (bits >>> 15)) >>> 0) / 4294967296;
}

/** Uniform numbers in [0, 1): a Weyl sequence, each term mixed by multiply and xor-shift. */
export function uniform(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + step) | 0;
    return mixed(state);
  };
}

/** Nearly normal: a sum of twelve uniforms has variance one, and needs no logarithm that could differ between engines. */
export function normal(seed: number, count: number, deviation = 1): Float32Array {
  const numbers = new Float32Array(count);
  // Its state in a variable of its own: a table of a million numbers asks twelve million times.
  let state = seed | 0;
  for (let at = 0; at < count; at += 1) {
    let sum = -6;
    for (let i = 0; i < 12; i += 1) {
      state = (state + step) | 0;
      sum += mixed(state);
    }
    numbers[at] = sum * deviation;
  }
  return numbers;
}

export function shuffled<T>(items: readonly T[], next: () => number): T[] {
  const result = [...items];
  for (let i = result.length - 1; i > 0; i -= 1) {
    const j = Math.floor(next() * (i + 1));
    [result[i], result[j]] = [result[j] as T, result[i] as T];
  }
  return result;
}

// SPDX-License-Identifier: Apache-2.0
// Numbers to compute with: the same ones at every run.

/** `n` numbers of mean 0 and standard deviation `deviation`, by Box and Muller from a 32-bit generator. */
export function normal(n, seed, deviation = 1) {
  let state = (seed * 0x9e3779b1) >>> 0 || 1;
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 4294967296;
  };
  const numbers = new Float32Array(n);
  for (let i = 0; i < n; i += 2) {
    const radius = deviation * Math.sqrt(-2 * Math.log(uniform()));
    const angle = 2 * Math.PI * uniform();
    numbers[i] = radius * Math.cos(angle);
    if (i + 1 < n) numbers[i + 1] = radius * Math.sin(angle);
  }
  return numbers;
}

/** Cosines and sines [S, D / 2] of rotary angles, as peers want them. */
export function rotaryTables(S, D, base = 10000) {
  const half = D / 2;
  const cos = new Float32Array(S * half);
  const sin = new Float32Array(S * half);
  for (let s = 0; s < S; s++)
    for (let i = 0; i < half; i++) {
      const angle = s * base ** (-i / half);
      cos[s * half + i] = Math.cos(angle);
      sin[s * half + i] = Math.sin(angle);
    }
  return { cos, sin };
}

/** The largest distance between `out` and what `wanted(i)` says of every index it is asked for. */
export function largestError(out, indices, wanted) {
  let largest = 0;
  for (const i of indices) {
    const error = Math.abs(out[i] - wanted(i));
    if (!(error <= largest)) largest = error;
  }
  return largest;
}

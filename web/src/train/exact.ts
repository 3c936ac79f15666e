// SPDX-License-Identifier: Apache-2.0
// Exponential and logarithm out of additions, multiplications and divisions, which IEEE 754 rounds alike everywhere.
// Engines are free in the last digits of Math.exp and Math.log, and training doubles a difference every few steps.

const ln2 = Math.LN2;
/** The first 32 bits of ln 2, and the rest: k · high is exact for the k that occur. */
const high = 0.6931471803691238;
const low = 1.9082149292705877e-10;

const powers = new Float64Array(1100);
powers[0] = 1;
for (let k = 1; k < powers.length; k += 1) powers[k] = (powers[k - 1] as number) / 2;

/** e^x for x ≤ 0; relative error below 1e-15. Beneath −690 it is 0. */
export function exp(x: number): number {
  if (!(x > -690)) return Number.isNaN(x) ? x : 0;
  const k = Math.floor(0.5 - x / ln2);
  const r = x + k * high + k * low;
  // |r| ≤ ln 2 / 2: the 14th term is 2e-17.
  let sum = 1;
  for (let n = 13; n > 0; n -= 1) sum = 1 + (r / n) * sum;
  return sum * (powers[k] as number);
}

const view = new DataView(new ArrayBuffer(8));

/** ln x for finite x > 0 that are not subnormal; absolute error below 1e-15 near 1. */
export function log(x: number): number {
  view.setFloat64(0, x);
  const top = view.getUint32(0);
  let exponent = (top >>> 20) - 1023;
  view.setUint32(0, (top & 0xfffff) | 0x3ff00000);
  let mantissa = view.getFloat64(0);
  if (mantissa > Math.SQRT2) {
    mantissa /= 2;
    exponent += 1;
  }
  // ln m = 2 artanh((m − 1) / (m + 1)), and the fraction is at most 0.172: its 23rd power over 23 is 1e-19.
  const s = (mantissa - 1) / (mantissa + 1);
  let sum = 0;
  for (let n = 21; n > 0; n -= 2) sum = 1 / n + s * s * sum;
  return 2 * s * sum + exponent * low + exponent * high;
}

// SPDX-License-Identifier: Apache-2.0
/** Numbers of 16 bits as float32. Every one of them is a float32, so nothing is rounded. */

const word = new Uint32Array(1);
const real = new Float32Array(word.buffer);

/** IEEE binary16: 1 sign, 5 exponent, 10 fraction bits. NaN payloads are kept. */
export function f16(bits: number): number {
  const sign = (bits & 0x8000) << 16;
  const exponent = (bits >>> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) {
    const magnitude = fraction * 2 ** -24;
    return sign === 0 ? magnitude : -magnitude;
  }
  word[0] = sign | (exponent === 0x1f ? 0x7f800000 : (exponent + 112) << 23) | (fraction << 13);
  return real[0];
}

/** The upper half of a float32. */
export function bf16(bits: number): number {
  word[0] = bits << 16;
  return real[0];
}

// SPDX-License-Identifier: Apache-2.0
import type { EncodingInfo, Positions, Tensor } from 'posenc';

export function numbers(count: number, seed: number, size?: number): Float32Array;
export function tensor(shape: readonly number[], seed: number, size?: number): Tensor;
export function optionsOf(info: EncodingInfo): Record<string, unknown> & { heads?: number };
export const tokens: number;
export function inputsOf(
  info: EncodingInfo,
  options: object,
  o?: { batch?: number; group?: number },
): { q: Tensor; k: Tensor; v: Tensor; x: Tensor; positions: Positions | undefined };

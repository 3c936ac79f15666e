// SPDX-License-Identifier: Apache-2.0
/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The shapes of what users give and get. Letters used everywhere: B batch, H query heads,
 * G key/value heads, T queries, S keys, D head width, E embedding width.
 */

/** Row-major; what every call returns. */
export interface Tensor {
  readonly data: Float32Array;
  readonly shape: readonly number[];
}

/**
 * Accepted wherever a tensor is read, by structure: other libraries' tensors need no conversion. Numbers
 * that are no `Float32Array` are copied, each rounded to single precision; BigInts, bits of half
 * precision and strings are no numbers here.
 */
export type TensorInput =
  | Tensor
  | { readonly data: ArrayLike<number>; readonly shape: readonly number[] }
  /** ONNX Runtime, transformers.js. */
  | { readonly data: ArrayLike<number>; readonly dims: readonly number[] }
  /** TensorFlow.js. */
  | { readonly shape: readonly number[]; dataSync(): ArrayLike<number> };

/**
 * A tensor in the memory of the module: calls read and write it in place. `data` is a fresh view on
 * each access; do not keep one, growing memory leaves old views empty.
 */
export interface OwnedTensor extends Tensor {
  dispose(): void;
  [Symbol.dispose](): void;
}

/** The positions of n tokens; `{ start }` counts up from there, omitted counts up from 0. */
export type AxisPositions =
  | readonly number[]
  | Int32Array
  | Float64Array
  | BigInt64Array
  | { readonly start: number }
  /** One row of positions per batch entry: `shape` is [n] or [B, n]. */
  | {
      readonly data: readonly number[] | Int32Array | Float64Array | BigInt64Array;
      readonly shape: readonly number[];
    }
  | {
      readonly data: readonly number[] | Int32Array | Float64Array | BigInt64Array;
      readonly dims: readonly number[];
    };

/** Encodings with several axes take an array with one entry per axis. */
export type Positions = AxisPositions | readonly AxisPositions[];

/** `Uint8Array`: non-zero attends. `Float32Array`: added to the scores. */
export interface MaskInput {
  readonly data: Uint8Array | Float32Array;
  readonly shape: readonly number[];
}

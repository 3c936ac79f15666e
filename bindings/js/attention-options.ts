// SPDX-License-Identifier: Apache-2.0
/** What attention can be asked to do, and which of it the caller asked for. */

import type { Encoding } from './encoding.js';
import type { MaskInput, Positions, Tensor, TensorInput } from './types.js';
import { record, unknownOption } from './validate.js';

/** Keys near a query, besides its own. Left out: without limit on that side. */
export interface Window {
  left?: number;
  right?: number;
  /** So many first keys stay visible wherever the window is, as StreamingLLM keeps them. @default 0 */
  first?: number;
}

/** How queries grow with their position m, so that attention stays sharp over more keys. */
export type QueryScale =
  /** max(1, ln(m + 1) / ln length): log-n scaling. */
  | { kind: 'logn'; length: number }
  /** 1 + factor · ln(1 + ⌊(m + 1) / length⌋). @default length 8192, factor 0.1 */
  | { kind: 'llama4'; length?: number; factor?: number }
  /** 1 + factor · ln(1 + ⌊m / length⌋), as Ministral 3 and Mistral 4 do. */
  | { kind: 'ministral'; length: number; factor: number };

/** Normalises each row of each head. */
export interface HeadNorm {
  /** x / √(mean x² + epsilon), or x / max(‖x‖, epsilon). @default 'rms' */
  kind?: 'rms' | 'l2';
  /** [D] for all heads, or one row for each: [H, D] for q, [G, D] for k. @default 1 */
  weight?: TensorInput | ArrayLike<number>;
  /** @default 1e-6, of 'l2' 1e-12 */
  epsilon?: number;
  /** Before the rotation or after it. @default 'before' */
  place?: 'before' | 'after';
}

export interface AttentionOptions {
  /** Rotates, biases and adds values on the fly; several act together. */
  encoding?: Encoding | readonly Encoding[];
  /** Of q, k, v and the output: [B, H, T, D] or [B, T, H, D]; without B for rank 3. @default 'bhnd' */
  layout?: 'bhnd' | 'bnhd';
  /** What q·k is multiplied by, to the letter. @default what the encoding was trained with, else 1/√D */
  scale?: number;
  /** A query sees the keys up to its own place. @default false */
  causal?: boolean;
  /** The place of the first query among the keys; a list has one for each sequence. @default S - T */
  queryOffset?: number | ArrayLike<number>;
  /** For the encoding only; `causal` and `window` go by places. @default queryOffset + 0 … T-1 */
  queryPositions?: Positions;
  /** @default 0 … S-1 */
  keyPositions?: Positions;
  /** `fromTotal(W)` gives the window of W keys, the query's own among them. */
  window?: Window;
  /** Places are counted off in chunks of so many, and a query sees the keys of its own, as in Llama 4; 0: no chunks. */
  chunk?: number;
  /** The first n keys are seen by every query, whatever `causal`, `window` and `chunk` say; or per sequence. */
  prefix?: number | ArrayLike<number>;
  /** Right-aligned broadcast to [B, H, T, S]. `Uint8Array`: non-zero attends; `Float32Array`: added. */
  mask?: MaskInput;
  /** How many keys of each batch entry are there; the rest is padding. */
  keyLengths?: ArrayLike<number>;
  /** How many queries; the rows of the rest give 0, their logSumExp -Infinity. */
  queryLengths?: ArrayLike<number>;
  /**
   * Sequences one after the other, without padding: where each begins, and at last where the last one
   * ends. Each is attention of its own: places and positions count from its beginning. B is 1.
   */
  cuSeqlens?: { q: ArrayLike<number>; k?: ArrayLike<number> };
  /** Scores become softcap · tanh(score / softcap) before biases and masks; 0 is none. */
  softcap?: number;
  /** [H] logits that count once in each row's softmax denominator, without a value. */
  sinks?: ArrayLike<number>;
  /** Multiplies queries by where they stand. */
  queryScale?: QueryScale;
  qNorm?: HeadNorm;
  /** With a cache the same in every call: keys are stored normalised where that is right by then. */
  kNorm?: HeadNorm;
  /** With a cache: tokens to attend to as well and then to store. @default positions of a text */
  append?: { k: TensorInput; v: TensorInput; positions?: Positions };
  /** Also return the weights, [B, H, T, S]. */
  weights?: boolean;
  /** Also return the logarithm of each row's softmax denominator, [B, H, T]. */
  logSumExp?: boolean;
  /** Where the output goes. */
  out?: Tensor;
}

export interface AttentionResult {
  readonly output: Tensor;
  readonly weights?: Tensor;
  readonly logSumExp?: Tensor;
}

const supported = [
  'encoding',
  'layout',
  'scale',
  'causal',
  'queryOffset',
  'queryPositions',
  'keyPositions',
  'window',
  'chunk',
  'prefix',
  'mask',
  'keyLengths',
  'queryLengths',
  'cuSeqlens',
  'softcap',
  'sinks',
  'queryScale',
  'qNorm',
  'kNorm',
  'append',
  'weights',
  'logSumExp',
  'out',
] as const satisfies readonly (keyof AttentionOptions)[];
/** What the backward pass must be told again. */
export const ofForward: readonly string[] = supported.filter(
  (name) => !['weights', 'logSumExp', 'out', 'append'].includes(name),
);
export const where = 'attention';
export type Given = ReadonlyMap<(typeof supported)[number], unknown>;

export function readOptions(options: unknown, known: readonly string[] = supported): Given {
  const given = record(where, 'options', options);
  for (const name of given.keys())
    if (!known.includes(name)) throw unknownOption(where, name, known);
  return given as Given;
}

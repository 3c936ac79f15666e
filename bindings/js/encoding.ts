// SPDX-License-Identifier: Apache-2.0
/** The public face of an encoding: which methods it has follows from the sites it acts at. */

import type { ContentFreeId, EncodingId, EncodingSites, RemappingId } from './encodings.gen.js';
import type { Site } from './manifest.js';
import type { Positions, Tensor, TensorInput } from './types.js';

export interface ResultOptions {
  /** Where the result goes. */
  out?: Tensor;
}

export interface EmbedOptions {
  /** Where the result goes; may be `x` itself. */
  out?: Tensor;
}

export interface RotateOptions {
  /** Only some encodings treat the two differently. @default 'query' */
  role?: 'query' | 'key';
  /** Length of the sequence, for encodings that depend on it. @default the largest position + 1 */
  length?: number;
  /**
   * Turn the other way: by the negated angle. What an encoding multiplies the lengths of rows by (YaRN and
   * LongRoPE their attention factor, xPos its decay) is multiplied once more and not undone. @default false
   */
  inverse?: boolean;
  /** Where the result goes; may be `x` itself unless rows grow. */
  out?: Tensor;
}

/** What a rotary encoding comes down to for sequences of one length. */
export interface RotationPlan {
  /** Radians per position, one for each rotated pair. */
  readonly inverseFrequencies: Float64Array;
  /** Cosine and sine are multiplied by it. */
  readonly attentionFactor: number;
  /** The scores are multiplied by it. */
  readonly logitScale: number;
  /** How many channels of a head are rotated. */
  readonly rotaryDim: number;
  /** Which channels form a pair: i and i + rotaryDim/2, or 2i and 2i + 1. */
  readonly layout: 'half' | 'interleaved';
  /**
   * By how many channels rows become wider: 0, or `rotaryDim` where each channel is the length of a
   * pair, whose two parts are then i and i + rotaryDim.
   */
  readonly growth: number;
  /** Whether the frequencies depend on the length. */
  readonly lengthPolicy: string;
}

interface EncodingBase<Id extends EncodingId> {
  readonly id: Id;
  readonly sites: readonly Site[];
  /** Frees it at once; otherwise that happens some time after it is forgotten. */
  dispose(): void;
  [Symbol.dispose](): void;
  toJSON(): object;
}

export interface EmbedMethods {
  /** The rows that `embed` adds: [n, E]. */
  table(positions: Positions, options?: ResultOptions): Tensor;
  /** x [..., n, E] plus the encoding of its positions. */
  embed(x: TensorInput, positions?: Positions, options?: EmbedOptions): Tensor;
  /** The gradients of the learned options by name, from that of the result; that of x is the same. */
  embedBackward(gradOutput: TensorInput, positions?: Positions): Readonly<Record<string, Tensor>>;
}

export interface RotateMethods {
  /** x [..., n, D] with each row turned to its position; [..., n, D + growth] where rows grow. */
  rotate(x: TensorInput, positions?: Positions, options?: RotateOptions): Tensor;
  /** The gradient of x from that of the result: the transposed rotation, amplitude included. */
  rotateBackward(
    gradOutput: TensorInput,
    positions?: Positions,
    options?: Omit<RotateOptions, 'inverse'>,
  ): Tensor;
  plan(length?: number): RotationPlan;
}

export interface ScoreMethods {
  /** What is added to the scores, [H, T, S]; only where it does not depend on q and k. */
  bias(queryPositions: Positions, keyPositions: Positions, options?: ResultOptions): Tensor;
}

export interface RemapMethods {
  /** The distance, query minus key, that each pair of positions counts as: [T, S], row by row. */
  distances(
    queryPositions: Positions,
    keyPositions: Positions,
  ): { data: Float64Array; shape: readonly [number, number] };
}

type ActingAt<S extends Site> = {
  [Id in EncodingId]: S extends EncodingSites[Id] ? Id : never;
}[EncodingId];

/** An encoding has the methods of the sites it acts at; all of them act inside `attention`. */
export type Encoding<Id extends EncodingId = EncodingId> = EncodingBase<Id> &
  ([Id] extends [ActingAt<'embed'>] ? EmbedMethods : unknown) &
  ([Id] extends [ActingAt<'rotate'>] ? RotateMethods : unknown) &
  ([Id] extends [ContentFreeId] ? ScoreMethods : unknown) &
  ([Id] extends [RemappingId] ? RemapMethods : unknown);

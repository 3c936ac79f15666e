// SPDX-License-Identifier: Apache-2.0
/** The object that `load` gives. */

import { attention } from './attention.js';
import {
  type AttentionGradients,
  attentionBackward,
  type BackwardOptions,
} from './attention-backward.js';
import type { AttentionOptions, AttentionResult } from './attention-options.js';
import { BoundEncoding } from './bound-encoding.js';
import { createCache, type KVCache } from './cache.js';
import type { CacheOptions } from './cache-options.js';
import type { Encoding } from './encoding.js';
import { type EncodingId, type EncodingOptions, encodings, version } from './encodings.gen.js';
import type { Engine } from './engine.js';
import { hold } from './handles.js';
import type { EncodingInfo } from './manifest.js';
import { type MergeOptions, merge, type PartialAttention } from './merge.js';
import { createOwned, makeDisposable } from './owned.js';
import type { OwnedTensor, TensorInput } from './types.js';

export interface MemoryUse {
  /** In use, the same as `liveBytes`. */
  readonly bytes: number;
  /** Blocks in use: what was created and not yet disposed. */
  readonly live: number;
  readonly liveBytes: number;
  /** Size of the instance's memory; it grows and never shrinks. */
  readonly heapBytes: number;
  /** The most that was in use at any time. */
  readonly peakBytes: number;
}

export interface Info {
  readonly version: string;
  /** Which of the builds is loaded: 'simd', whose results are the same bits everywhere, or 'relaxed'. */
  readonly build: 'simd' | 'relaxed';
  /** Where the module came from. */
  readonly loading: 'fetch' | 'file' | 'inline' | 'bytes' | 'module';
  memory(): MemoryUse;
}

type OptionsOf<Id extends EncodingId> = {} extends EncodingOptions[Id]
  ? [options?: EncodingOptions[Id]]
  : [options: EncodingOptions[Id]];

export interface Posenc {
  readonly info: Info;
  /** What there is: every encoding with its options, as data. */
  readonly encodings: readonly EncodingInfo[];
  /** An encoding with its geometry, parameters and learned tables. */
  encoding<Id extends EncodingId>(id: Id, ...options: OptionsOf<Id>): Encoding<Id>;
  /** Attention over the tokens of a cache and those to `append`, which it then stores. */
  attention(q: TensorInput, cache: KVCache, options?: AttentionOptions): AttentionResult;
  /** softmax(scale · q kᵀ + …) v, for q [B, H, T, D], k [B, G, S, D], v [B, G, S, Dv]. */
  attention(
    q: TensorInput,
    k: TensorInput,
    v: TensorInput,
    options?: AttentionOptions,
  ): AttentionResult;
  /** Keys and values that stay in the memory of this instance from call to call. */
  cache(options: CacheOptions): KVCache;
  /**
   * Attention over keys that were split: what `attention` gave for each part, with `logSumExp`, put
   * together again.
   */
  merge(
    results: readonly PartialAttention[],
    options?: MergeOptions,
  ): Required<Pick<AttentionResult, 'output' | 'logSumExp'>>;
  /** The gradients of what went into `attention`; `output` and `logSumExp` are what it gave. */
  attentionBackward(
    q: TensorInput,
    k: TensorInput,
    v: TensorInput,
    output: TensorInput,
    logSumExp: TensorInput,
    gradOutput: TensorInput,
    options?: BackwardOptions,
  ): AttentionGradients;
  /** A tensor in the memory of this instance, zeros or `data`; calls use it without copying. */
  tensor(shape: readonly number[], data?: ArrayLike<number>): OwnedTensor;
  /** Lets go of the instance: what it made can no longer be used, its memory can be collected. */
  dispose(): void;
  [Symbol.dispose](): void;
}

class Instance {
  readonly #engine: Engine;
  readonly info: Info;
  constructor(engine: Engine, loading: Info['loading'], build: Info['build']) {
    this.#engine = engine;
    this.info = Object.freeze({ version, build, loading, memory: () => engine.memory });
  }

  get encodings(): readonly EncodingInfo[] {
    return encodings;
  }

  encoding(id: unknown, options?: unknown): unknown {
    return new BoundEncoding(hold(this.#engine, id, options));
  }

  cache(options: unknown): KVCache {
    return createCache(this.#engine, options);
  }

  attention(q: unknown, k: unknown, v?: unknown, options?: unknown): AttentionResult {
    return attention(this.#engine, q, k, v, options);
  }

  merge(results: unknown, options?: unknown) {
    return merge(this.#engine, results, options);
  }

  attentionBackward(
    q: unknown,
    k: unknown,
    v: unknown,
    output: unknown,
    logSumExp: unknown,
    gradOutput: unknown,
    options?: unknown,
  ): AttentionGradients {
    return attentionBackward(this.#engine, [q, k, v, output, logSumExp, gradOutput], options);
  }

  tensor(shape: unknown, data?: unknown): OwnedTensor {
    this.#engine.requireUsable();
    return createOwned(this.#engine, shape, data);
  }

  dispose(): void {
    this.#engine.dispose();
  }
}
makeDisposable(Instance.prototype);

export function instance(engine: Engine, loading: Info['loading'], build: Info['build']): Posenc {
  return new Instance(engine, loading, build) as unknown as Posenc;
}

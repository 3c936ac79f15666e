// SPDX-License-Identifier: Apache-2.0
/// <reference lib="esnext.disposable" preserve="true" />
/** What `posenc/worker` gives: derived from the instance it stands for, each call giving a promise. */

import type { BackwardOptions } from '../attention-backward.js';
import type { AttentionOptions } from '../attention-options.js';
import type { AppendOptions, KVCache } from '../cache.js';
import type { CacheOptions } from '../cache-options.js';
import type {
  EmbedMethods,
  EmbedOptions,
  Encoding,
  RemapMethods,
  ResultOptions,
  RotateMethods,
  RotateOptions,
  ScoreMethods,
} from '../encoding.js';
import type { EncodingId, EncodingOptions } from '../encodings.gen.js';
import type { LoadOptions } from '../load.js';
import type { MergeOptions } from '../merge.js';
import type { Info, MemoryUse, Posenc } from '../posenc.js';
import type { OwnedTensor, Tensor } from '../types.js';

/** May stand among the options of any call, or in an object of their own as its last argument. */
export interface CallOptions {
  /**
   * Rejects with the signal's reason. A call that has not begun is taken back. One that has is stopped
   * with its worker, unless a cache or tensor lives there: then it ends unheard.
   */
  signal?: AbortSignal;
  /**
   * Gives away the memory of the arguments instead of copying it: whole buffers, which can no longer be
   * read afterwards. @default false
   */
  transfer?: boolean;
}

/** For what stays in a worker. */
export interface PlaceOptions extends CallOptions {
  /** In the same worker as this, so that one call can take both. @default one after the other */
  beside?: RemoteCache | RemoteTensor;
}

export interface WorkerLoadOptions extends LoadOptions {
  /** How many instances share the work, 1 to 64, each in a worker and with a memory of its own. @default 1 */
  workers?: number;
}

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
type IsOneOf<T, All extends readonly unknown[]> = true extends {
  [I in keyof All]: Same<T, All[I]>;
}[number]
  ? true
  : false;
type WithEncodings = [AttentionOptions, BackwardOptions, CacheOptions];
type Plain = [ResultOptions, EmbedOptions, RotateOptions, MergeOptions, AppendOptions];
type Sent<T> =
  Same<NonNullable<T>, KVCache> extends true
    ? RemoteCache
    : IsOneOf<NonNullable<T>, WithEncodings> extends true
      ? Omit<NonNullable<T>, 'encoding'> & {
          encoding?: RemoteEncoding | readonly RemoteEncoding[];
        } & CallOptions
      : IsOneOf<NonNullable<T>, Plain> extends true
        ? T & CallOptions
        : T;
type SentAll<Args extends readonly unknown[]> = { [I in keyof Args]: Sent<Args[I]> };
type Received<R> = R extends KVCache ? RemoteCache : R extends OwnedTensor ? RemoteTensor : R;

type Method<F, Call = CallOptions> = F extends (...args: infer Args) => infer R
  ? (...args: [...SentAll<Args>, call?: Call]) => Promise<Received<R>>
  : F;
/** Of two overloads. */
type Methods<F> = F extends {
  (...args: infer A): infer R;
  (...args: infer B): infer S;
}
  ? {
      (...args: [...SentAll<A>, call?: CallOptions]): Promise<Received<R>>;
      (...args: [...SentAll<B>, call?: CallOptions]): Promise<Received<S>>;
    }
  : never;

/** Letting go is said and not waited for. */
type Kept = 'dispose' | typeof Symbol.dispose | 'toJSON';
type Remoted<T> = { readonly [K in keyof T]: K extends Kept ? T[K] : Method<T[K]> };

/** An encoding in the workers: made in each that comes to need it. */
export type RemoteEncoding<Id extends EncodingId = EncodingId> = Remoted<Encoding<Id>>;

/** A cache in one worker. `length` and `stored` are those of the last answer. */
export type RemoteCache = Remoted<KVCache>;

/** A tensor in the memory of one worker, used in place by calls there. */
export interface RemoteTensor extends Omit<OwnedTensor, 'data'> {
  /** Cannot be read from here: `read` gives a copy. */
  readonly data: never;
  read(call?: CallOptions): Promise<Tensor>;
  write(data: ArrayLike<number>, call?: CallOptions): Promise<void>;
}

type OptionsOf<Id extends EncodingId> = {} extends EncodingOptions[Id]
  ? [options?: EncodingOptions[Id] & CallOptions, call?: CallOptions]
  : [options: EncodingOptions[Id] & CallOptions, call?: CallOptions];

type Own = 'info' | 'encodings' | 'encoding' | 'attention' | 'cache' | 'tensor';

export interface PosencWorker extends Remoted<Omit<Posenc, Own>> {
  readonly info: Omit<Info, 'memory'> & {
    /** How many instances there are. */
    readonly workers: number;
    /** Of all of them together. */
    memory(): Promise<MemoryUse>;
  };
  readonly encodings: Posenc['encodings'];
  encoding<Id extends EncodingId>(id: Id, ...options: OptionsOf<Id>): Promise<RemoteEncoding<Id>>;
  readonly attention: Methods<Posenc['attention']>;
  readonly cache: Method<Posenc['cache'], PlaceOptions>;
  readonly tensor: Method<Posenc['tensor'], PlaceOptions>;
}

/** Every method that an encoding may have, so that one left out does not compile. */
export type EncodingMethod = keyof (EmbedMethods & RotateMethods & ScoreMethods & RemapMethods);

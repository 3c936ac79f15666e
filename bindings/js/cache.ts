// SPDX-License-Identifier: Apache-2.0
/** `pe.cache`: keys and values in the memory of the module, kept between calls of `attention`. */

import { Arena } from './arena.js';
import type { HeadNorm } from './attention-options.js';
import { readNorm } from './attention-scores.js';
import { bytesOf } from './bytes.js';
import { dtypes, readCacheOptions } from './cache-options.js';
import {
  axesOfPast,
  changesOf,
  lengthOf,
  nameCache,
  type Past,
  readTokenPositions,
  requireTokens,
  storedOf,
  unchanged,
} from './cache-past.js';
import type { Engine } from './engine.js';
import { requireLive } from './handles.js';
import { disposed, giveBack, makeDisposable } from './owned.js';
import { appendFields, cacheFields } from './raw.js';
import { capture } from './tensor.js';
import type { Positions, TensorInput } from './types.js';
import { choice, integer, or, options as readOptions, roomFor } from './validate.js';

export interface AppendOptions {
  /** Of k and v. @default 'bhnd' */
  layout?: 'bhnd' | 'bnhd';
  /** What every attention over the cache is given as `kNorm`. */
  kNorm?: HeadNorm;
}

export interface KVCache {
  /** Tokens appended and not taken back; of a ring more than it holds. The next one's number. */
  readonly length: number;
  /** Tokens it holds, which are the keys of a mask: the first ones kept, then the last ones. */
  readonly stored: number;
  /** Stores keys [B, G, n, D] and values [B, G, n, Dv]. @default positions length … length + n - 1 */
  append(k: TensorInput, v: TensorInput, positions?: Positions, options?: AppendOptions): void;
  /** Takes back the tokens from `length` on. */
  truncate(length: number): void;
  /** Takes back all of them. */
  reset(): void;
  /** Another cache with the same tokens; what both hold is stored once until one of them changes it. */
  fork(): KVCache;
  /**
   * The tokens as bytes, for `fromBytes` of a cache made with the same options. Of encodings the names are
   * compared, and how they turn keys where those are kept rotated; tables that act on scores are not.
   */
  toBytes(): Uint8Array;
  /** Puts the tokens of `toBytes` in the place of its own. */
  fromBytes(bytes: Uint8Array | ArrayBuffer): void;
  /** Frees the memory; a second call does nothing. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/** Made apart from the owner: a function made in its constructor would keep it alive. */
const destroyer =
  ({ engine, handle }: Past) =>
  () => {
    if (engine.usable) engine.call((raw) => raw.destroyCache(handle));
  };

class Cache implements Omit<KVCache, typeof Symbol.dispose> {
  readonly #past: Past;
  readonly dispose: () => void;

  constructor(past: Past) {
    this.#past = past;
    nameCache(this, past);
    const free = giveBack(this, destroyer(past));
    this.dispose = () => {
      past.state.disposed = true;
      free();
    };
  }

  get length(): number {
    return lengthOf(this.#at('length'));
  }
  get stored(): number {
    return storedOf(this.#at('stored'));
  }

  append(k: TensorInput, v: TensorInput, positions?: Positions, options?: AppendOptions): void {
    const past = this.#at('append');
    const { engine, handle, shape } = past;
    const where = 'cache.append';
    const changes = changesOf(past);
    const given = readOptions(where, options, ['layout', 'kNorm']);
    const layout = choice(where, 'layout', or(given.get('layout'), 'bhnd'), ['bhnd', 'bnhd']);
    const sources = [capture(engine, where, 'k', k), capture(engine, where, 'v', v)];
    const count = requireTokens(where, past, sources, layout);
    const norm = readNorm(engine, 'kNorm', given.get('kNorm'), shape.heads, shape.headDim, where);
    const at = readTokenPositions(where, 'positions', positions, past, count);
    const arena = new Arena(engine);
    const [ks, vs] = sources.map((source) => arena.input(source));
    const places = at === undefined ? { address: 0 } : arena.doubles(at.values);
    const weight = norm.weight(arena);
    arena.requires(unchanged(where, past, changes));
    arena.run(where, () => {
      engine.pass(appendFields, {
        k: ks.address,
        v: vs.address,
        positions: places.address,
        count,
        layout: layout === 'bnhd' ? 1 : 0,
        positionRows: at?.batch ?? 1,
        axes: axesOfPast(past),
        normKind: norm.kind,
        normWeight: weight.address,
        normHeads: norm.heads,
        normEpsilon: norm.epsilon,
        normAfter: norm.after,
      });
      engine.check(where, (raw) => raw.appendToCache(handle));
    });
  }

  truncate(length: number): void {
    const past = this.#at('truncate');
    const where = 'cache.truncate';
    const tokens = integer(where, 'length', length, { min: 0, max: lengthOf(past) });
    past.engine.check(where, (raw) => raw.truncateCache(past.handle, tokens));
  }

  reset(): void {
    const { engine, handle } = this.#at('reset');
    engine.call((raw) => raw.resetCache(handle));
  }

  fork(): KVCache {
    const past = this.#at('fork');
    const handle = past.engine.call((raw) => raw.forkCache(past.handle));
    if (handle === 0) throw past.engine.failure('cache.fork');
    return new Cache({ ...past, handle, state: { disposed: false } }) as unknown as KVCache;
  }

  toBytes(): Uint8Array {
    const { engine, handle, encodings } = this.#at('toBytes');
    const where = 'cache.toBytes';
    for (const { held } of encodings) requireLive(where, held);
    const size = engine.call((raw) => raw.cacheByteSize(handle));
    const bytes = roomFor(where, 'the result', () => new Uint8Array(size));
    const arena = new Arena(engine);
    const out = arena.bytes(size);
    return arena.run(where, () => {
      engine.call((raw) => raw.cacheToBytes(handle, out.address));
      bytes.set(new Uint8Array(engine.u8.buffer, out.address, size));
      return bytes;
    });
  }

  fromBytes(given: Uint8Array | ArrayBuffer): void {
    const past = this.#at('fromBytes');
    const { engine, handle } = past;
    const where = 'cache.fromBytes';
    for (const { held } of past.encodings) requireLive(where, held);
    const expected = 'a Uint8Array or ArrayBuffer';
    const bytes = bytesOf(where, 'bytes', given, expected, (name) => name === 'Uint8Array');
    const arena = new Arena(engine);
    const at = arena.copyOf(bytes);
    arena.run(where, () => {
      engine.check(where, (raw) => raw.cacheFromBytes(handle, at.address, bytes.byteLength));
    });
  }

  /** As its options say it; what it holds is what `toBytes` is for. */
  toJSON(): object {
    const { shape, encodings } = this.#past;
    const { dtype, window, sinks, ownPositions, capacity, ...geometry } = shape;
    return {
      ...geometry,
      dtype: dtypes[dtype],
      ...(window === 0
        ? { capacity }
        : { window, sinks, positions: ownPositions ? 'cache' : 'text' }),
      encoding: encodings.map(({ held }) => held.info.id),
    };
  }

  #at(method: string): Past {
    const past = this.#past;
    if (past.state.disposed) throw disposed(`cache.${method}`, 'cache');
    past.engine.requireUsable();
    return past;
  }
}
makeDisposable(Cache.prototype as unknown as KVCache);

export function createCache(engine: Engine, options: unknown): KVCache {
  engine.requireUsable();
  const where = 'pe.cache';
  const { shape, encodings } = readCacheOptions(engine, options);
  const arena = new Arena(engine);
  const handles = arena.words(encodings.map(({ held }) => held.handle));
  arena.requires(() => {
    for (const { held } of encodings) requireLive(where, held);
  });
  const handle = arena.run(where, () => {
    engine.pass(cacheFields, {
      ...shape,
      encodings: handles.address,
      encodingCount: encodings.length,
    });
    const made = engine.call((raw) => raw.createCache());
    if (made === 0) throw engine.failure(where);
    return made;
  });
  return new Cache({
    engine,
    handle,
    shape,
    encodings,
    state: { disposed: false },
  }) as unknown as KVCache;
}

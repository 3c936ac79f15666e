// SPDX-License-Identifier: Apache-2.0
/** What a user of `posenc/worker` holds: objects whose methods are calls to the workers. */

import type { KVCache } from '../cache.js';
import { PosencError } from '../errors.js';
import { frozen } from '../freeze.js';
import type { EncodingInfo, Site } from '../manifest.js';
import { copyNumbers } from '../number-lists.js';
import { giveBack, makeDisposable } from '../owned.js';
import type { Info, MemoryUse, Posenc } from '../posenc.js';
import type { Hello, Remote } from './lane.js';
import { known, type Pool } from './pool.js';
import type { EncodingMethod, PosencWorker } from './types.js';

interface Made {
  json: object;
  sites?: readonly Site[];
  shape?: readonly number[];
}

/** Made apart from the owner: a function made in its constructor would keep it alive. */
const releaser = (pool: Pool, remote: Remote) => () => pool.release(remote);

class Handle {
  readonly #json: object;
  /** Lets go of it once the calls made before are done; a second call does nothing. */
  readonly dispose: () => void;

  constructor(pool: Pool, remote: Remote, { json }: Made) {
    this.#json = json;
    known.set(this, { pool, remote });
    const free = giveBack(this, releaser(pool, remote));
    this.dispose = () => {
      remote.disposed = true;
      free();
    };
  }

  toJSON(): object {
    return this.#json;
  }
}
makeDisposable(Handle.prototype as never);

async function callOn(handle: Handle, method: string, args: readonly unknown[]): Promise<unknown> {
  const { pool, remote } = known.get(handle) as { pool: Pool; remote: Remote };
  return pool.call(method, args, remote);
}

/** Gives a class the methods that are calls and nothing else. */
function forward(prototype: object, names: Readonly<Record<string, true>>): void {
  for (const name of Object.keys(names))
    Object.defineProperty(prototype, name, {
      configurable: true,
      writable: true,
      value(this: Handle, ...args: unknown[]) {
        return callOn(this, name, args);
      },
    });
}

class EncodingHandle extends Handle {
  readonly id: string;
  readonly sites: readonly Site[];
  constructor(pool: Pool, remote: Remote, made: Made) {
    super(pool, remote, made);
    this.id = (made.json as { id: string }).id;
    this.sites = Object.freeze([...(made.sites ?? [])]);
  }
}
forward(EncodingHandle.prototype, {
  table: true,
  embed: true,
  embedBackward: true,
  rotate: true,
  rotateBackward: true,
  plan: true,
  bias: true,
  distances: true,
} satisfies Record<EncodingMethod, true>);

class CacheHandle extends Handle {
  get length(): number {
    return known.get(this)?.remote.lengths?.length ?? 0;
  }
  get stored(): number {
    return known.get(this)?.remote.lengths?.stored ?? 0;
  }
  async fork(...args: unknown[]): Promise<CacheHandle> {
    const { pool, remote } = known.get(this) as { pool: Pool; remote: Remote };
    const { remote: other, made } = await pool.make('cache', 'fork', args, remote);
    return new CacheHandle(pool, other, made as Made);
  }
}
type Forwarded<T, Not extends PropertyKey> = Record<Exclude<keyof T & string, Not>, true>;
forward(CacheHandle.prototype, {
  append: true,
  truncate: true,
  reset: true,
  toBytes: true,
  fromBytes: true,
} satisfies Forwarded<KVCache, 'length' | 'stored' | 'fork' | 'dispose'>);

class TensorHandle extends Handle {
  readonly shape: readonly number[];
  constructor(pool: Pool, remote: Remote, made: Made) {
    super(pool, remote, made);
    this.shape = Object.freeze([...(made.shape ?? [])]);
  }
  get data(): never {
    throw new PosencError({
      code: 'UNSUPPORTED',
      field: 'data',
      message: 'tensor.data: this tensor is in a worker; await tensor.read() gives a copy.',
    });
  }
  async read(...call: unknown[]) {
    return { data: await callOn(this, 'data', call), shape: [...this.shape] };
  }
  async write(data: unknown, ...call: unknown[]): Promise<void> {
    const numbers = copyNumbers('tensor.write', 'data', data, 'an array of numbers');
    await callOn(this, 'write', [new Float32Array(numbers), ...call]);
  }
}

class Instance {
  readonly #pool: Pool;
  readonly info: PosencWorker['info'];
  readonly encodings: readonly EncodingInfo[];

  constructor(pool: Pool, hello: Hello, loading: Info['loading']) {
    this.#pool = pool;
    const { version, build } = hello;
    const workers = pool.lanes.length;
    const memory = () => memoryOf(pool);
    this.info = Object.freeze({ version, build, loading, workers, memory });
    this.encodings = frozen(hello.encodings);
  }

  async encoding(...args: unknown[]) {
    const { remote, made } = await this.#pool.make('encoding', 'encoding', args);
    return new EncodingHandle(this.#pool, remote, made as Made);
  }
  async cache(...args: unknown[]) {
    const { remote, made } = await this.#pool.make('cache', 'cache', args);
    return new CacheHandle(this.#pool, remote, made as Made);
  }
  async tensor(...args: unknown[]) {
    const { remote, made } = await this.#pool.make('tensor', 'tensor', args);
    return new TensorHandle(this.#pool, remote, made as Made);
  }
  attention(...args: unknown[]) {
    return this.#pool.call('attention', args);
  }
  attentionBackward(...args: unknown[]) {
    return this.#pool.call('attentionBackward', args);
  }
  merge(...args: unknown[]) {
    return this.#pool.call('merge', args);
  }
  dispose(): void {
    this.#pool.end();
  }
}
makeDisposable(Instance.prototype);

async function memoryOf(pool: Pool): Promise<MemoryUse> {
  const all = (await Promise.all(pool.lanes.map((lane) => lane.memory()))) as MemoryUse[];
  const sum = (name: keyof MemoryUse) => all.reduce((total, one) => total + one[name], 0);
  return {
    bytes: sum('bytes'),
    live: sum('live'),
    liveBytes: sum('liveBytes'),
    heapBytes: sum('heapBytes'),
    peakBytes: sum('peakBytes'),
  };
}

export function remoteInstance(pool: Pool, hello: Hello, loading: Info['loading']): PosencWorker {
  // The methods of the instance it stands for, none left out.
  const all: Record<Exclude<keyof Posenc, symbol>, unknown> = new Instance(pool, hello, loading);
  return all as unknown as PosencWorker;
}

// SPDX-License-Identifier: Apache-2.0
/** Calls whose arguments do something when they are read, and what they can do. */

import fc from 'fast-check';
import { type KVCache, mropePositions, type Posenc, readSafetensors, type Tensor } from 'posenc';
import { resizable } from './buffers.ts';
import { anyEncoding } from './instance.ts';
import { noise } from './numbers.ts';

export const mine = new Error('thrown by a getter');
export const acts = [
  'nothing',
  'throw',
  'revoke',
  'dispose tensor',
  'dispose encoding',
  'dispose cache',
  'feed cache',
  'transfer',
  'shrink',
  'grow buffer',
  'mutate',
  'call',
  'grow memory',
] as const;
export type Act = (typeof acts)[number] | 'dispose instance';
/** After these the call is to give what it gives without them. */
export const harmless: readonly Act[] = ['nothing', 'call', 'grow memory', 'grow buffer'];

const kinds = [
  'plain',
  'owned',
  'view of owned',
  'resizable',
  'dims',
  'dataSync',
  'numbers',
] as const;
type Kind = (typeof kinds)[number];
const methods = [
  'attention',
  'cache',
  'rotate',
  'embed',
  'table',
  'bias',
  'encoding',
  'tensor',
  'pure',
] as const;

export interface Plan {
  method: (typeof methods)[number];
  act: Act;
  /** The read at which it acts, counted over all trapped properties. */
  when: number;
  kinds: readonly Kind[];
  out: Kind;
  optional: readonly boolean[];
}

export const plan = (act: fc.Arbitrary<Act>): fc.Arbitrary<Plan> =>
  fc.record({
    method: fc.constantFrom(...methods),
    act,
    when: fc.nat(90),
    kinds: fc.array(fc.constantFrom(...kinds), { minLength: 3, maxLength: 3 }),
    out: fc.constantFrom(...kinds.slice(0, 4)),
    optional: fc.array(fc.boolean(), { minLength: 10, maxLength: 10 }),
  });

/** One call with everything it reads under watch. */
export class Trap {
  readonly #pe: Posenc;
  readonly #plan: Plan;
  #reads = 0;
  #acted = false;
  readonly #revokes: (() => void)[] = [];
  readonly #owned: { dispose(): void }[] = [];
  readonly #buffers: ArrayBuffer[] = [];
  readonly #arrays: number[][] = [];
  readonly #encodings: { dispose(): void }[] = [];
  readonly #caches: KVCache[] = [];
  readonly #noise = noise(7);

  constructor(from: Posenc, plan: Plan) {
    this.#pe = from;
    this.#plan = plan;
  }

  call(): unknown {
    const { method, optional, out } = this.#plan;
    const [hasEncoding, hasMask, hasPositions, hasOut, weights, two, floats, owned] = optional;
    const [rules, packed] = optional.slice(8);
    const it = this.#pe;
    const x = (i: number) => this.#tensor([1, 2, 3, 4], this.#plan.kinds[i]);
    const place = (shape: number[]) => (hasOut ? { out: this.#tensor(shape, out) } : {});
    const positions = (n: number) => this.#array(Array.from({ length: n }, (_, i) => i + 1));
    switch (method) {
      case 'attention': {
        const rope = this.#encoding('rope', { headDim: 4 });
        const alibi = this.#encoding('alibi', { heads: 2 });
        const mask = floats
          ? this.#tensor([3, 3], owned ? 'owned' : 'resizable')
          : { data: this.#bytes(9), shape: this.#array([3, 3]) };
        return it.attention(
          x(0),
          x(1),
          x(2),
          this.#watch({
            ...(hasEncoding && { encoding: two ? this.#watch([rope, alibi]) : rope }),
            ...(hasMask && { mask: this.#watch(mask) }),
            ...(hasPositions && { queryPositions: positions(3), keyPositions: { start: 1 } }),
            ...place([1, 2, 3, 4]),
            ...(rules && {
              ...(packed
                ? { cuSeqlens: this.#watch({ q: this.#array([0, 2, 3]) }) }
                : { keyLengths: this.#array([2]), queryLengths: this.#array([3]) }),
              window: this.#watch({ left: 1, first: 1 }),
              prefix: this.#array(packed ? [1, 0] : [1]),
              sinks: this.#array([0, 1]),
              queryScale: this.#watch({ kind: 'logn', length: 2 }),
              qNorm: this.#watch({
                kind: 'l2',
                weight: two ? this.#array([1, 2, 3, 4]) : this.#tensor([2, 4], 'resizable'),
              }),
            }),
            weights,
            causal: two,
          }) as never,
        );
      }
      case 'cache': {
        const rope = this.#encoding('rope', { headDim: 4 });
        const cache = it.cache(
          this.#watch({
            batch: 1,
            heads: 2,
            headDim: 4,
            capacity: 12,
            ...(hasEncoding && { encoding: two ? this.#watch([rope]) : rope }),
            dtype: floats ? 'f32' : 'i8',
          }) as never,
        );
        this.#caches.push(cache);
        if (hasPositions) {
          const at = positions(3);
          cache.append(x(1), x(2), at, this.#watch({ layout: 'bhnd' }) as never);
        }
        const bytes = cache.toBytes();
        if (owned) cache.fromBytes(bytes);
        return it.attention(
          x(0),
          cache,
          this.#watch({
            append: this.#watch({ k: x(1), v: x(2) }),
            ...(hasMask && { mask: { data: this.#bytes(3), shape: this.#array([3, 1]) } }),
            ...place([1, 2, 3, 4]),
            causal: two,
          }) as never,
        );
      }
      case 'rotate':
        return this.#encoding('rope', { headDim: 4 }).rotate(
          x(0),
          hasPositions ? positions(3) : undefined,
          this.#watch({ ...place([1, 2, 3, 4]), inverse: two }),
        );
      case 'embed':
      case 'table': {
        const table = { data: Float32Array.from({ length: 32 }, this.#noise), shape: [8, 4] };
        const learned = this.#encoding('learned', { table });
        return method === 'table'
          ? learned.table(positions(3), this.#watch(place([3, 4])))
          : learned.embed(x(0), positions(3), this.#watch(place([1, 2, 3, 4])));
      }
      case 'bias':
        return this.#encoding('alibi', { heads: 2 }).bias(
          positions(3),
          positions(2),
          this.#watch(place([2, 3, 2])),
        );
      case 'encoding': {
        const table = this.#tensor([4, 4], this.#plan.kinds[0]);
        const sections = this.#array([1, 1]);
        anyEncoding(it, 'learned', this.#watch({ table, offset: 0 })).dispose();
        anyEncoding(it, 'mrope', this.#watch({ headDim: 4, sections })).dispose();
        return undefined;
      }
      case 'tensor':
        it.tensor(this.#array([2, 2]), this.#array([1, 2, 3, 4])).dispose();
        return undefined;
      default:
        mropePositions(
          this.#watch([positions(4), positions(4)]) as never,
          this.#watch({ attentionMask: this.#watch([positions(4), positions(4)]) }) as never,
        );
        return readSafetensors(
          Uint8Array.of(2, 0, 0, 0, 0, 0, 0, 0, 123, 125),
          this.#watch({ maxHeaderBytes: 99 }),
        ).size;
    }
  }

  end(): void {
    for (const one of [...this.#owned, ...this.#caches, ...this.#encodings]) one.dispose();
  }

  #watch<T extends object>(target: T): T {
    const look = (): void => {
      if (this.#reads++ === this.#plan.when && !this.#acted) this.#act();
    };
    const { proxy, revoke } = Proxy.revocable(target, {
      get: (it, name) => {
        look();
        const value = Reflect.get(it, name) as unknown;
        return typeof value === 'function' && name === 'dataSync' ? value.bind(it) : value;
      },
      ownKeys(it) {
        look();
        return Reflect.ownKeys(it);
      },
      getOwnPropertyDescriptor(it, name) {
        look();
        return Reflect.getOwnPropertyDescriptor(it, name);
      },
    });
    this.#revokes.push(revoke);
    return proxy;
  }

  #array(values: number[]): number[] {
    const copy = [...values];
    this.#arrays.push(copy);
    return this.#watch(copy);
  }

  #bytes(count: number): Uint8Array {
    const bytes = new Uint8Array(count).fill(1);
    this.#buffers.push(bytes.buffer);
    return bytes;
  }

  #encoding(id: string, options: object) {
    const made = anyEncoding(this.#pe, id, options);
    this.#encodings.push(made);
    return made;
  }

  #tensor(extents: number[], kind: Kind): Tensor {
    const size = extents.reduce((a, b) => a * b, 1);
    const values = Float32Array.from({ length: size }, this.#noise);
    const shape = this.#array(extents);
    if (kind === 'owned' || kind === 'view of owned') {
      const owned = this.#pe.tensor(extents, values);
      this.#owned.push(owned);
      return kind === 'owned' ? owned : this.#watch({ data: owned.data, shape });
    }
    if (kind === 'numbers')
      return this.#watch({ data: this.#array([...values]), dims: shape }) as never;
    const buffer = resizable(size * 4, size * 8);
    this.#buffers.push(buffer);
    const data = new Float32Array(buffer);
    data.set(values);
    if (kind === 'dims') return this.#watch({ data, dims: shape }) as never;
    if (kind === 'dataSync') return this.#watch({ shape, dataSync: () => data }) as never;
    return this.#watch({ data, shape });
  }

  #act(): void {
    this.#acted = true;
    const each = <T>(list: readonly T[], act: (one: T) => void) => {
      for (const one of list) act(one);
    };
    const resize = (bytes: (now: number) => number) =>
      each(this.#buffers, (buffer) => {
        const it = buffer as ReturnType<typeof resizable> & { resizable?: boolean };
        if (it.resizable === true) it.resize(bytes(it.byteLength));
      });
    const x = { data: Float32Array.of(1, 2, 3, 4), shape: [1, 1, 4] };
    const acts: Record<Act, () => void> = {
      nothing() {},
      throw() {
        throw mine;
      },
      revoke: () => each(this.#revokes, (revoke) => revoke()),
      'dispose tensor': () => each(this.#owned, (one) => one.dispose()),
      'dispose encoding': () => each(this.#encodings, (one) => one.dispose()),
      'dispose cache': () => each(this.#caches, (one) => one.dispose()),
      'feed cache': () => {
        const k = { data: new Float32Array(8), shape: [1, 2, 1, 4] };
        each(this.#caches, (one) => one.append(k, k));
      },
      transfer: () =>
        each(this.#buffers, (buffer) => {
          if (buffer.byteLength > 0) structuredClone(buffer, { transfer: [buffer] });
        }),
      shrink: () => resize((now) => now >> 1),
      'grow buffer': () => resize((now) => now + 4),
      mutate: () =>
        each(this.#arrays, (array) => {
          array[0] = 1e9;
          array.length += 1;
        }),
      call: () => {
        this.#pe.attention(x, x, x, { weights: true });
        anyEncoding(this.#pe, 'rope-linear', { headDim: 4, factor: 2 }).dispose();
      },
      'grow memory': () => this.#pe.tensor([this.#pe.info.memory().heapBytes / 4]).dispose(),
      'dispose instance': () => this.#pe.dispose(),
    };
    acts[this.#plan.act]();
  }
}

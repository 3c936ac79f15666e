// SPDX-License-Identifier: Apache-2.0
/**
 * The memory of one call: everything it needs is declared first, then allocated at once, and freed
 * when the call ends however it ends. So a call can run out of memory in one place only.
 */

import type { Engine } from './engine.js';
import {
  typedArrayBuffer,
  typedArrayBytes,
  typedArrayOffset,
  typedArraySet,
} from './intrinsics.js';
import { type CapturedPositions, CountUp } from './positions.js';
import type { Target } from './target.js';
import type { Source } from './tensor.js';

const alignment = 16;

/** A place in the arena, or in an owned tensor; its address is known while the arena is open. */
export interface Slot {
  readonly address: number;
}

type Fill = (address: number) => void;

interface Place {
  address: number;
  readonly offset: number;
  readonly fill: Fill | undefined;
}

/** So many numbers are written one by one: the built-in costs 50 ns before it copies anything. */
const few = 16;

export class Arena {
  readonly #engine: Engine;
  readonly #checks: (() => void)[] = [];
  readonly #read: Source[] = [];
  readonly #places: Place[] = [];
  #bytes = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Uninitialised bytes. */
  bytes(size: number, fill?: Fill): Slot {
    const place = { address: 0, offset: this.#bytes, fill };
    this.#places.push(place);
    this.#bytes += Math.ceil(size / alignment) * alignment;
    return place;
  }

  doubles(values: Float64Array): Slot {
    return this.bytes(values.length * 8, (at) => {
      const heap = this.#engine.f64;
      if (values.length > few) typedArraySet(heap, values, at / 8);
      else for (let i = 0; i < values.length; ++i) heap[at / 8 + i] = values[i];
    });
  }

  /** Few that count up are written where they go: an array in between takes as long as the rest of a small call's arguments. */
  positions(at: CapturedPositions): Slot {
    const count = at.rows * (at instanceof CountUp ? at.axes : few + 1);
    if (!(at instanceof CountUp) || count > few) return this.doubles(at.values);
    return this.bytes(count * 8, (to) => at.writeTo(this.#engine.f64, to / 8));
  }

  /** Rounded to single precision. */
  floats(values: Float64Array): Slot {
    return this.bytes(values.length * 4, (at) => {
      typedArraySet(this.#engine.f32, values, at / 4);
    });
  }

  /** 32-bit numbers; negative ones wrap, as both sides know them. */
  words(values: readonly number[]): Slot {
    return this.bytes(values.length * 4, (at) => {
      const words = this.#engine.u32;
      for (let i = 0; i < values.length; ++i) words[at / 4 + i] = values[i];
    });
  }

  ascii(letters: string): Slot {
    return this.bytes(letters.length, (at) => {
      const bytes = this.#engine.u8;
      for (let i = 0; i < letters.length; ++i) bytes[at + i] = letters.charCodeAt(i);
    });
  }

  copyOf(view: Uint8Array): Slot {
    // The module's own memory moves when it grows, which allocating may make it do.
    const [from, size] = [typedArrayOffset(view), typedArrayBytes(view)];
    const own = typedArrayBuffer(view) === this.#engine.u8.buffer;
    return this.bytes(size, (at) => {
      const heap = this.#engine.u8;
      if (own) heap.copyWithin(at, from, from + size);
      else typedArraySet(heap, view, at);
    });
  }

  /** What must still hold when all code of the user's has run. */
  requires(check: () => void): void {
    this.#checks.push(check);
  }

  /** A tensor to read: where it is when the library owns it, else a copy. */
  input(source: Source): Slot {
    if (source.address === undefined) return this.#copied(source);
    this.#read.push(source);
    return { address: source.address };
  }

  /** Where a result is computed: in an owned tensor itself, else here. */
  output(target: Target): Slot {
    return target.address === undefined ? this.bytes(target.size * 4) : { address: target.address };
  }

  /** The same, for a result that the core adds to. */
  zeros(target: Target): Slot {
    return this.bytes(target.size * 4, (at) => {
      this.#engine.u8.fill(0, at, at + target.size * 4);
    });
  }

  /**
   * For operations that work in place: `data` is where, `from` where the values come from. The core
   * copies the one to the other when nothing can fail any more, so an owned `out` is not spoilt.
   */
  work(target: Target, source: Source): { data: Slot; from: Slot } {
    if (target.address !== undefined)
      return { data: { address: target.address }, from: this.input(source) };
    const copy = this.#copied(source);
    return { data: copy, from: copy };
  }

  #copied(source: Source): Slot {
    this.#read.push(source);
    return this.bytes(source.size * 4, (at) => source.copyTo(this.#engine, at));
  }

  /** Checks once more, allocates, fills, runs and frees; no code of the user's runs in between. */
  run<T>(where: string, body: () => T): T {
    for (let i = 0; i < this.#checks.length; ++i) this.#checks[i]();
    for (let i = 0; i < this.#read.length; ++i) this.#read[i].recheck();
    const places = this.#places;
    const base = this.#engine.borrow(where, this.#bytes);
    try {
      for (let i = 0; i < places.length; ++i) places[i].address = base + places[i].offset;
      for (let i = 0; i < places.length; ++i) places[i].fill?.(places[i].address);
      return body();
    } finally {
      this.#engine.handBack(base, this.#bytes);
    }
  }
}

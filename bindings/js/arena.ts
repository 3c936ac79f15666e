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
import type { Target } from './target.js';
import type { Source } from './tensor.js';

const alignment = 16;

/** A place in the arena, or in an owned tensor; its address is known while the arena is open. */
export interface Slot {
  readonly address: number;
}

type Fill = (address: number) => void;

export class Arena {
  readonly #engine: Engine;
  readonly #fills: { slot: { address: number }; fill: Fill }[] = [];
  readonly #checks: (() => void)[] = [];
  readonly #slots: { slot: { address: number }; offset: number }[] = [];
  #bytes = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Uninitialised bytes. */
  bytes(size: number, fill?: Fill): Slot {
    const slot = { address: 0 };
    this.#slots.push({ slot, offset: this.#bytes });
    this.#bytes += Math.ceil(size / alignment) * alignment;
    if (fill !== undefined) this.#fills.push({ slot, fill });
    return slot;
  }

  doubles(values: Float64Array): Slot {
    return this.bytes(values.length * 8, (at) => {
      const heap = this.#engine.f64;
      // The built-in costs 50 ns before it copies anything.
      if (values.length > 16) typedArraySet(heap, values, at / 8);
      else for (let i = 0; i < values.length; ++i) heap[at / 8 + i] = values[i];
    });
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
    this.requires(source.recheck);
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
    this.requires(source.recheck);
    return this.bytes(source.size * 4, (at) => source.copyTo(this.#engine, at));
  }

  /** Checks once more, allocates, fills, runs and frees; no code of the user's runs in between. */
  run<T>(where: string, body: () => T): T {
    for (const check of this.#checks) check();
    const base = this.#engine.allocate(where, Math.max(this.#bytes, alignment));
    try {
      for (const { slot, offset } of this.#slots) slot.address = base + offset;
      for (const { slot, fill } of this.#fills) fill(slot.address);
      return body();
    } finally {
      this.#engine.release(base, Math.max(this.#bytes, alignment));
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
/**
 * One instance of the module: the only place that calls into it. Turns a status into an error, and
 * a trap into a dead instance, since nothing can be known of its memory after one.
 */

import { errorTable, version } from './encodings.gen.js';
import { fault, PosencError, type PosencErrorCode, text } from './errors.js';
import { failureFields, type RawFailure, type RawModule } from './raw.js';

/** The heap ends at 2 GiB; a bigger number would wrap around on its way across. */
export function requireFits(where: string, bytes: number): void {
  if (bytes <= 2 ** 31 - 2 ** 16) return;
  throw fault('TOO_LARGE', {
    where,
    field: 'memory',
    expected: 'at most 2 GiB for one call',
    received: text(`${bytes} bytes`),
    advice: 'Split the work.',
    more: { bytes },
  });
}

/** 64 rows of a small call's positions fit, and its arguments. */
const sharedBytes = 1024;

export class Engine {
  #raw: RawModule;
  readonly #shared: number;
  readonly #passed: number;
  /** Why nothing can be called any more. */
  #ended: 'trap' | 'disposed' | undefined;
  #peakBytes = 0;
  /** Every buffer that has been this instance's memory: growth leaves detached ones behind. */
  readonly #buffers = new WeakSet<ArrayBufferLike>();
  /** Address and bytes of the tensors that are there: other memory of ours is nobody's to use. */
  readonly tensors = new Map<number, number>();

  constructor(raw: RawModule) {
    this.#raw = raw;
    this.#shared = raw.sharedBlock(sharedBytes);
    this.#passed = raw.passed() / 8;
  }

  get f32(): Float32Array {
    return this.#remember(this.#live.HEAPF32);
  }
  get f64(): Float64Array {
    return this.#live.HEAPF64;
  }
  get u8(): Uint8Array {
    return this.#live.HEAPU8;
  }
  get u32(): Uint32Array {
    return this.#live.HEAPU32;
  }
  /** The instance may have been disposed of by a getter of the user's, in the middle of a call. */
  get #live(): RawModule {
    this.requireUsable();
    return this.#raw;
  }

  owns(buffer: ArrayBufferLike): boolean {
    return buffer === this.f32.buffer;
  }
  /** Whether these bytes belong to a tensor that is still there. */
  inTensor(start: number, end: number): boolean {
    for (const [address, bytes] of this.tensors)
      if (start >= address && end <= address + bytes) return true;
    return start === end;
  }
  owned(buffer: ArrayBufferLike): boolean {
    return this.#buffers.has(buffer);
  }

  get memory() {
    const usable = this.#ended === undefined;
    const liveBytes = usable ? this.call((raw) => raw.liveBytes()) : 0;
    const live = usable ? this.call((raw) => raw.liveBlocks()) : 0;
    this.#peakBytes = Math.max(this.#peakBytes, liveBytes);
    const heapBytes = this.#ended === 'disposed' ? 0 : this.#raw.HEAPU8.byteLength;
    return { bytes: liveBytes, live, liveBytes, heapBytes, peakBytes: this.#peakBytes };
  }

  get usable(): boolean {
    return this.#ended === undefined;
  }
  requireUsable(): void {
    if (this.#ended !== undefined) throw this.#gone();
  }
  dispose(): void {
    this.#ended ??= 'disposed';
    // So that the memory can be collected although something still refers to this instance.
    this.#raw = undefined as never;
  }

  /** Every crossing goes through here. */
  call<T>(crossing: (raw: RawModule) => T): T {
    this.requireUsable();
    try {
      return crossing(this.#raw);
    } catch (cause) {
      this.#ended = 'trap';
      throw new PosencError({
        code: 'TRAP',
        field: 'pe',
        message: `posenc ${version} stopped unexpectedly: this is a bug in posenc, please report it. The instance is unusable, load({ fresh: true }) gives a new one.`,
        details: { version, reason: String((cause as Error)?.message ?? cause).slice(0, 200) },
        cause,
      });
    }
  }

  /** Numbers for the crossing that comes next. */
  pass<Field extends string>(
    fields: readonly Field[],
    call: Readonly<Record<Field, number | boolean>>,
  ): void {
    const heap = this.f64;
    for (let i = 0; i < fields.length; ++i) heap[this.#passed + i] = Number(call[fields[i]]);
  }

  /** A crossing that reports a status. */
  check(where: string, crossing: (raw: RawModule) => number): void {
    if (this.call(crossing) !== 0) throw this.failure(where);
  }

  /** The error behind the last status. */
  failure(where: string): PosencError {
    this.call((raw) => raw.failure());
    const seen = Object.fromEntries(
      failureFields.map((name, i) => [name, this.f64[this.#passed + i]]),
    ) as RawFailure;
    const code = (errorTable[seen.code]?.[0] ?? 'INTERNAL') as PosencErrorCode;
    const field = this.#ascii(seen.field, seen.fieldLength) || 'the call';
    const phrase = this.#ascii(seen.expected, seen.expectedLength) || 'valid';
    const { low, high } = seen;
    const expected = Number.isNaN(low) ? phrase : `${phrase}, from ${low} to ${high}`;
    if (code === 'OUT_OF_MEMORY') return this.outOfMemory(where, seen.received);
    return fault(code, {
      where,
      field,
      expected,
      ...(Number.isNaN(seen.received) ? {} : { received: seen.received }),
      ...(seen.index < 0 ? {} : { index: seen.index }),
    });
  }

  allocate(where: string, bytes: number): number {
    requireFits(where, bytes);
    const address = this.call((raw) => raw.allocate(bytes));
    if (address === 0) throw this.outOfMemory(where, bytes);
    this.#peakBytes = Math.max(this.#peakBytes, this.#raw.liveBytes());
    return address;
  }

  release(address: number, bytes: number): void {
    if (this.#ended === undefined) this.call((raw) => raw.release(address, bytes));
  }

  /**
   * Memory that one call has while nothing else runs. Small calls share a block: 4 values are rotated
   * in 0.97 µs instead of 1.15 (`node bench/start.mjs`).
   */
  borrow(where: string, bytes: number): number {
    if (bytes > sharedBytes || this.#shared === 0) return this.allocate(where, bytes);
    this.requireUsable();
    return this.#shared;
  }

  handBack(address: number, bytes: number): void {
    if (address !== this.#shared) this.release(address, bytes);
  }

  outOfMemory(where: string, bytes: number): PosencError {
    const { liveBytes, heapBytes } = this.memory;
    return fault('OUT_OF_MEMORY', {
      where,
      field: 'memory',
      expected: `free for ${Number.isNaN(bytes) ? 'the call' : `${bytes} bytes`}`,
      received: text(`${liveBytes} bytes in use of at most 2 GiB`),
      advice: 'Dispose tensors, split the work or load({ fresh: true }).',
      more: { bytes, liveBytes, heapBytes },
    });
  }

  #gone(): PosencError {
    return this.#ended === 'trap'
      ? new PosencError({
          code: 'INSTANCE_DEAD',
          field: 'pe',
          message:
            'this instance of posenc stopped unexpectedly before and cannot be used: load({ fresh: true }) gives a new one.',
        })
      : new PosencError({
          code: 'DISPOSED',
          field: 'pe',
          message: 'this instance of posenc was disposed: load() gives a new one.',
        });
  }

  #remember<T extends Float32Array>(view: T): T {
    this.#buffers.add(view.buffer);
    return view;
  }

  #ascii(address: number, length: number): string {
    const bytes = this.u8;
    let decoded = '';
    for (let i = 0; i < length; ++i) decoded += String.fromCharCode(bytes[address + i]);
    return decoded;
  }
}

// SPDX-License-Identifier: Apache-2.0
/**
 * `readGGUFHeader`: metadata and the list of tensors at the head of a GGUF file, for `fromGGUF`. Every
 * length is held against the bytes that are left before anything is made of it.
 */

import { bytesOf } from './bytes.js';
import { fault, quote, text } from './errors.js';

export interface GGUFTensorInfo {
  readonly name: string;
  readonly shape: readonly number[];
  /** The number of the file's own type of quantisation; 0 is float32, 1 float16. */
  readonly type: number;
  /** From the start of the data. */
  readonly offset: number;
}

export interface GGUFHeader {
  readonly version: number;
  /** Dotted keys; integers of 64 bits are BigInt, and lists of more than 4096 numbers typed arrays. */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly tensors: readonly GGUFTensorInfo[];
  /** Where the data begins. */
  readonly dataOffset: number;
}

const where = 'readGGUFHeader';
/** Vocabularies make headers of some megabytes; nothing sensible makes them larger than this. */
const mostBytes = 64 * 2 ** 20;
const mostDepth = 4;
const mostAxes = 8;

export function readGGUFHeader(bytes: ArrayBuffer | Uint8Array): GGUFHeader {
  const isBytes = (typedArray: string | undefined) => typedArray === 'Uint8Array';
  const file = bytesOf(where, 'bytes', bytes, 'an ArrayBuffer or a Uint8Array', isBytes);
  return new Reader(file).header();
}

/** Bytes of the types of fixed size, by number: u8 i8 u16 i16 u32 i32 f32 bool, then u64 i64 f64. */
const sizes = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];
/** What holds many numbers of a type in as much memory as the file; truth values are not numbers. */
const numberTypes = [
  Uint8Array,
  Int8Array,
  Uint16Array,
  Int16Array,
  Uint32Array,
  Int32Array,
  Float32Array,
  undefined,
  undefined,
  undefined,
  BigUint64Array,
  BigInt64Array,
  Float64Array,
];
/** Lists of numbers up to here are arrays: no model has so many layers, and longer ones belong to vocabularies. */
const longestList = 4096;
const stringType = 8;
const arrayType = 9;

class Reader {
  readonly #view: DataView;
  readonly #bytes: Uint8Array;
  readonly #end: number;
  readonly #text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#end = Math.min(bytes.length, mostBytes);
  }

  header(): GGUFHeader {
    const magic = this.#u32();
    if (magic !== 0x46554747) throw this.#bad(0, "'GGUF' at the start", `0x${magic.toString(16)}`);
    const version = this.#u32();
    if (version !== 2 && version !== 3)
      throw this.#bad(4, 'of version 2 or 3, little-endian', String(version));
    const tensorCount = this.#count('tensors', 24);
    const pairCount = this.#count('keys', 13);
    const metadata: Record<string, unknown> = Object.create(null);
    for (let i = 0; i < pairCount; ++i) {
      const at = this.#at;
      const key = this.#string();
      if (Object.hasOwn(metadata, key))
        throw fault('DUPLICATE_NAME', {
          where,
          field: quote(key).slice(1, -1),
          expected: 'the only entry of its name',
          received: text('a second one'),
          more: { offset: at },
        });
      metadata[key] = this.#value(this.#u32(), 0);
    }
    const tensors: GGUFTensorInfo[] = [];
    for (let i = 0; i < tensorCount; ++i) tensors.push(this.#tensor());
    const step = Number(metadata['general.alignment'] ?? 32);
    if (!Number.isInteger(step) || step < 1 || step > 2 ** 20)
      throw this.#bad(this.#at, 'general.alignment from 1 to 2^20', String(step));
    return { version, metadata, tensors, dataOffset: Math.ceil(this.#at / step) * step };
  }

  #tensor(): GGUFTensorInfo {
    const name = this.#string();
    const at = this.#at;
    const axes = this.#u32();
    if (axes > mostAxes) throw this.#bad(at, `a tensor of at most ${mostAxes} axes`, String(axes));
    const shape: number[] = [];
    // The file counts from the axis whose elements are neighbours; rows come first everywhere else.
    for (let i = 0; i < axes; ++i) shape.unshift(this.#safe());
    return { name, shape, type: this.#u32(), offset: this.#safe() };
  }

  #value(type: number, depth: number): unknown {
    if (type === stringType) return this.#string();
    if (type === arrayType) return this.#array(depth + 1);
    const size = sizes[type];
    if (size === undefined) throw this.#bad(this.#at - 4, 'a type from 0 to 12', String(type));
    const at = this.#take(size);
    switch (type) {
      case 0:
        return this.#view.getUint8(at);
      case 1:
        return this.#view.getInt8(at);
      case 2:
        return this.#view.getUint16(at, true);
      case 3:
        return this.#view.getInt16(at, true);
      case 4:
        return this.#view.getUint32(at, true);
      case 5:
        return this.#view.getInt32(at, true);
      case 6:
        return this.#view.getFloat32(at, true);
      case 7:
        return this.#view.getUint8(at) !== 0;
      case 10:
        return this.#view.getBigUint64(at, true);
      case 11:
        return this.#view.getBigInt64(at, true);
      default:
        return this.#view.getFloat64(at, true);
    }
  }

  #array(depth: number): unknown {
    if (depth > mostDepth)
      throw this.#bad(this.#at, `lists nested at most ${mostDepth} deep`, 'deeper ones');
    const at = this.#at;
    const type = this.#u32();
    if (type > 12) throw this.#bad(at, 'a type from 0 to 12', String(type));
    const length = this.#count(
      'elements',
      type === stringType ? 8 : type === arrayType ? 12 : sizes[type],
    );
    const Type = length > longestList ? numberTypes[type] : undefined;
    if (Type !== undefined) {
      const start = this.#take(length * sizes[type]);
      return new Type(this.#bytes.slice(start, this.#at).buffer);
    }
    // As long as it will be: pushing makes room for 17 where there is one, 22 times the file's bytes in lists of lists.
    const values = new Array<unknown>(length);
    for (let i = 0; i < length; ++i) values[i] = this.#value(type, depth);
    return values;
  }

  #string(): string {
    const length = this.#count('bytes', 1);
    const at = this.#take(length);
    try {
      return this.#text.decode(this.#bytes.subarray(at, at + length));
    } catch {
      // Tokens of byte-level vocabularies are not always text; a key that is not finds no reader.
      return '\ufffd';
    }
  }

  /** A number of things that take at least `each` bytes. */
  #count(what: string, each: number): number {
    const at = this.#at;
    const count = this.#u64();
    const left = this.#end - this.#at;
    if (count * each <= left) return count;
    const cut = this.#end === this.#bytes.length ? 'TRUNCATED' : 'BAD_HEADER';
    throw fault(count > 2 ** 40 ? 'BAD_HEADER' : cut, {
      where,
      field: 'header',
      expected: `such that its ${what} at byte ${at} fit into the ${left} bytes after it`,
      received: count,
      more: { offset: at, claimed: count, available: left },
    });
  }

  #safe(): number {
    const at = this.#at;
    const value = this.#u64();
    if (Number.isSafeInteger(value)) return value;
    throw this.#bad(at, 'an integer below 2^53', String(value));
  }

  #u64(): number {
    const at = this.#take(8);
    return this.#view.getUint32(at, true) + this.#view.getUint32(at + 4, true) * 2 ** 32;
  }

  #u32(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  #take(length: number): number {
    const at = this.#at;
    if (at + length > this.#end)
      throw fault('TRUNCATED', {
        where,
        field: 'header',
        expected: `complete: ${length} bytes are due at byte ${at}`,
        received: text(`${this.#end} bytes in all`),
        more: { offset: at, available: this.#end - at },
      });
    this.#at = at + length;
    return at;
  }

  #bad(offset: number, expected: string, came: string) {
    return fault('BAD_HEADER', {
      where,
      field: 'header',
      expected,
      received: text(came),
      more: { offset },
    });
  }
}

// SPDX-License-Identifier: Apache-2.0
/**
 * From whatever the user calls a tensor to what a call needs: a snapshot taken by reading each
 * property once, after which no code of the user's runs until the call has returned.
 */

import type { Engine } from './engine.js';
import { fault, shapeText, text } from './errors.js';
import {
  isArray,
  isOutOfBounds,
  isView,
  typedArrayBuffer,
  typedArrayLength,
  typedArrayName,
  typedArrayOffset,
  typedArraySet,
} from './intrinsics.js';
import { copyNumbers, isNumberView } from './number-lists.js';
import { type Holding, holdingOf } from './owned.js';
import { shape as checkShape, detached, reading, roomFor, sizeOf, wrongType } from './validate.js';

/** Where some bytes lie; `space` is the buffer, or the instance for bytes in its memory. */
export interface Extent {
  space: object;
  start: number;
  end: number;
}

/** A tensor to read. */
export interface Source {
  readonly shape: readonly number[];
  readonly size: number;
  /** Where it is in the memory of the instance, if the instance owns it. */
  readonly address?: number;
  readonly extent: Extent;
  /** Throws if user code that ran since has disposed of it or taken its memory away. */
  recheck(): void;
  copyTo(engine: Engine, address: number): void;
}

const asTensor = 'a tensor: { data: Float32Array, shape }';

export function capture(engine: Engine, where: string, field: string, input: unknown): Source {
  if (typeof input !== 'object' || input === null || isView(input) || isArray(input))
    throw wrongType(where, field, asTensor, input);
  const holding = holdingOf(engine, where, field, input);
  if (holding !== undefined) return new OwnedSource(engine, where, field, input, holding);
  const { data, shape: given } = reading(where, field, input, () =>
    read(where, field, input as Foreign),
  );
  const shape = checkShape(where, `${field}.shape`, given);
  const size = sizeOf(shape);
  const view = floats(engine, where, field, data, size);
  const length = typedArrayLength(view);
  if (length !== size)
    throw fault('SHAPE_MISMATCH', {
      where,
      field,
      expected: `${size} numbers long for its shape ${shapeText(shape)}`,
      received: text(`${length} numbers`),
      more: { shape },
    });
  const extent = extentOf(engine, view);
  if (extent.space === engine) {
    const recheck = () => requireTensor(engine, where, field, extent);
    recheck();
    return { shape, size, extent, recheck, copyTo: fromHeap(extent.start, size) };
  }
  return {
    shape,
    size,
    extent,
    recheck: () => void inBounds(engine, where, field, view, size),
    copyTo(to, address) {
      // A view that follows a resizable buffer may have grown since.
      const captured =
        typedArrayLength(view) === size
          ? view
          : new Float32Array(typedArrayBuffer(view), extent.start, size);
      typedArraySet(to.f32, captured, address / 4);
    },
  };
}

/** An owned tensor to read. A class, since three functions made for each call take a tenth of a small one. */
class OwnedSource implements Source {
  readonly shape: readonly number[];
  readonly size: number;
  readonly address: number;
  readonly extent: Extent;
  readonly #engine: Engine;
  readonly #where: string;
  readonly #field: string;
  readonly #tensor: object;

  constructor(engine: Engine, where: string, field: string, tensor: object, holding: Holding) {
    const { address, shape, bytes } = holding;
    this.shape = shape;
    this.size = sizeOf(shape);
    this.address = address;
    this.extent = { space: engine, start: address, end: address + bytes };
    this.#engine = engine;
    this.#where = where;
    this.#field = field;
    this.#tensor = tensor;
  }

  recheck(): void {
    holdingOf(this.#engine, this.#where, this.#field, this.#tensor);
  }

  copyTo(engine: Engine, address: number): void {
    fromHeap(this.address, this.size)(engine, address);
  }
}

/** Memory of ours that no tensor holds is free, or of another kind. */
export function requireTensor(engine: Engine, where: string, field: string, at: Extent): void {
  if (!engine.inTensor(at.start, at.end))
    throw fault('STALE_VIEW', {
      where,
      field: `${field}.data`,
      expected: 'a view of a tensor that is still there',
      received: text('a view of memory of posenc that no tensor holds'),
      advice: 'Was the tensor disposed?',
    });
}

export function extentOf(engine: Engine, view: Float32Array): Extent {
  const buffer = typedArrayBuffer(view);
  const start = typedArrayOffset(view);
  // Growth replaces the buffer of the memory; its bytes keep their addresses.
  const space = engine.owns(buffer) ? engine : buffer;
  return { space, start, end: start + typedArrayLength(view) * 4 };
}

export function overlaps(a: Extent, b: Extent): boolean {
  return a.space === b.space && a.start < b.end && b.start < a.end;
}

function fromHeap(start: number, size: number) {
  return (engine: Engine, address: number) =>
    typedArraySet(engine.f32, new Float32Array(engine.f32.buffer, start, size), address / 4);
}

interface Foreign {
  data?: unknown;
  shape?: unknown;
  dims?: unknown;
  dataSync?: unknown;
  isDisposed?: unknown;
  dtype?: unknown;
  type?: unknown;
  location?: unknown;
}

/** The parts of a structural tensor. */
function read(where: string, field: string, input: Foreign) {
  const { dataSync } = input;
  if (typeof dataSync === 'function') {
    if (input.isDisposed === true) throw notOnCpu(where, field, 'disposed');
    checkDtype(where, field, input.dtype);
    const { shape } = input;
    return { shape, data: Reflect.apply(dataSync, input, []) as unknown };
  }
  const { location } = input;
  if (typeof location === 'string' && location !== 'cpu' && location !== 'cpu-pinned')
    throw notOnCpu(where, field, location);
  checkDtype(where, field, input.type);
  const { shape } = input;
  if (shape !== undefined) return { shape, data: input.data };
  const { dims } = input;
  if (dims === undefined) throw wrongType(where, field, asTensor, input);
  return { shape: dims, data: input.data };
}

/** Those whose elements are numbers as they stand: halves are bits, and int64 comes as BigInt. */
const numberTypes = /^(float32|float64|u?int(8|16|32))$/;

function checkDtype(where: string, field: string, dtype: unknown): void {
  if (typeof dtype === 'string' && !numberTypes.test(dtype))
    throw fault('WRONG_DTYPE', { where, field, expected: 'of type float32', received: dtype });
}

function notOnCpu(where: string, field: string, location: string) {
  return fault('NOT_ON_CPU', {
    where,
    field,
    expected: 'in CPU memory',
    received: location,
    advice: 'Download it first: await tensor.getData() or tensor.data().',
  });
}

/** Float32Array as it is; a copy of other numbers, rounded to single precision. */
function floats(
  engine: Engine,
  where: string,
  field: string,
  data: unknown,
  size: number,
): Float32Array {
  const name = isView(data) ? typedArrayName(data) : undefined;
  if (name === 'Float32Array') return inBounds(engine, where, field, data as Float32Array);
  const path = `${field}.data`;
  if (isView(data)) refuseBytes(where, path, data, name, size);
  else if (!isArray(data)) throw wrongType(where, path, expected, data);
  const numbers = isNumberView(data) ? data : copyNumbers(where, path, data, expected);
  if (isOutOfBounds(numbers)) throw detached(where, path);
  return roomFor(where, path, () => new Float32Array(numbers));
}

const expected = 'a Float32Array or other numbers';

/** Typed arrays that do not hold one number of the tensor in each element. */
function refuseBytes(
  where: string,
  field: string,
  data: ArrayBufferView,
  name: string | undefined,
  size: number,
): void {
  const bytes = name === undefined || (name === 'Uint8Array' && size > 0);
  const { byteOffset, byteLength } = data;
  const are = bytes && byteLength === size * 4;
  const at = { where, field, expected, received: data };
  if (are && byteOffset % 4 !== 0)
    throw fault('MISALIGNED', {
      ...at,
      expected: 'a Float32Array',
      received: text(`bytes at offset ${byteOffset}`),
      advice: 'Copy them: new Float32Array(bytes.slice().buffer).',
    });
  if (are || !isNumberView(data))
    throw fault('WRONG_DTYPE', {
      ...at,
      advice: are
        ? 'Read the bytes as floats: new Float32Array(bytes.buffer, bytes.byteOffset).'
        : 'Convert it with Float32Array.from(data, Number).',
    });
}

/** Refuses a view whose memory is gone, which would read as empty, or as less than was seen before. */
function inBounds(
  engine: Engine,
  where: string,
  field: string,
  view: Float32Array,
  seen = 0,
): Float32Array {
  if (!isOutOfBounds(view) && typedArrayLength(view) >= seen) return view;
  const buffer = typedArrayBuffer(view) as ArrayBuffer & { resizable?: boolean };
  const at = { where, field: `${field}.data`, expected: 'a view of memory that is still there' };
  if (engine.owned(buffer))
    throw fault('STALE_VIEW', {
      ...at,
      received: text('a view from before memory grew'),
      advice: 'Read .data again.',
    });
  throw fault('DETACHED', {
    ...at,
    received: text(
      buffer.resizable === true && buffer.byteLength > 0
        ? 'a view out of bounds: the resizable buffer shrank'
        : 'a view of a detached (transferred) buffer',
    ),
  });
}

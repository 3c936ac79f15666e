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
import { holdingOf } from './owned.js';
import { shape as checkShape, copyNumbers, reading, sizeOf, wrongType } from './validate.js';

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
  if (holding !== undefined) {
    const { address, shape, bytes } = holding;
    const extent = { space: engine, start: address, end: address + bytes };
    const size = sizeOf(shape);
    const recheck = () => void holdingOf(engine, where, field, input);
    return { shape, size, address, extent, recheck, copyTo: fromHeap(address, size) };
  }
  const {
    data,
    shape: given,
    converts,
  } = reading(where, field, input, () => read(where, field, input as Foreign));
  const shape = checkShape(where, `${field}.shape`, given);
  const view = floats(engine, where, field, data, converts);
  const length = typedArrayLength(view);
  const size = sizeOf(shape);
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

/** The parts of a structural tensor. `converts`: its type promises numbers, not Float32Array. */
function read(where: string, field: string, input: Foreign) {
  const { dataSync } = input;
  if (typeof dataSync === 'function') {
    if (input.isDisposed === true) throw notOnCpu(where, field, 'disposed');
    checkDtype(where, field, input.dtype);
    const { shape } = input;
    return { shape, data: Reflect.apply(dataSync, input, []) as unknown, converts: true };
  }
  const { location } = input;
  if (typeof location === 'string' && location !== 'cpu' && location !== 'cpu-pinned')
    throw notOnCpu(where, field, location);
  checkDtype(where, field, input.type);
  const { shape } = input;
  if (shape !== undefined) return { shape, data: input.data, converts: false };
  const { dims } = input;
  if (dims === undefined) throw wrongType(where, field, asTensor, input);
  return { shape: dims, data: input.data, converts: true };
}

function checkDtype(where: string, field: string, dtype: unknown): void {
  if (typeof dtype === 'string' && dtype !== 'float32' && dtype !== 'float64')
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

function floats(
  engine: Engine,
  where: string,
  field: string,
  data: unknown,
  converts: boolean,
): Float32Array {
  const name = isView(data) ? typedArrayName(data) : undefined;
  if (name === 'Float32Array') return inBounds(engine, where, field, data as Float32Array);
  const at = { where, field: `${field}.data`, expected: 'a Float32Array', received: data };
  if (name === 'Float64Array' || isArray(data)) {
    if (converts) return Float32Array.from(copyNumbers(where, `${field}.data`, data, 'numbers'));
    throw fault('WRONG_DTYPE', { ...at, advice: 'Convert it with Float32Array.from(data).' });
  }
  if (!isView(data)) throw wrongType(where, `${field}.data`, 'a Float32Array', data);
  const { byteOffset } = data;
  if ((name === undefined || name === 'Uint8Array') && byteOffset % 4 !== 0)
    throw fault('MISALIGNED', {
      ...at,
      received: text(`bytes at offset ${byteOffset}`),
      advice: 'Copy them: new Float32Array(bytes.slice().buffer).',
    });
  throw fault('WRONG_DTYPE', { ...at, advice: 'Convert it with Float32Array.from(data).' });
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

// SPDX-License-Identifier: Apache-2.0
/** Attention masks: bytes that select or floats that are added, broadcast to [B, H, T, S]. */

import type { Arena, Slot } from './arena.js';
import { mismatch, type Shapes } from './attention-shapes.js';
import type { Engine } from './engine.js';
import { shapeText, text } from './errors.js';
import { isArray, isOutOfBounds, isView, typedArrayLength, typedArrayName } from './intrinsics.js';
import { holdingOf } from './owned.js';
import { capture, type Source } from './tensor.js';
import { shape as checkShape, detached, reading, roomFor, sizeOf } from './validate.js';

export interface Mask {
  readonly shape: readonly number[];
  readonly isFloat: boolean;
  /** In elements, of batch, head, row and column; 0 repeats. */
  readonly strides: readonly number[];
  /** What is read where it lies, and so must not be written to. */
  readonly source?: Source;
  place(arena: Arena): Slot;
  /** Looks at the values where they were placed. */
  check(address: number): void;
}

const expected = 'a mask { data: Uint8Array or Float32Array, shape }';

export function captureMask(engine: Engine, given: unknown, shapes: Shapes): Mask | undefined {
  if (given === undefined) return undefined;
  if (typeof given !== 'object' || given === null || isArray(given) || isView(given))
    throw mismatch('BAD_MASK', 'mask', expected, given);
  if (holdingOf(engine, 'attention', 'mask', given) !== undefined)
    return floats(engine, given, shapes);
  const { data, shape, dims } = reading('attention', 'mask', given, () => {
    const { data, shape, dims } = given as { data?: unknown; shape?: unknown; dims?: unknown };
    return { data, shape, dims };
  });
  const extents = shape === undefined ? dims : shape;
  const name = isView(data) ? typedArrayName(data) : undefined;
  if (name === 'Float32Array') return floats(engine, { data, shape: extents }, shapes);
  if (name !== 'Uint8Array') throw mismatch('BAD_MASK', 'mask.data', expected, data);
  const snapshot = checkShape('attention', 'mask.shape', extents);
  // After the shape, whose reading can run code of the user's.
  if (isOutOfBounds(data)) throw detached('attention', 'mask.data');
  const bytes = roomFor('attention', 'mask', () => new Uint8Array(data as Uint8Array));
  checkSize(snapshot, typedArrayLength(bytes));
  const strides = broadcast(snapshot, shapes);
  return {
    shape: snapshot,
    isFloat: false,
    strides,
    place: (arena) => arena.copyOf(bytes),
    check: () => {},
  };
}

function floats(engine: Engine, given: unknown, shapes: Shapes): Mask {
  const source = capture(engine, 'attention', 'mask', given);
  const strides = broadcast(source.shape, shapes);
  return {
    shape: source.shape,
    isFloat: true,
    strides,
    source,
    place: (arena) => arena.input(source),
    check: (address) => refuseNaN(engine, address / 4, source.size),
  };
}

/** NaN would spread over its row and +Infinity would make it NaN; -Infinity is how floats mask. */
function refuseNaN(engine: Engine, start: number, size: number): void {
  const heap = engine.f32;
  for (let i = 0; i < size; ++i) {
    const value = heap[start + i];
    if (!(value < Infinity))
      throw mismatch('BAD_MASK', `mask.data[${i}]`, 'a finite number or -Infinity', value);
  }
}

function checkSize(shape: readonly number[], length: number): void {
  if (sizeOf(shape) === length) return;
  const wanted = `${sizeOf(shape)} elements long for its shape ${shapeText(shape)}`;
  throw mismatch('BAD_MASK', 'mask.data', wanted, text(`${length} elements`));
}

function broadcast(shape: readonly number[], shapes: Shapes): readonly number[] {
  const { batch, heads, queries, keys } = shapes;
  const full = [batch, heads, queries, keys];
  const strides = [0, 0, 0, 0];
  let stride = 1;
  let fits = shape.length <= full.length;
  for (let axis = 1; fits && axis <= full.length; ++axis) {
    const extent = shape[shape.length - axis] ?? 1;
    fits = extent === 1 || extent === full[4 - axis];
    if (extent !== 1) strides[4 - axis] = stride;
    stride *= extent;
  }
  if (!fits)
    throw mismatch(
      'BAD_MASK',
      'mask.shape',
      `broadcastable to ${shapeText(full)}`,
      text(shapeText(shape)),
    );
  return strides;
}

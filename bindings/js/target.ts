// SPDX-License-Identifier: Apache-2.0
/** Where a call puts its result: a fresh tensor, or the `out` that the user gave. */

import { type Engine, requireFits } from './engine.js';
import { fault, shapeText, text } from './errors.js';
import {
  isArray,
  isOutOfBounds,
  isView,
  typedArrayLength,
  typedArrayName,
  typedArraySet,
} from './intrinsics.js';
import { holdingOf } from './owned.js';
import { type Extent, extentOf, overlaps, requireTensor, type Source } from './tensor.js';
import type { Tensor } from './types.js';
import { maxRank, reading, roomFor, sameShape, sizeOf } from './validate.js';

export interface Target {
  readonly shape: readonly number[];
  readonly size: number;
  /** Where it is in the memory of the instance, if the instance owns it. */
  readonly address?: number;
  /** Hands over what the call left at `address`. */
  finish(engine: Engine, address: number): Tensor;
}

export function freshTarget(where: string, shape: readonly number[]): Target {
  const size = sizeOf(shape);
  // It is computed in the module first, so what cannot be there need not be tried here.
  requireFits(where, size * 4);
  const data = roomFor(where, 'the result', () => new Float32Array(size));
  return {
    shape,
    size,
    finish(engine, address) {
      typedArraySet(data, new Float32Array(engine.f32.buffer, address, size));
      return { data, shape };
    },
  };
}

export interface OutRules {
  sources: readonly Source[];
  /** `out` may be exactly this input: the operation works in place. */
  inPlace?: Source;
}

export function captureTarget(
  engine: Engine,
  where: string,
  out: unknown,
  shape: readonly number[],
  rules: OutRules,
): Target {
  if (out === undefined) return freshTarget(where, shape);
  const target = typeof out === 'object' && out !== null ? given(engine, where, out) : undefined;
  if (target === undefined || !sameShape(target.shape, shape))
    throw badOut(where, shape, target === undefined ? out : text(shapeText(target.shape)));
  refuseOverlap(where, target.extent, rules);
  return target;
}

function given(
  engine: Engine,
  where: string,
  out: object,
): (Target & { extent: Extent }) | undefined {
  const holding = holdingOf(engine, where, 'out', out);
  if (holding !== undefined) {
    const { shape, address, bytes } = holding;
    const extent = { space: engine, start: address, end: address + bytes };
    return { shape, size: sizeOf(shape), address, extent, finish: () => out as Tensor };
  }
  const { data, shape } = reading(where, 'out', out, () => {
    const { data, shape } = out as { data?: unknown; shape?: unknown };
    return { data, shape };
  });
  if (!isArray(shape)) return undefined;
  const extents = reading(where, 'out', shape, () => {
    const { length } = shape;
    const read: unknown[] = [];
    for (let axis = 0; axis < Math.min(length, maxRank + 1); ++axis) read.push(shape[axis]);
    return read.map((extent) => (typeof extent === 'number' ? extent : Number.NaN));
  });
  // No code of the user's runs from here on, so what is true of the memory now stays true.
  if (!isView(data) || typedArrayName(data) !== 'Float32Array' || isOutOfBounds(data))
    return undefined;
  const view = data as Float32Array;
  const size = sizeOf(extents);
  if (typedArrayLength(view) !== size) return undefined;
  const extent = extentOf(engine, view);
  if (extent.space === engine) requireTensor(engine, where, 'out', extent);
  return {
    shape: extents,
    size,
    extent,
    finish(from, address) {
      // A view of our own memory may have been left behind by growth during the call.
      const to =
        extent.space === from ? new Float32Array(from.f32.buffer, extent.start, size) : view;
      typedArraySet(to, new Float32Array(from.f32.buffer, address, size));
      return out as Tensor;
    },
  };
}

function badOut(where: string, shape: readonly number[], received: unknown) {
  return fault('BAD_OUT', {
    where,
    field: 'out',
    expected: `a tensor { data: Float32Array of length ${sizeOf(shape)}, shape: ${shapeText(shape)} }`,
    received,
  });
}

function refuseOverlap(where: string, out: Extent, { sources, inPlace }: OutRules): void {
  for (const { extent } of sources) {
    if (!overlaps(out, extent)) continue;
    const same = extent.start === out.start && extent.end === out.end;
    if (same && inPlace !== undefined && inPlace.extent === extent) continue;
    throw fault('OVERLAP', {
      where,
      field: 'out',
      expected: `apart from the inputs${inPlace === undefined ? '' : ' or exactly the input'}`,
      received: text(`bytes ${out.start} to ${out.end} against ${extent.start} to ${extent.end}`),
      advice: 'Use separate memory.',
    });
  }
}

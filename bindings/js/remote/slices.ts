// SPDX-License-Identifier: Apache-2.0
/** Parts of tensors along one axis, and whole ones out of parts. */

import { isArray } from '../intrinsics.js';
import { isNumberView } from '../number-lists.js';
import type { Tensor } from '../types.js';
import { sizeOf } from '../validate.js';

type Numbers = Float32Array | readonly unknown[];

/** A tensor of a call that can be cut as it stands: numbers in memory, as many as its shape says. */
export interface Plain {
  data: Numbers;
  shape: readonly number[];
}

export function plain(value: unknown): Plain | undefined {
  if (typeof value !== 'object' || value === null || value instanceof Map) return undefined;
  const { data, shape: given, dims, type, location } = value as Record<string, unknown>;
  if ((type ?? 'float32') !== 'float32' || (location ?? 'cpu') !== 'cpu') return undefined;
  const shape = extentsOf(given === undefined ? dims : given);
  if (shape === undefined || !isNumbers(data) || data.length !== sizeOf(shape)) return undefined;
  return { data, shape };
}

export const isNumbers = (value: unknown): value is Numbers =>
  isArray(value) || isNumberView(value);

function extentsOf(value: unknown): readonly number[] | undefined {
  if (!isNumbers(value) || value.length === 0 || value.length > 6) return undefined;
  const extents = Array.from(value as readonly number[]);
  return extents.every((one) => Number.isInteger(one) && one > 0) ? extents : undefined;
}

const product = (extents: readonly number[]) => extents.reduce((all, one) => all * one, 1);

/** Entries `from` … `from + count - 1` of an axis: in place where they lie together, else a copy, noted in `own`. */
export function take(
  { data, shape }: Plain,
  axis: number,
  from: number,
  count: number,
  own: Set<object>,
): Plain {
  const outer = product(shape.slice(0, axis));
  const inner = product(shape.slice(axis + 1));
  const cut = shape.map((extent, i) => (i === axis ? count : extent));
  if (count === shape[axis]) return { data, shape };
  const [step, block] = [shape[axis] * inner, count * inner];
  const run = (i: number) => [i * step + from * inner, i * step + from * inner + block] as const;
  if (outer === 1) return { data: part(data, ...run(0)), shape: cut };
  if (isArray(data)) {
    const runs = Array.from({ length: outer }, (_, i) => data.slice(...run(i)));
    return { data: runs.flat(), shape: cut };
  }
  const Type = data.constructor as Float32ArrayConstructor;
  const copy = new Type(outer * block);
  for (let i = 0; i < outer; ++i) copy.set(data.subarray(...run(i)), i * block);
  own.add(copy.buffer);
  return { data: copy, shape: cut };
}

export const part = (data: Numbers, from: number, to: number): Numbers =>
  isArray(data) ? data.slice(from, to) : data.subarray(from, to);

/** Puts results together along an axis, into `into` where there is one. */
export function join(parts: readonly Plain[], axis: number, into?: Float32Array): Tensor {
  const [{ shape: first, data: model }] = parts;
  const extent = parts.reduce((sum, { shape }) => sum + shape[axis], 0);
  const shape = first.map((one, i) => (i === axis ? extent : one));
  const outer = product(first.slice(0, axis));
  const inner = product(first.slice(axis + 1));
  const Type = model.constructor as Float32ArrayConstructor;
  const data = into ?? new Type(product(shape));
  let before = 0;
  for (const { data: from, shape: own } of parts) {
    const block = own[axis] * inner;
    for (let i = 0; i < outer; ++i)
      data.set(
        (from as Float32Array).subarray(i * block, (i + 1) * block),
        i * extent * inner + before,
      );
    before += block;
  }
  return { data, shape };
}

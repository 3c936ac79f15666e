// SPDX-License-Identifier: Apache-2.0
/**
 * What crosses between a page and a worker: values as messages can carry them, and errors. What a
 * message cannot carry as it is becomes a `Map`, which nothing a user gives is taken for.
 */

import { PosencError } from '../errors.js';
import {
  isArray,
  isArrayBuffer,
  isOutOfBounds,
  isView,
  typedArrayLength,
  typedArrayName,
} from '../intrinsics.js';
import type { LoadOptions } from '../load.js';
import { numberArrays } from '../number-lists.js';
import { reading } from '../validate.js';

export interface Call {
  posenc: 'call';
  id: number;
  /** The object it is a method of; 0 is the instance. */
  on: number;
  method: string;
  args: readonly unknown[];
  /** The name under which the worker keeps the result; 0 for a result that is sent back. */
  as: number;
  /** Of so many arguments, the first ones, the data comes back with the answer. */
  lent?: number;
}
export interface Start {
  posenc: 'start';
  id: number;
  options: LoadOptions;
}
export interface Release {
  posenc: 'release';
  handle: number;
}
export type Request = Call | Start | Release;

export interface Reply {
  posenc: 'done';
  id: number;
  value?: unknown;
  error?: ErrorParts;
  /** What was lent, nothing where an argument is no tensor of a typed array. */
  back?: readonly (Float32Array | undefined)[];
  /** Of caches that the call touched: name, length, stored. */
  lengths?: readonly (readonly [number, number, number])[];
}

type Marker =
  | ['handle', number]
  /** A tensor to write to, by its place among those of the call: only its shape is sent. */
  | ['out', number, number, unknown]
  /** What no message can carry, so that the worker can say what it is. */
  | ['opaque', string]
  | ['detached', string];
export const marker = (...parts: Marker) => new Map<number, unknown>(parts.entries());
export const partsOf = (value: unknown): Marker | undefined =>
  value instanceof Map ? ([...value.values()] as Marker) : undefined;

/** A tensor of the user's for a result. */
export interface Out {
  tensor: object;
  data: Float32Array;
  /** Of its data when the call was made. */
  length: number;
}

/** The arguments of a call, read once; typed arrays are still the user's. */
export interface Snapshot {
  args: unknown[];
  outs: Out[];
}

/** Far deeper than any option is. */
const deepest = 8;
const tensorParts = ['data', 'shape', 'dims', 'type', 'location'];

export function snapshot(
  where: string,
  args: readonly unknown[],
  handleOf: (value: object) => number | undefined,
): Snapshot {
  const outs: Out[] = [];

  const read = (value: unknown, depth: number, isOut: boolean): unknown => {
    if (typeof value === 'function' || typeof value === 'symbol')
      return marker('opaque', typeof value);
    if (typeof value !== 'object' || value === null) return value;
    const handle = handleOf(value);
    if (handle !== undefined) return marker('handle', handle);
    if (isView(value) || isArrayBuffer(value)) return value;
    if (depth > deepest) return marker('opaque', 'object');
    return reading(where, 'arguments', value, () => {
      if (isArray(value)) return Array.from(value, (one) => read(one, depth + 1, isOut));
      return readObject(value as Record<string, unknown>, depth, isOut);
    });
  };

  const readObject = (value: Record<string, unknown>, depth: number, isOut: boolean): unknown => {
    const { dataSync } = value;
    if (typeof dataSync === 'function') {
      const location = value.isDisposed === true ? { location: 'disposed' } : {};
      const data = value.isDisposed === true ? [] : Reflect.apply(dataSync, value, []);
      const tensor = { data, shape: value.shape, type: value.dtype, ...location };
      return readObject(tensor as never, depth, false);
    }
    // Tensors of other libraries have their parts in prototypes, and more of their own than is needed.
    const isTensor = 'data' in value && ('shape' in value || 'dims' in value);
    const names = isTensor
      ? tensorParts.filter((name) => name in value)
      : [...new Set([...Object.keys(value), ...tensorParts.filter((name) => name in value)])];
    const entries = names.map((name): [string, unknown] => {
      const part = value[name];
      return [
        name,
        isOut && name === 'data' ? part : read(part, depth + 1, isOut || name === 'out'),
      ];
    });
    const copy = Object.fromEntries(entries);
    if (!isOut || !isFloats(copy.data)) return copy;
    const length = typedArrayLength(copy.data);
    outs.push({ tensor: value, data: copy.data, length });
    return marker('out', outs.length - 1, length, copy.shape);
  };

  return { args: args.map((one) => read(one, 0, false)), outs };
}

export const isFloats = (value: unknown): value is Float32Array =>
  isView(value) && typedArrayName(value) === 'Float32Array' && !isOutOfBounds(value);

/**
 * The same with memory of its own, which the message takes along. With `take` the user's buffers go
 * themselves where they can; a view of a part of one, or of memory that stays, is copied.
 */
export function detach(
  args: readonly unknown[],
  take: boolean,
  keep: readonly Out[],
  /** Made for this message, and so free to go. */
  own: ReadonlySet<object>,
) {
  const transfer = new Set<ArrayBuffer>();
  const made = new Map<object, unknown>();
  const moves = new Map<object, ArrayBuffer>();
  const stays = new Set<object>(keep.map(({ data }) => data.buffer));
  const isWhole = (view: ArrayBufferView) =>
    view.byteLength === view.buffer.byteLength && view.byteLength > 0;
  eachBytes(args, (bytes) => {
    if (isView(bytes) && !isWhole(bytes)) stays.add(bytes.buffer);
  });

  const move = (buffer: ArrayBuffer): ArrayBuffer | undefined => {
    if (stays.has(buffer) || !(take || own.has(buffer))) return undefined;
    const known = moves.get(buffer);
    if (known !== undefined) return known;
    try {
      // Not in the message's own list: what cannot go would then fail with others gone already.
      const moved = structuredClone(buffer, { transfer: [buffer] });
      moves.set(buffer, moved);
      return moved;
    } catch {
      return undefined; // shared, or the memory of a module
    }
  };
  const give = (value: ArrayBufferView | ArrayBuffer): unknown => {
    if (!isView(value)) {
      const copy = move(value) ?? value.slice(0);
      transfer.add(copy);
      return copy;
    }
    const name = typedArrayName(value);
    if (name === undefined) {
      const { buffer, byteOffset, byteLength } = value;
      return new DataView(buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer);
    }
    const Type = constructors[name];
    if (Type === undefined) return marker('opaque', 'object');
    const moved = isWhole(value) ? move(value.buffer as ArrayBuffer) : undefined;
    if (moved === undefined && isOutOfBounds(value)) return marker('detached', name);
    const copy = new Type(moved ?? (value as Float32Array));
    transfer.add(copy.buffer as ArrayBuffer);
    return copy;
  };
  const walk = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null || value instanceof Map) return value;
    let copy = made.get(value);
    if (copy !== undefined) return copy;
    if (isView(value) || isArrayBuffer(value)) copy = give(value);
    else if (isArray(value)) copy = value.map(walk);
    else copy = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, walk(one)]));
    made.set(value, copy);
    return copy;
  };
  return { args: args.map(walk), transfer: [...transfer] };
}

/** Calls `f` for every view and buffer in a snapshot. */
function eachBytes(value: unknown, f: (bytes: ArrayBufferView | ArrayBuffer) => void): void {
  if (typeof value !== 'object' || value === null || value instanceof Map) return;
  if (isView(value) || isArrayBuffer(value)) f(value);
  else for (const one of isArray(value) ? value : Object.values(value)) eachBytes(one, f);
}

type Constructor = new (from: ArrayLike<number> | ArrayBuffer) => Float32Array;
const constructors = Object.fromEntries(
  [...numberArrays, 'BigInt64Array', 'BigUint64Array', 'Float16Array'].map((name) => [
    name,
    (globalThis as unknown as Record<string, Constructor | undefined>)[name],
  ]),
);

export interface ErrorParts {
  name: string;
  message: string;
  /** Of a PosencError. */
  code?: PosencError['code'];
  kind?: PosencError['kind'];
  field?: string;
  details?: Readonly<Record<string, unknown>>;
  cause?: string;
}

export function errorParts(error: unknown): ErrorParts {
  const { name, message } = error as Error;
  if (!PosencError.is(error)) return { name: String(name), message: String(message ?? error) };
  const { code, kind, field, details, cause } = error;
  return {
    name,
    message,
    code,
    kind,
    details,
    ...(field === undefined ? {} : { field }),
    ...(cause === undefined ? {} : { cause: String((cause as Error)?.message ?? cause) }),
  };
}

export function errorFrom(parts: ErrorParts): Error {
  const { name, message, code, cause, ...rest } = parts;
  if (code === undefined) return Object.assign(new Error(message), { name });
  const reason = cause === undefined ? {} : { cause: new Error(cause) };
  return new PosencError({ ...rest, ...reason, code, message });
}

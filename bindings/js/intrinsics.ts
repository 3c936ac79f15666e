// SPDX-License-Identifier: Apache-2.0
/**
 * Built-in functions as they were when the module was loaded. A page that patches
 * `Float32Array.prototype.set` or gives an object a lying `length` getter must not be able to change
 * what is read from a typed array.
 */

type Uncurried = <Args extends unknown[], Result>(
  method: (this: never, ...args: Args) => Result,
) => (self: unknown, ...args: Args) => Result;

const uncurry: Uncurried = Function.prototype.bind.bind(Function.prototype.call) as never;

const prototype = Object.getPrototypeOf(Float32Array.prototype) as object;
const getter = (name: string | symbol) =>
  uncurry(Object.getOwnPropertyDescriptor(prototype, name)?.get as () => unknown);

/** "Float32Array" and so on; undefined for anything that is not a typed array, proxies included. */
export const typedArrayName = getter(Symbol.toStringTag) as (self: unknown) => string | undefined;
export const typedArrayLength = getter('length') as (self: unknown) => number;
export const typedArrayOffset = getter('byteOffset') as (self: unknown) => number;
export const typedArrayBuffer = getter('buffer') as (self: unknown) => ArrayBufferLike;
export const typedArraySet = uncurry(Float32Array.prototype.set) as (
  self: Float32Array | Float64Array | Uint8Array,
  source: ArrayLike<number>,
  offset?: number,
) => void;
const typedArrayKeys = uncurry(Float32Array.prototype.keys);

const dataView = (name: 'buffer' | 'byteOffset' | 'byteLength') =>
  uncurry(Object.getOwnPropertyDescriptor(DataView.prototype, name)?.get as () => unknown);
export const dataViewBuffer = dataView('buffer') as (self: unknown) => ArrayBufferLike;
export const dataViewOffset = dataView('byteOffset') as (self: unknown) => number;
export const dataViewBytes = dataView('byteLength') as (self: unknown) => number;
export const typedArrayBytes = getter('byteLength') as (self: unknown) => number;

const bufferBytes = uncurry(
  Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength')?.get as () => number,
);
/** Of any realm, told without asking the object. */
export function isArrayBuffer(value: unknown): value is ArrayBuffer {
  try {
    bufferBytes(value);
    return true;
  } catch {
    return false;
  }
}

export const isView = ArrayBuffer.isView;
const builtinIsArray = Array.isArray;

/** As `Array.isArray`, but false for a revoked proxy, which makes that one throw. */
export function isArray(value: unknown): value is readonly unknown[] {
  try {
    return builtinIsArray(value);
  } catch {
    return false;
  }
}

/** A revoked proxy throws at every touch. This one runs no code of the user's. */
export function isRevoked(value: unknown): boolean {
  try {
    builtinIsArray(value);
    return false;
  } catch {
    return true;
  }
}

/** True when the memory of a typed array is gone: transferred, or shrunk away beneath it. */
export function isOutOfBounds(view: unknown): boolean {
  // `length` reads 0 in this state, as for an empty array; every method of a typed array throws.
  try {
    typedArrayKeys(view);
    return false;
  } catch {
    return true;
  }
}

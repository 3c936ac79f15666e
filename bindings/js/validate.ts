// SPDX-License-Identifier: Apache-2.0
/**
 * The primitive checks that every public function is built from. Each takes where it stands, the name
 * of the field and the value, and returns the value in its final form or throws.
 */

import { fault, nearest, quote, shapeText, text } from './errors.js';
import { isArray, isRevoked, isView, typedArrayLength, typedArrayName } from './intrinsics.js';

/** Elements of one tensor: what a signed 32-bit index can count. */
export const maxElements = 2 ** 31 - 1;
export const maxRank = 6;

export interface Range {
  min?: number;
  max?: number;
  /** `min` itself is not allowed. */
  exclusiveMin?: boolean;
}

/** Left out means undefined: null is a value of the wrong type, so `??` will not do for options. */
export const or = (value: unknown, fallback: unknown): unknown =>
  value === undefined ? fallback : value;

export function finite(where: string, field: string, value: unknown, range: Range = {}): number {
  // The words are only put together when they are needed: most values are right.
  const about = () => ({
    where,
    field,
    expected: rangeText('a finite number', range),
    received: value,
  });
  if (typeof value !== 'number') throw wrongType(where, field, about().expected, value);
  if (!Number.isFinite(value)) throw fault('NOT_FINITE', about());
  if (!within(value, range)) throw fault('OUT_OF_RANGE', about());
  return value + 0; // -0 becomes 0
}

export function integer(
  where: string,
  field: string,
  value: unknown,
  range: Range & { multipleOf?: number; advice?: string } = {},
): number {
  const { multipleOf = 1, advice } = range;
  const about = () => {
    const noun = multipleOf === 1 ? 'an integer' : multipleOf === 2 ? 'an even integer' : undefined;
    const expected = rangeText(noun ?? `a multiple of ${multipleOf}`, range);
    return { where, field, expected, received: value };
  };
  if (typeof value !== 'number') throw wrongType(where, field, about().expected, value);
  if (!Number.isFinite(value)) throw fault('NOT_FINITE', about());
  if (!Number.isInteger(value)) throw fault('NOT_INTEGER', about());
  if (!within(value, range)) throw fault('OUT_OF_RANGE', about());
  if (value % multipleOf !== 0)
    throw fault(multipleOf === 2 ? 'NOT_EVEN' : 'OUT_OF_RANGE', {
      ...about(),
      ...(advice === undefined ? {} : { advice }),
    });
  return value + 0;
}

function within(value: number, { min = -Infinity, max = Infinity, exclusiveMin }: Range): boolean {
  return value <= max && (exclusiveMin === true ? value > min : value >= min);
}

export function boolean(where: string, field: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw wrongType(where, field, 'true or false', value);
  return value;
}

export function choice<T extends string>(
  where: string,
  field: string,
  value: unknown,
  choices: readonly T[],
): T {
  if (choices.includes(value as T)) return value as T;
  const expected = `one of ${choices.map((c) => `'${c}'`).join(', ')}`;
  if (typeof value !== 'string') throw wrongType(where, field, expected, value);
  throw fault('OUT_OF_RANGE', { where, field, expected, received: value });
}

/** A list of some of the choices, as the text that crosses: with commas between. */
export function names(
  where: string,
  field: string,
  value: unknown,
  choices: readonly string[],
): string {
  const expected = `a list of ${choices.map((c) => `'${c}'`).join(', ')}`;
  if (!isArray(value)) throw wrongType(where, field, expected, value);
  return reading(where, field, value, () => {
    const { length } = value;
    if (length > choices.length)
      throw fault('OUT_OF_RANGE', { where, field, expected, received: text('a longer one') });
    const given: string[] = [];
    for (let i = 0; i < length; ++i) given.push(choice(where, `${field}[${i}]`, value[i], choices));
    return given.join(',');
  });
}

/**
 * What `read` gets out of an object of the user's. That a proxy is revoked, perhaps by what was read
 * before, is an error of ours; what a getter throws is the user's own and passes through.
 */
export function reading<T>(where: string, field: string, from: unknown, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw unreadable(where, field, from, cause);
  }
}

const unreadable = (where: string, field: string, from: unknown, cause: unknown) =>
  isRevoked(from) ? wrongType(where, field, 'an object that can be read', from) : cause;

export function detached(where: string, field: string) {
  return fault('DETACHED', {
    where,
    field,
    expected: 'a view of memory that is still there',
    received: text('a view of a detached or shrunk buffer'),
  });
}

/** What `make` allocates outside the module's memory. */
export function roomFor<T>(where: string, field: string, make: () => T): T {
  try {
    return make();
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw fault('OUT_OF_MEMORY', {
      where,
      field,
      expected: 'small enough for the memory that is free',
      advice: 'Split the work.',
    });
  }
}

/** A snapshot of a shape: 1 to 6 non-negative integers whose product fits. */
export function shape(where: string, field: string, value: unknown): readonly number[] {
  const expected = `an array of 1 to ${maxRank} non-negative integers`;
  const typed = isView(value) && typedArrayName(value) !== undefined;
  if (!typed && !isArray(value)) throw wrongType(where, field, expected, value);
  return reading(where, field, value, () => {
    const rank = typed ? typedArrayLength(value) : (value as unknown[]).length;
    return snapshotOf(where, field, value as unknown[], rank);
  });
}

function snapshotOf(where: string, field: string, value: readonly unknown[], rank: number) {
  const expected = `an array of 1 to ${maxRank} non-negative integers`;
  if (rank < 1 || rank > maxRank)
    throw fault('BAD_SHAPE', { where, field, expected, received: text(`${rank} of them`) });
  const snapshot: number[] = [];
  let size = 1;
  for (let axis = 0; axis < rank; ++axis) {
    const extent = value[axis];
    if (typeof extent !== 'number' || !Number.isInteger(extent) || extent < 0)
      throw fault('BAD_SHAPE', {
        where,
        field,
        index: axis,
        expected: 'a non-negative integer',
        received: extent,
      });
    snapshot.push(extent + 0);
    // Zeros do not excuse a product of the other axes that overflows: strides are made of them.
    size *= Math.max(extent, 1);
  }
  if (size > maxElements)
    throw fault('SHAPE_OVERFLOW', {
      where,
      field,
      expected: `of at most ${maxElements} elements`,
      received: text(shapeText(snapshot)),
    });
  return snapshot;
}

// Loops, since a small call is over in a microsecond and a function per element takes a tenth of it.
export function sizeOf(extents: readonly number[]): number {
  let size = 1;
  for (let axis = 0; axis < extents.length; ++axis) size *= extents[axis];
  return size;
}
export function sameShape(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let axis = 0; axis < a.length; ++axis) if (a[axis] !== b[axis]) return false;
  return true;
}

/** An options object, read once: own enumerable properties only, names checked by the caller. */
export function record(where: string, field: string, value: unknown): Map<string, unknown> {
  const read = new Map<string, unknown>();
  if (value === undefined) return read;
  requireRecord(where, field, value);
  return reading(where, field, value, () => {
    for (const name of Object.keys(value)) read.set(name, value[name]);
    return read;
  });
}

function requireRecord(
  where: string,
  field: string,
  value: unknown,
): asserts value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || isArray(value) || isView(value))
    throw wrongType(where, field, 'an object', value);
}

/** `record`, refusing names that are not in `known`. */
export function options<Name extends string>(
  where: string,
  value: unknown,
  known: readonly Name[],
): Map<Name, unknown> {
  const given = record(where, 'options', value);
  for (const name of given.keys())
    if (!known.includes(name as Name)) throw unknownOption(where, name, known);
  return given as Map<Name, unknown>;
}

/** As `options`, for calls that take a microsecond: the values in the order of `known`, no map. */
export function optionValues(where: string, value: unknown, known: readonly string[]): unknown[] {
  const values: unknown[] = [];
  for (let i = 0; i < known.length; ++i) values.push(undefined);
  if (value === undefined) return values;
  requireRecord(where, 'options', value);
  try {
    const names = Object.keys(value);
    for (let i = 0; i < names.length; ++i) {
      const place = known.indexOf(names[i]);
      if (place < 0) throw unknownOption(where, names[i], known);
      values[place] = value[names[i]];
    }
    return values;
  } catch (cause) {
    throw unreadable(where, 'options', value, cause);
  }
}

export function unknownOption(where: string, name: string, known: readonly string[]) {
  const like = nearest(name, known);
  return fault('UNKNOWN_OPTION', {
    where,
    field: quote(name).slice(1, -1),
    expected: known.length === 0 ? 'left out: there are no options' : `one of ${known.join(', ')}`,
    ...(like === undefined ? {} : { advice: `Did you mean ${like}?` }),
    more: { known, ...(like === undefined ? {} : { nearest: like }) },
  });
}

export function wrongType(where: string, field: string, expected: string, received: unknown) {
  const advice = typeof received === 'bigint' ? { advice: 'Use Number() to convert it.' } : {};
  return fault('WRONG_TYPE', { where, field, expected, received, ...advice });
}

export function rangeText(noun: string, { min, max, exclusiveMin }: Range): string {
  const low = min === undefined ? '' : `${exclusiveMin === true ? 'above' : 'from'} ${min}`;
  const high = max === undefined ? '' : `${exclusiveMin === true ? 'up to' : 'to'} ${max}`;
  return [noun, low, high].filter((part) => part !== '').join(' ');
}

// SPDX-License-Identifier: Apache-2.0
/** Lists of numbers, plain or typed, read once into memory of our own. */

import { fault, text } from './errors.js';
import { isArray, isOutOfBounds, isView, typedArrayName } from './intrinsics.js';
import {
  detached,
  finite,
  maxElements,
  type Range,
  reading,
  roomFor,
  wrongType,
} from './validate.js';

/** A list of finite numbers, as a copy: a plain array or a typed array of numbers. */
export function list(
  where: string,
  field: string,
  value: unknown,
  rules: Range & { length?: number } = {},
): Float64Array {
  const { length, ...range } = rules;
  const expected = `a list of ${length ?? ''} numbers`.replace('  ', ' ');
  const copy = copyNumbers(where, field, value, expected);
  if (length !== undefined && copy.length !== length)
    throw fault('SHAPE_MISMATCH', {
      where,
      field,
      expected,
      received: text(`${copy.length} numbers`),
    });
  for (let i = 0; i < copy.length; ++i) finite(where, `${field}[${i}]`, copy[i], range);
  return copy;
}

/** Typed arrays of plain numbers that every engine has. */
export const numberArrays = [
  'Float32Array',
  'Float64Array',
  'Int8Array',
  'Int16Array',
  'Int32Array',
  'Uint8Array',
  'Uint8ClampedArray',
  'Uint16Array',
  'Uint32Array',
];

/** A typed array whose elements are plain numbers, of any width. */
export const isNumberView = (value: unknown): value is Float64Array =>
  isView(value) && numberArrays.includes(typedArrayName(value) ?? '');

/** Numbers of a plain or a typed array, read once. Elements are not checked beyond their type. */
export function copyNumbers(
  where: string,
  field: string,
  value: unknown,
  expected: string,
): Float64Array {
  if (isNumberView(value)) {
    if (isOutOfBounds(value)) throw detached(where, field);
    return roomFor(where, field, () => new Float64Array(value));
  }
  if (!isArray(value)) throw wrongType(where, field, expected, value);
  return reading(where, field, value, () => {
    const length = value.length;
    const copy = doubles(where, field, length);
    for (let i = 0; i < length; ++i) {
      const element: unknown = value[i];
      if (typeof element !== 'number')
        throw wrongType(where, `${field}[${i}]`, 'a number', element);
      copy[i] = element;
    }
    return copy;
  });
}

/** Fresh numbers; a length that JavaScript cannot hold is an error of ours and not a RangeError. */
export function doubles(where: string, field: string, length: number): Float64Array {
  if (!(length <= maxElements))
    throw fault('TOO_LARGE', {
      where,
      field,
      expected: `at most ${maxElements} numbers`,
      received: length,
    });
  return roomFor(where, field, () => new Float64Array(length));
}

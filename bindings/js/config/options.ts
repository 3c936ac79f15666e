// SPDX-License-Identifier: Apache-2.0
import { isArray } from '../intrinsics.js';
import { record } from '../validate.js';
import { configFault } from './faults.js';
import { isPlain } from './section.js';
import type { ConfigOptions } from './types.js';

const known = ['layerType', 'layer', 'length', 'lenient'];

export type CheckedOptions = ConfigOptions & { layer: number };

/** The second argument, read once. */
export function readOptions(where: string, options: unknown): CheckedOptions {
  if (options === undefined) return { layer: 0 };
  const bad = (path: string, expected: string, received: unknown) =>
    configFault('WRONG_TYPE', { where, path, expected, received });
  if (!isPlain(options) || isArray(options)) throw bad('options', 'an object', options);
  const read: Record<string, unknown> = {};
  let given: ReadonlyMap<string, unknown>;
  try {
    given = record(where, 'options', options);
  } catch {
    // As for every other part of a configuration: whatever cannot be read is the same error.
    throw bad('options', 'an object that can be read', options);
  }
  for (const [key, value] of given) {
    if (!known.includes(key))
      throw configFault('UNKNOWN_OPTION', {
        where,
        path: key,
        expected: `one of ${known.join(', ')}`,
        received: value,
      });
    read[key] = value;
  }
  const { layerType, layer = 0, length, lenient } = read;
  if (layerType !== undefined && typeof layerType !== 'string')
    throw bad('layerType', 'a string', layerType);
  if (lenient !== undefined && typeof lenient !== 'boolean')
    throw bad('lenient', 'true or false', lenient);
  if (typeof layer !== 'number' || !Number.isInteger(layer) || layer < 0)
    throw bad('layer', 'an integer from 0', layer);
  if (
    length !== undefined &&
    !(typeof length === 'number' && Number.isInteger(length) && length >= 1)
  )
    throw bad('length', 'an integer from 1', length);
  return {
    layer,
    ...(layerType === undefined ? {} : { layerType }),
    ...(length === undefined ? {} : { length: length as number }),
    ...(lenient === undefined ? {} : { lenient }),
  };
}

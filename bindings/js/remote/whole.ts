// SPDX-License-Identifier: Apache-2.0
/** How splitting gives up: what it does not see through goes to one worker, whole. */

import { isArray, isView } from '../intrinsics.js';

export type Options = Readonly<Record<string, unknown>>;
/** What is asked for is not seen through: one worker does it. */
class Whole extends Error {}
export const whole = (): never => {
  throw new Whole();
};
export function unlessWhole<T>(split: () => T): T | undefined {
  try {
    return split();
  } catch (cause) {
    if (cause instanceof Whole) return undefined;
    throw cause;
  }
}

export function optionsIn(value: unknown): Options {
  if (value === undefined) return {};
  if (typeof value !== 'object' || value === null || isArray(value) || isView(value))
    return whole();
  return value as Options;
}

// SPDX-License-Identifier: Apache-2.0
/**
 * Data that all instances share, made unchangeable to its depths: `encodings.length = 0` would otherwise
 * take every encoding from all of them. For plain objects and arrays without cycles. All of the manifest
 * goes through it whenever the module is loaded, so it walks by for-in, which makes no list of each object's values.
 */
export function frozen<T>(data: T): T {
  for (const name in data) {
    const value: unknown = Object.hasOwn(data as object, name) ? data[name] : undefined;
    if (typeof value === 'object' && value !== null) frozen(value);
  }
  return Object.freeze(data);
}

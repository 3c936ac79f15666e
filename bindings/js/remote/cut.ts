// SPDX-License-Identifier: Apache-2.0
/** An encoding for some of the heads of another, where its manifest shows how that is made. */

import type { EncodingInfo, Extent } from '../manifest.js';
import { isNumbers, part, plain, take } from './slices.js';

export interface Heads {
  from: number;
  count: number;
  /** Of how many. */
  of: number;
}

type Options = Readonly<Record<string, unknown>>;

/** Whether no length changes its frequencies. */
export function isFixed(info: EncodingInfo, options: Options): boolean {
  const given = info.fields.filter(
    ({ name }) => options[name] !== undefined && options[name] !== false,
  );
  const policy = given.find((field) => field.lengthPolicy !== undefined)?.lengthPolicy;
  return (policy ?? info.lengthPolicy) === 'static';
}

/** Whether its heads differ. */
export const perHead = ({ fields }: EncodingInfo) => fields.some(({ name }) => name === 'heads');

/**
 * The options for these heads; undefined where the manifest does not say what belongs to which of them:
 * formulas may number the heads, so only what tables and lists hold can be cut, or what counts from an offset.
 */
export function cutOptions(
  info: EncodingInfo,
  options: Options,
  heads: Heads,
): Options | undefined {
  const { from, count, of } = heads;
  if (options.heads !== of) return undefined;
  const has = (name: string) => info.fields.some((field) => field.name === name);
  const offset = has('totalHeads') && has('headOffset');
  const cut: Record<string, unknown> = { ...options, heads: count };
  if (offset) {
    cut.totalHeads = options.totalHeads ?? of;
    cut.headOffset = ((options.headOffset as number | undefined) ?? 0) + from;
  }
  let tables = 0;
  for (const { name, length } of info.fields) {
    if (options[name] === undefined || !isPerHead(length)) continue;
    const list = options[name];
    if (!isSimple(length) || !isNumbers(list) || list.length !== of) return undefined;
    cut[name] = part(list, from, from + count);
    ++tables;
  }
  for (const { name, shape } of info.tables) {
    const axis = shape.findIndex(isPerHead);
    if (options[name] === undefined || axis < 0) continue;
    const table = plain(options[name]);
    if (!isSimple(shape[axis]) || table?.shape[axis] !== of) return undefined;
    cut[name] = take(table, axis, from, count, new Set());
    ++tables;
  }
  return offset || tables > 0 ? cut : undefined;
}

const isPerHead = (extent: Extent | undefined): boolean =>
  typeof extent === 'object' && 'option' in extent && extent.option === 'heads';

function isSimple(extent: Extent | undefined): boolean {
  if (typeof extent !== 'object' || !('option' in extent)) return false;
  const { times = 1, over = 1, plus = 0 } = extent;
  return times === 1 && over === 1 && plus === 0;
}

// SPDX-License-Identifier: Apache-2.0
/**
 * The JSON at the head of a safetensors file. JSON.parse keeps the last of two equal names, behind
 * which a second tensor could hide, so names are collected by a scanner of our own.
 */

import { fault, quote, text } from './errors.js';

export interface HeaderEntry {
  name: string;
  dtype: string;
  shape: readonly number[];
  begin: number;
  end: number;
}

const where = 'readSafetensors';
const bits: Readonly<Record<string, number>> = {
  F64: 64,
  F32: 32,
  F16: 16,
  BF16: 16,
  I64: 64,
  I32: 32,
  I16: 16,
  I8: 8,
  U64: 64,
  U32: 32,
  U16: 16,
  U8: 8,
  BOOL: 8,
  C64: 64,
  F8_E4M3: 8,
  F8_E5M2: 8,
  F8_E8M0: 8,
  F4: 4,
  F6_E2M3: 6,
  F6_E3M2: 6,
};
const mostTensors = 2 ** 20;
const mostAxes = 32;

/** The tensors of a header, each checked, none overlapping, together covering the data. */
export function scanHeader(json: Uint8Array, available: number): HeaderEntry[] {
  const object = parse(json);
  refuseDuplicates(object.source);
  const entries: HeaderEntry[] = [];
  const named = Object.keys(object.value);
  if (named.length > mostTensors)
    throw badHeader(`an object of at most ${mostTensors} tensors`, `${named.length} of them`);
  for (const name of named) {
    if (name === '__metadata__') checkMetadata(object.value[name]);
    else entries.push(entryOf(name, object.value[name], available));
  }
  checkCover(entries, available);
  return entries;
}

function parse(json: Uint8Array): { value: Record<string, unknown>; source: string } {
  if (json[0] !== 0x7b) throw badHeader("an object, beginning with '{'", `byte ${json[0]}`, 8);
  let source: string;
  try {
    source = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(json);
  } catch {
    throw badHeader('UTF-8', 'other bytes');
  }
  const trimmed = source.replace(/ +$/, '');
  if (!trimmed.endsWith('}'))
    throw badHeader('an object followed by spaces alone', 'other characters after it');
  let value: unknown;
  try {
    value = JSON.parse(trimmed);
  } catch {
    throw badHeader('JSON', 'other text');
  }
  return { value: value as Record<string, unknown>, source: trimmed };
}

function badHeader(expected: string, came: string, offset = 8) {
  return fault('BAD_HEADER', {
    where,
    field: 'header',
    expected,
    received: text(came),
    more: { offset },
  });
}

/** Walks the valid JSON once and compares the names in each object, as their unescaped texts. */
function refuseDuplicates(source: string): void {
  const open: (Set<string> | undefined)[] = [];
  const strings = /"(?:[^"\\]|\\.)*"|[{}[\]]/g;
  for (let found = strings.exec(source); found !== null; found = strings.exec(source)) {
    const token = found[0];
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    else {
      const names = open[open.length - 1];
      if (names === undefined || !isName(source, strings.lastIndex)) continue;
      const name: string = token.includes('\\') ? JSON.parse(token) : token.slice(1, -1);
      if (names.has(name))
        throw fault('DUPLICATE_NAME', {
          where,
          field: quote(name).slice(1, -1),
          expected: 'the only entry of its name',
          received: text('a second one'),
          more: { tensor: name },
        });
      names.add(name);
    }
  }
}

/** A string before a colon is a name. */
function isName(source: string, from: number): boolean {
  for (let i = from; i < source.length; ++i) {
    const code = source.charCodeAt(i);
    if (code === 0x3a) return true;
    if (code !== 0x20 && code !== 0x09 && code !== 0x0a && code !== 0x0d) return false;
  }
  return false;
}

function checkMetadata(value: unknown): void {
  const fits = isRecord(value) && Object.values(value).every((entry) => typeof entry === 'string');
  if (!fits) throw badHeader('such that __metadata__ holds strings only', 'something else there');
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function entryOf(name: string, value: unknown, available: number): HeaderEntry {
  const bad = (expected: string, received: unknown) =>
    fault('BAD_TENSOR', {
      where,
      field: quote(name).slice(1, -1),
      expected,
      received,
      more: { tensor: name },
    });
  if (!isRecord(value)) throw bad('an object with dtype, shape and data_offsets', value);
  const { dtype, shape, data_offsets: offsets } = value;
  for (const key of Object.keys(value))
    if (key !== 'dtype' && key !== 'shape' && key !== 'data_offsets')
      throw bad('an object with dtype, shape and data_offsets alone', key);
  if (typeof dtype !== 'string') throw bad('an object with a dtype', dtype);
  if (!Array.isArray(shape) || shape.length > mostAxes)
    throw bad(`of at most ${mostAxes} axes`, shape);
  let elements = 1;
  for (const extent of shape) {
    if (!isSize(extent)) throw bad('of a shape of non-negative integers', extent);
    elements *= extent;
    if (!Number.isSafeInteger(elements))
      throw bad('of a shape whose product can be counted', shapeOf(shape));
  }
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isSize))
    throw bad(
      'at two offsets that are non-negative integers',
      Array.isArray(offsets) ? shapeOf(offsets) : offsets,
    );
  const [begin, end] = offsets as [number, number];
  if (begin > end) throw bad('at offsets in order', shapeOf(offsets));
  if (end > available)
    throw fault('TRUNCATED', {
      where,
      field: quote(name).slice(1, -1),
      expected: `within the ${available} bytes of data`,
      received: end,
      more: { tensor: name, needed: end, available },
    });
  // An unknown dtype has an unknown size; it is refused when it is read.
  const size = Object.hasOwn(bits, dtype) ? (elements * bits[dtype]) / 8 : end - begin;
  if (size !== end - begin) throw bad(`of ${size} bytes by shape and dtype`, end - begin);
  return { name, dtype, shape: Object.freeze([...shape]) as readonly number[], begin, end };
}

const isSize = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
const shapeOf = (shape: readonly unknown[]) =>
  text(`[${shape.slice(0, 8).map(String).join(', ').slice(0, 60)}]`);

/** One tensor after the other from the first byte to the last: no byte twice, none unaccounted for. */
function checkCover(entries: readonly HeaderEntry[], available: number): void {
  const sorted = [...entries].sort((a, b) => a.begin - b.begin || a.end - b.end);
  let reached = 0;
  for (const { name, begin, end } of sorted) {
    if (begin !== reached)
      throw fault('BAD_TENSOR', {
        where,
        field: quote(name).slice(1, -1),
        expected: `at offset ${reached}, where the one before ends`,
        received: begin,
        more: { tensor: name, rule: begin < reached ? 'overlap' : 'hole' },
      });
    reached = end;
  }
  if (reached !== available)
    throw badHeader(
      `of tensors that cover the ${available} bytes of data`,
      `${reached} bytes covered`,
    );
}

// SPDX-License-Identifier: Apache-2.0
/**
 * The reference cases: a small selection in tests/golden, which Chromium reads too, and the full set
 * in ../shared/golden where that exists (Node only). Format: the README beside the full set.
 */

import type { Tensor } from 'posenc';
import { inNode } from '../support/instance.ts';
import { sizeOf, type Tolerance } from '../support/numbers.ts';

export interface GoldenArray {
  dtype: 'f32' | 'f64' | 'i32' | 'bool';
  shape: number[];
  data: number[];
}

// biome-ignore lint/suspicious/noExplicitAny: what a case holds depends on its family
type Contents = Record<string, any>;

export interface GoldenCase {
  case: string;
  params: Contents;
  inputs: Contents;
  expected: Contents;
  tolerance: { f32: Tolerance; exact?: boolean } & Contents;
}

const nonFinite: Record<string, number> = {
  NaN: Number.NaN,
  Infinity,
  '-Infinity': -Infinity,
};

const parse = (text: string): GoldenCase =>
  JSON.parse(text, (_, value) =>
    typeof value === 'string' && value in nonFinite ? nonFinite[value] : value,
  );

const selection = import.meta.glob<string>('../../golden/*.json', {
  eager: true,
  query: '?raw',
  import: 'default',
});

async function fullSet(): Promise<string[]> {
  if (!inNode) return [];
  const { existsSync, readdirSync, readFileSync } = await import('node:fs');
  const folder = new URL('../../../../shared/golden/', import.meta.url);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json') && name !== 'index.json')
    .map((name) => readFileSync(new URL(name, folder), 'utf8'));
}

const texts = [...Object.values(selection), ...(await fullSet())];
const byName = new Map(texts.map(parse).map((one) => [one.case, one]));

export const cases: readonly GoldenCase[] = [...byName.values()].sort((a, b) =>
  a.case < b.case ? -1 : 1,
);

export const golden = (name: string): GoldenCase | undefined => byName.get(name);

/** A float tensor, of another shape when asked. */
export function tensorOf(array: GoldenArray, shape: readonly number[] = array.shape): Tensor {
  if (sizeOf(shape) !== array.data.length) throw new Error(`${shape} does not fit the case`);
  return { data: Float32Array.from(array.data), shape };
}

export const maskOf = (array: GoldenArray, shape: readonly number[] = array.shape) => ({
  data: Uint8Array.from(array.data),
  shape,
});

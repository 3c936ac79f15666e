// SPDX-License-Identifier: Apache-2.0
// From a configuration to the labs that draw its encoding.
import { manifest } from '../../engine.ts';
import { longestSequence } from '../../model/keys.ts';
import type { FieldValue } from '../../model/manifest.ts';
import { stands, untouched } from '../../model/settings.ts';
import type { State } from '../../model/state.ts';
import type { KindRead } from './read.ts';

/** The same model in the second lab: its numbers as it was trained, and the length its scaling is made for. */
export function inBeyond(one: KindRead, { values }: State): Partial<State> {
  const { options } = one.kind.encoding;
  const { headDim, base, originalLength } = options;
  const trained = Number(originalLength ?? one.trained);
  const reach = Math.max(Number(one.length ?? 0), 2 * trained);
  const lists = Object.entries(options)
    .filter(([, value]) => Array.isArray(value) && value.length === Number(headDim) / 2)
    .map(([name, value]) => `${name}:${(value as number[]).join(',')}`);
  return {
    lab: 'beyond',
    values: {
      ...values,
      ...(typeof headDim === 'number' ? { hd: headDim } : {}),
      ...(typeof base === 'number' ? { theta: base } : {}),
      ...(trained >= 16 ? { from: trained, to: Math.min(reach, longestSequence) } : {}),
      lists: lists.join(';'),
    },
  };
}

export function inAtlas(one: KindRead): Partial<State> {
  const info = manifest.find(({ id }) => id === one.info.id);
  const fields: Record<string, FieldValue> = {};
  for (const field of info?.fields ?? []) {
    const value = one.kind.encoding.options[field.name] as FieldValue | undefined;
    if (value !== undefined && !stands(field, value)) fields[field.name] = value;
  }
  return { encoding: one.info.id, settings: { ...untouched, fields }, lab: 'atlas' };
}

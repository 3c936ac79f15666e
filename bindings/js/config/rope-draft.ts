// SPDX-License-Identifier: Apache-2.0
/** The encoding in the making, and the keys that several methods of scaling share. */

import type { Context } from './context.js';
import type { Method } from './rope-dict.js';
import type { Rules, Section } from './section.js';

export interface Draft {
  method: Method;
  headDim: number;
  rotaryDim: number;
  options: Record<string, unknown>;
  /** Keys that were looked at; the others are ignored. */
  used: string[];
}

export const positive: Rules = { min: 0, above: true, max: 1e9 };
export const factors: Rules = { min: 0, above: true, max: 1e6 };
export const magnitude: Rules = { min: 0, above: true, max: 1000 };
export const amount: Rules = { min: 0, max: 1000 };

/** Enters a number of the dictionary under its option's name. */
export function take(
  c: Context,
  dict: Section,
  { options, used }: Draft,
  name: string,
  key: string,
  rules: Rules = positive,
): number | undefined {
  used.push(key);
  const value = dict.number(key, rules);
  if (value === undefined) return undefined;
  options[name] = c.ledger.note(name, value, 'given', dict.pathOf(key));
  return value;
}

export function takeOr(
  c: Context,
  dict: Section,
  draft: Draft,
  name: string,
  key: string,
  fallback: number,
): number {
  const value = take(c, dict, draft, name, key);
  if (value !== undefined) return value;
  draft.options[name] = c.ledger.note(name, fallback, 'default');
  return fallback;
}

export function required(
  c: Context,
  dict: Section,
  draft: Draft,
  name: string,
  key: string,
  rules?: Rules,
): number {
  const value = take(c, dict, draft, name, key, rules);
  if (value !== undefined) return value;
  throw missing(dict, draft, key);
}

export const missing = (dict: Section, { method }: Draft, key: string) =>
  dict.fault('MISSING_KEY', key, `given for rope_type '${method}'`, undefined, {
    ropeType: method,
  });

export function factorOf(c: Context, dict: Section, draft: Draft): number {
  const factor = required(c, dict, draft, 'factor', 'factor', factors);
  warnFactor(c, dict, factor);
  return factor;
}

export function warnFactor(c: Context, dict: Section, factor: number): void {
  if (factor > 1) return;
  const message =
    factor === 1
      ? 'a method of scaling with factor 1 scales nothing'
      : 'below 1 the context shrinks: no reader means that, and the encodings refuse it';
  c.ledger.warn('W09', dict.pathOf('factor'), message, factor, factor);
}

export const lengths: Rules = { min: 1, max: 1e9, integer: true };
const originalKey = 'original_max_position_embeddings';

/** The length the frequencies were trained at; the root's key goes before the dictionary's. */
export function originalLength(c: Context, dict: Section, draft: Draft): number {
  draft.used.push(originalKey);
  const root = c.number([originalKey], lengths);
  const inside = dict.number(originalKey, lengths);
  if (root !== undefined) {
    if (inside !== undefined && inside !== root.value)
      c.ledger.warn(
        'W07',
        dict.pathOf(originalKey),
        'the root has another, which is used',
        inside,
        root.value,
      );
    draft.options.originalLength = c.enter('originalLength', root);
    return root.value;
  }
  if (inside !== undefined) {
    draft.options.originalLength = c.ledger.note(
      'originalLength',
      inside,
      'given',
      dict.pathOf(originalKey),
    );
    return inside;
  }
  const whole = c.number(['max_position_embeddings', 'seq_length', 'n_positions'], lengths);
  if (whole === undefined || draft.method === 'llama3') throw missing(dict, draft, originalKey);
  c.ledger.warn(
    'W07',
    dict.pathOf(originalKey),
    'missing: transformers takes max_position_embeddings, others the length at which they run',
    undefined,
    whole.value,
  );
  draft.options.originalLength = c.enter('originalLength', { ...whole, provenance: 'derived' });
  return whole.value;
}

/** What the scaling reaches against what the model says it reaches. */
export function warnReach(c: Context, dict: Section, factor: number, original: number): void {
  const whole = c.number(['max_position_embeddings'], lengths);
  if (whole === undefined || Math.abs(factor * original - whole.value) < 1) return;
  c.ledger.warn(
    'W08',
    dict.pathOf('factor'),
    `${factor} × ${original} = ${factor * original}, but max_position_embeddings is ${whole.value}`,
    factor,
    factor,
  );
}

/** Given, or from the two lengths. */
export function factorOrRatio(c: Context, dict: Section, draft: Draft, original: number): number {
  const given = take(c, dict, draft, 'factor', 'factor', factors);
  if (given !== undefined) {
    warnFactor(c, dict, given);
    return given;
  }
  const whole = c.number(['max_position_embeddings'], lengths);
  if (whole === undefined) throw missing(dict, draft, 'factor');
  const factor = whole.value / original;
  if (factor < 1) warnFactor(c, dict, factor);
  draft.options.factor = c.enter('factor', { ...whole, value: factor, provenance: 'derived' });
  return factor;
}

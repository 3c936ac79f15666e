// SPDX-License-Identifier: Apache-2.0
/** One reading of one model: where to look for a key, and what its family takes for granted. */

import type { Family } from './families.js';
import { configFault } from './faults.js';
import type { Ledger } from './ledger.js';
import type { Rules, Section } from './section.js';
import type { Provenance } from './types.js';

/** A number with its origin, before it is entered under a name. */
export interface Found<T = number> {
  value: T;
  provenance: Provenance;
  path?: string;
}

export class Context {
  constructor(
    readonly root: Section,
    /** The language model's part of a configuration with several parts, or the whole. */
    readonly text: Section,
    readonly modelType: string,
    readonly family: Family,
    readonly ledger: Ledger,
  ) {}

  /** The first of these keys that is there: in the text part, then at the root. */
  find(keys: readonly string[]): { section: Section; key: string; path: string } | undefined {
    for (const section of this.text === this.root ? [this.root] : [this.text, this.root])
      for (const key of keys)
        if (section.has(key)) return { section, key, path: section.pathOf(key) };
    return undefined;
  }

  /** A number by any of its names, else what the family's readers assume, else undefined. */
  number(keys: readonly string[], rules: Rules = {}): Found | undefined {
    const at = this.find(keys);
    if (at !== undefined) {
      const value = at.section.number(at.key, rules);
      return value === undefined ? undefined : { value, provenance: 'given', path: at.path };
    }
    const assumed = this.assumed(keys);
    return typeof assumed === 'number' ? { value: assumed, provenance: 'default' } : undefined;
  }

  /** `number`, entered in the ledger under `name`. */
  take(name: string, keys: readonly string[], rules: Rules = {}): number | undefined {
    const found = this.number(keys, rules);
    return found === undefined ? undefined : this.enter(name, found);
  }

  /** `take` of a key without which nothing can be said. */
  require(name: string, keys: readonly string[], rules: Rules = {}): number {
    const value = this.take(name, keys, rules);
    if (value === undefined) throw this.missing(keys);
    return value;
  }

  flag(keys: readonly string[]): Found<boolean> | undefined {
    const at = this.find(keys);
    if (at !== undefined) {
      const value = at.section.boolean(at.key);
      return value === undefined ? undefined : { value, provenance: 'given', path: at.path };
    }
    const assumed = this.assumed(keys);
    return typeof assumed === 'boolean' ? { value: assumed, provenance: 'default' } : undefined;
  }

  word(keys: readonly string[]): Found<string> | undefined {
    const at = this.find(keys);
    if (at !== undefined) {
      const value = at.section.string(at.key);
      return value === undefined ? undefined : { value, provenance: 'given', path: at.path };
    }
    const assumed = this.assumed(keys);
    return typeof assumed === 'string' ? { value: assumed, provenance: 'default' } : undefined;
  }

  enter<T>(name: string, { value, provenance, path }: Found<T>): T {
    return this.ledger.note(name, value, provenance, path);
  }

  missing(keys: readonly string[]) {
    const expected = `given for ${this.modelType}`;
    const more = { alsoKnownAs: keys.slice(1) };
    return this.text.fault('MISSING_KEY', keys[0], expected, undefined, more);
  }

  /** Two values disagree; `more` has them all. */
  inconsistent(path: string, expected: string, received: unknown, more: Record<string, unknown>) {
    const { where } = this.ledger;
    return configFault('INCONSISTENT', { where, path, expected, received, more });
  }

  private assumed(keys: readonly string[]): number | boolean | string | undefined {
    const assumes = this.family.assumes ?? {};
    const key = keys.find((one) => Object.hasOwn(assumes, one));
    if (key === undefined) return undefined;
    const off = saysNone.includes(key) && (this.text.names(key) || this.root.names(key));
    return off ? undefined : assumes[key];
  }
}

/** Written as null they are switched off; only where they are left out does the default hold. */
const saysNone = ['sliding_window', 'attn_logit_softcapping'];

/** The names one quantity goes by. */
export const names = {
  hidden: ['hidden_size', 'n_embd', 'd_model', 'n_embed', 'dim'],
  heads: ['num_attention_heads', 'n_head', 'n_heads', 'num_heads', 'encoder_attention_heads'],
  headDim: ['head_dim', 'kv_channels', 'd_kv'],
  layers: ['num_hidden_layers', 'n_layer', 'n_layers', 'num_layers', 'encoder_layers'],
  length: [
    'max_position_embeddings',
    'n_positions',
    'n_ctx',
    'max_seq_len',
    'seq_length',
    'model_max_length',
    'max_sequence_length',
  ],
} as const;

export const counting: Rules = { min: 1, max: 1e6, integer: true };
/** As wide as the encodings take heads. */
export const widths: Rules = { ...counting, max: 4096 };
const longest: Rules = { min: 1, max: 2 ** 53, integer: true };

/** Width of a head and number of heads, as every family derives them. */
export function headDimOf(c: Context): number {
  const given = c.number(names.headDim, widths);
  const hidden = c.number(names.hidden, counting);
  const heads = c.number(names.heads, counting);
  const fits = hidden !== undefined && heads !== undefined;
  if (given !== undefined && (given.provenance === 'given' || !fits)) {
    if (fits && hidden.value !== given.value * heads.value && hidden.provenance === 'given')
      c.ledger.warn(
        'W11',
        given.path ?? '',
        `the head width ${given.value} is not ${hidden.value}/${heads.value}: readers that divide are wrong`,
        given.value,
        given.value,
        'note',
      );
    return c.enter('headDim', given);
  }
  if (hidden === undefined) throw c.missing(names.hidden);
  if (heads === undefined) throw c.missing(names.heads);
  if (given !== undefined && hidden.provenance === 'default') return c.enter('headDim', given);
  if (hidden.value % heads.value !== 0)
    throw c.inconsistent(
      hidden.path ?? names.hidden[0],
      `a multiple of the ${heads.value} heads, or head_dim given`,
      hidden.value,
      { heads: heads.value, headsPath: heads.path, warning: 'W11' },
    );
  const each = hidden.value / heads.value;
  if (each > 4096)
    throw c.inconsistent(
      hidden.path ?? names.hidden[0],
      `at most 4096 for each of the ${heads.value} heads`,
      hidden.value,
      { heads: heads.value, headsPath: heads.path },
    );
  return c.enter('headDim', {
    value: each,
    provenance: 'derived',
    ...(hidden.path === undefined ? {} : { path: hidden.path }),
  });
}

export const headsOf = (c: Context) => c.require('heads', names.heads, { ...counting, max: 65536 });

/** Tokens the model was made for; a family that counts otherwise says so itself. */
export function trainedLengthOf(c: Context): number | undefined {
  return c.take('trainedLength', names.length, longest);
}

// SPDX-License-Identifier: Apache-2.0
/** Finds the dictionary of rotary parameters in its dialects and says which method it names. */

import { nearest, quote, text } from '../errors.js';
import type { Context } from './context.js';
import { configFault } from './faults.js';
import { isPlain, type Section } from './section.js';

export const methods = [
  'default',
  'linear',
  'dynamic',
  'ntk',
  'yarn',
  'longrope',
  'llama3',
  'proportional',
] as const;
export type Method = (typeof methods)[number];

const aliases: Readonly<Record<string, Method>> = {
  su: 'longrope',
  mrope: 'default',
  deepseek_yarn: 'yarn',
  'telechat3-yarn': 'yarn',
};

const known = [
  'rope_type',
  'type',
  'rope_theta',
  'factor',
  'original_max_position_embeddings',
  'max_position_embeddings',
  'beta_fast',
  'beta_slow',
  'attention_factor',
  'attn_factor',
  'mscale',
  'mscale_all_dim',
  'truncate',
  'extrapolation_factor',
  'short_factor',
  'long_factor',
  'short_mscale',
  'long_mscale',
  'low_freq_factor',
  'high_freq_factor',
  'partial_rotary_factor',
  'mrope_section',
  'mrope_interleaved',
  'llama_4_scaling_beta',
  'alpha',
];

const layerTypes = ['full_attention', 'sliding_attention', 'chunked_attention', 'linear_attention'];
const isLayerType = (key: string) => layerTypes.includes(key) || /_attention$/.test(key);

/** `undefined`: no dictionary, plain rotation. `null`: a null entry, no rotation in these layers. */
export type RopeDict = Section | undefined | null;

export interface RopeDicts {
  /** Named in messages; 'rope_parameters' or 'rope_scaling'. */
  readonly path: string;
  readonly nested: boolean;
  of(layerType: string): RopeDict;
}

/** The dictionary of v5 (`rope_parameters`), else of v4 (`rope_scaling`), for each type of layer. */
export function findRopeDicts(c: Context, types: readonly string[]): RopeDicts {
  const modern = findDict(c, 'rope_parameters');
  const older = findDict(c, 'rope_scaling');
  if (modern !== undefined && older !== undefined) compare(c, modern, older);
  const dict = modern ?? older;
  if (dict === undefined) return { path: 'rope_scaling', nested: false, of: () => undefined };
  const keys = dict.keys();
  const nested =
    keys.some(isLayerType) && keys.every((key) => isLayerType(key) || !isPlain(dict.get(key)));
  if (!nested) {
    warnUnknown(c, dict);
    return { path: dict.path, nested: false, of: () => dict };
  }
  c.ledger.warn(
    'W06',
    dict.path,
    'parameters are nested by layer type: readers of a flat dictionary find none',
    keys.filter(isLayerType).join(', '),
    'one set for each type',
    'note',
  );
  for (const key of keys.filter(isLayerType)) {
    const entry = dict.child(key);
    if (entry !== undefined) warnUnknown(c, entry);
  }
  for (const type of types)
    if (!dict.names(type))
      c.ledger.warn(
        'W06',
        dict.pathOf(type),
        `layer_types has ${quote(type)} but no parameters are given for it`,
        undefined,
        'plain rotation',
      );
  return {
    path: dict.path,
    nested: true,
    of: (type) => (dict.names(type) ? (dict.child(type) ?? null) : undefined),
  };
}

function findDict(c: Context, key: string): Section | undefined {
  const at = c.find([key]);
  if (at === undefined) return undefined;
  const value = at.section.get(key);
  if (isPlain(value)) return at.section.child(key);
  const received = value;
  if (!c.ledger.lenient)
    throw configFault('WRONG_TYPE', {
      where: c.ledger.where,
      path: at.path,
      expected: 'an object or null',
      received,
      advice: 'Write {"rope_type": "linear", "factor": 2}.',
      more: { warning: 'W04' },
    });
  c.ledger.warn('W04', at.path, 'not an object: readers fail or ignore it', value, 'none');
  return undefined;
}

/** Both dictionaries in one file must say the same. */
function compare(c: Context, modern: Section, older: Section): void {
  for (const key of modern.keys()) {
    const [a, b] = [modern.get(key), older.get(key)];
    if (b === undefined || typeof a === 'object' || a === b) continue;
    if (key === 'type' || key === 'rope_type') continue;
    conflict(c, modern.pathOf(key), older.pathOf(key), a, b);
  }
  const named = [modern, older].map((dict) => ruling(dict));
  if (named[0] !== undefined && named[1] !== undefined && named[0].method !== named[1].method)
    conflict(c, named[0].path, named[1].path, named[0].name, named[1].name);
}

function conflict(c: Context, path: string, other: string, a: unknown, b: unknown): void {
  if (!c.ledger.lenient)
    throw configFault('CONFLICT', {
      where: c.ledger.where,
      path,
      expected: `the same as ${other}`,
      received: text(`${show(a)} and ${show(b)}`),
      more: { other, values: [a, b].map(show), warning: 'W02' },
    });
  c.ledger.warn('W02', path, `disagrees with ${other}`, show(b), show(a));
}

const show = (value: unknown) =>
  typeof value === 'string'
    ? quote(value)
    : typeof value === 'object'
      ? 'an object'
      : String(value);

/** The type as written under the ruling key, unchecked. */
function ruling(dict: Section): { name: string; method: string; path: string } | undefined {
  for (const key of ['rope_type', 'type']) {
    const name = dict.get(key);
    if (typeof name === 'string') return { name, method: canonical(name), path: dict.pathOf(key) };
  }
  return undefined;
}

const canonical = (name: string): string => (Object.hasOwn(aliases, name) ? aliases[name] : name);

/** The method a dictionary names; the legacy key `type` is read, warned about, and must agree. */
export function methodOf(c: Context, dict: Section): { method: Method; path?: string } {
  const name = dict.string('rope_type');
  const legacy = dict.string('type');
  if (name !== undefined && legacy !== undefined && canonical(name) !== canonical(legacy))
    conflict(c, dict.pathOf('rope_type'), dict.pathOf('type'), name, legacy);
  const shown = name ?? legacy;
  if (shown === undefined) {
    warnUntyped(c, dict);
    return { method: 'default' };
  }
  const path = dict.pathOf(name === undefined ? 'type' : 'rope_type');
  if (legacy !== undefined && legacy !== 'mrope')
    c.ledger.warn(
      'W02',
      dict.pathOf('type'),
      name === undefined
        ? 'the legacy key: readers of rope_type find none'
        : 'given beside rope_type: readers differ in which one they take',
      legacy,
      shown,
      'note',
    );
  const method = canonical(shown);
  if ((methods as readonly string[]).includes(method)) return { method: method as Method, path };
  const all = [...methods, ...Object.keys(aliases)];
  const like = nearest(shown, all);
  throw configFault('UNKNOWN_ROPE_TYPE', {
    where: c.ledger.where,
    path,
    expected: `one of ${methods.join(', ')}`,
    received: shown,
    ...(like === undefined ? {} : { advice: `Did you mean '${like}'?` }),
    more: { known: all, ...(like === undefined ? {} : { nearest: like }) },
  });
}

/** What has a meaning without a scaling. */
const unscaled = [
  'rope_theta',
  'partial_rotary_factor',
  'mrope_section',
  'mrope_interleaved',
  'llama_4_scaling_beta',
  'max_position_embeddings',
  'original_max_position_embeddings',
];

/** Someone wanted a scaling here, and which one nobody can tell. */
function warnUntyped(c: Context, dict: Section): void {
  const idle = dict
    .keys()
    .filter((key) => known.includes(key) && !unscaled.includes(key) && dict.has(key));
  if (idle.length > 0)
    c.ledger.warn(
      'W20',
      dict.pathOf('rope_type'),
      `missing: nothing scales, and ${idle.slice(0, 3).map(quote).join(', ')} ${idle.length > 1 ? 'are' : 'is'} ignored`,
      undefined,
      'default',
    );
}

function warnUnknown(c: Context, dict: Section): void {
  for (const key of dict.keys()) {
    if (known.includes(key)) continue;
    const like = nearest(key, known, 2);
    c.ledger.warn(
      'W12',
      dict.pathOf(key.slice(0, 80)),
      like === undefined ? 'no reader knows this key' : `no reader knows this key; is it ${like}?`,
      dict.get(key),
      undefined,
    );
    c.ledger.note(
      dict.pathOf(key.slice(0, 80)),
      dict.get(key),
      'ignored',
      dict.pathOf(key.slice(0, 80)),
    );
  }
}

/** Keys that mean something, but not to this method. */
export function noteIgnored(c: Context, dict: Section, used: readonly string[]): void {
  for (const key of dict.keys()) {
    if (!known.includes(key) || used.includes(key) || !dict.has(key)) continue;
    const path = dict.pathOf(key);
    if (key === 'attn_factor')
      c.ledger.warn(
        'W01',
        path,
        'transformers reads attention_factor: this key is ignored there, and elsewhere multiplied',
        dict.get(key),
        undefined,
      );
    if (key === 'alpha')
      c.ledger.warn('W12', path, 'a second scaling, without effect here', dict.get(key), undefined);
    c.ledger.note(path, dict.get(key), 'ignored', path);
  }
}

// SPDX-License-Identifier: Apache-2.0
/** `fromConfig`: a model's config.json, of either dialect of transformers, as positional encodings. */

import { nearest, quote } from '../errors.js';
import {
  readAlibi,
  readDeberta,
  readFalcon,
  readSwin,
  readT5,
  readTransformerXl,
} from './bias-families.js';
import { Context, trainedLengthOf } from './context.js';
import { type Family, familyOf, type Kind } from './families.js';
import { configFault } from './faults.js';
import { layerEncoding } from './layer-encoding.js';
import { Ledger } from './ledger.js';
import { Model } from './model.js';
import { readOptions } from './options.js';
import { parseConfig } from './parse.js';
import { rootKeys } from './root-keys.js';
import { type Reading, readRope } from './rope-family.js';
import { isPlain, Section } from './section.js';
import { readBert, readLearned, readSinusoidal, readSpeech } from './table-families.js';
import type { ConfigOptions, ModelPositions } from './types.js';
import { uniform } from './uniform.js';

const where = 'fromConfig';

export const readers: Readonly<Record<Kind, (c: Context) => Reading>> = {
  rope: readRope,
  alibi: readAlibi,
  t5: readT5,
  learned: readLearned,
  sinusoidal: readSinusoidal,
  bert: readBert,
  deberta: readDeberta,
  'transformer-xl': readTransformerXl,
  swin: readSwin,
  speech: readSpeech,
  none: (c) => uniform(c, { full_attention: () => ({ encoding: layerEncoding('none', {}) }) }),
};

/**
 * What a configuration means for positions: an encoding for each layer, options of attention, where
 * each number comes from, and what some reader of the same file would get wrong. Pure; needs no
 * instance. Throws a PosencError of kind `config` for what cannot be read.
 */
export function fromConfig(json: object | string, options?: ConfigOptions): ModelPositions {
  const o = readOptions(where, options);
  const ledger = new Ledger({ where, lenient: o.lenient === true, bigints: false });
  const root = new Section(parseConfig(where, json), '', ledger);
  const text = textPart(root);
  const c = contextOf(root, text, ledger);
  warnRootKeys(text, ledger);
  trainedLengthOf(c);
  const reading =
    c.modelType === 'falcon' || c.modelType.startsWith('RefinedWeb')
      ? readFalcon(c)
      : readers[c.family.kind](c);
  return new Model(c.modelType, reading, ledger, o);
}

/** Models with several parts keep the language model's numbers in a part of its own. */
function textPart(root: Section): Section {
  for (const key of ['text_config', 'llm_config', 'language_config']) {
    const part = root.child(key);
    if (part !== undefined) return part;
  }
  return root;
}

function contextOf(root: Section, text: Section, ledger: Ledger): Context {
  const [inner, outer] = [text.string('model_type'), root.string('model_type')];
  for (const type of [inner, outer]) {
    const family = type === undefined ? undefined : familyOf(type);
    if (family !== undefined && type !== undefined)
      return new Context(root, text, type, family, ledger);
  }
  const type = inner ?? outer;
  const name = (type ?? 'unknown').slice(0, 80);
  const family = guess(text, root);
  if (family === undefined) throw unrecognised(text, type);
  ledger.warn(
    'W18',
    type === undefined ? 'model_type' : text.pathOf('model_type'),
    type === undefined
      ? 'missing: pairing of channels and defaults are those of most models'
      : `${quote(type)} is not known here: pairing of channels and defaults are those of most models`,
    type,
    family.kind,
  );
  return new Context(root, text, name, family, ledger);
}

/** What the keys themselves say. */
function guess(text: Section, root: Section): Family | undefined {
  const has = (...keys: string[]) => keys.some((key) => text.has(key) || root.has(key));
  if (text.get('alibi') === true || text.get('position_embedding_type') === 'alibi')
    return { kind: 'alibi' };
  if (has('relative_attention_num_buckets'))
    return {
      kind: 't5',
      assumes: { relative_attention_num_buckets: 32, relative_attention_max_distance: 128 },
    };
  const latent = has('qk_rope_head_dim');
  if (
    has(
      'rope_theta',
      'rope_scaling',
      'rope_parameters',
      'rotary_dim',
      'rotary_pct',
      'partial_rotary_factor',
      'head_dim',
      'num_key_value_heads',
      'rotary_emb_base',
      'rope_ratio',
    )
  )
    return latent ? { kind: 'rope', layout: 'interleaved' } : { kind: 'rope' };
  return latent ? { kind: 'rope', layout: 'interleaved' } : undefined;
}

function unrecognised(text: Section, type: string | undefined) {
  return configFault('MISSING_KEY', {
    where,
    path: type === undefined ? text.pathOf('model_type') : text.pathOf('rope_theta'),
    expected:
      type === undefined
        ? 'given: nothing here says how the model tells positions apart'
        : `given: ${quote(type)} is not known and no key speaks of positions`,
    received: undefined,
  });
}

/** A misspelt key of the root is silently a default everywhere. */
function warnRootKeys(root: Section, ledger: Ledger): void {
  let keys: string[];
  try {
    keys = root.keys();
  } catch {
    // Not what people write by hand, so nothing is misspelt.
    return;
  }
  for (const key of keys) {
    if (key.length < 7 || key.length > 48 || rootKeys.has(key)) continue;
    const like = nearest(
      key,
      [...rootKeys].filter((one) => Math.abs(one.length - key.length) <= 2 && one.length >= 8),
      2,
    );
    if (like === undefined || root.has(like)) continue;
    const value = root.get(key);
    if (isPlain(value)) continue;
    ledger.warn(
      'W12',
      root.pathOf(key),
      `no reader knows this key; is it ${like}?`,
      value,
      undefined,
    );
  }
}

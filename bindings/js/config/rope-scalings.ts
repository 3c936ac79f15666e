// SPDX-License-Identifier: Apache-2.0
/** One reader for each method of scaling: the keys it needs, its defaults, its contradictions. */

import type { Context } from './context.js';
import type { Method } from './rope-dict.js';
import {
  amount,
  type Draft,
  factorOf,
  factorOrRatio,
  factors,
  lengths,
  magnitude,
  missing,
  originalLength,
  positive,
  required,
  take,
  takeOr,
  warnFactor,
  warnReach,
} from './rope-draft.js';
import type { Section } from './section.js';

type Read = (c: Context, dict: Section, draft: Draft) => string;

const linear: Read = (c, dict, draft) => {
  factorOf(c, dict, draft);
  return 'rope-linear';
};

/** HunYuan writes `dynamic` with a constant `alpha`, which is static NTK. */
const dynamic: Read = (c, dict, draft) => {
  const alpha = dict.number('alpha', positive);
  if (alpha !== undefined) return ntk(c, dict, draft);
  const factor = required(c, dict, draft, 'factor', 'factor', factors);
  warnFactor(c, dict, factor);
  const whole = c.number(['max_position_embeddings', 'seq_length', 'n_positions'], lengths);
  if (whole === undefined) throw c.missing(['max_position_embeddings']);
  // The reference takes the whole length here, and no key of the dictionary.
  draft.options.originalLength = c.enter('originalLength', { ...whole, provenance: 'derived' });
  draft.options.variant = 'hf';
  c.ledger.note('variant', 'hf', 'default');
  return 'rope-dynamic-ntk';
};

const ntk: Read = (c, dict, draft) => {
  const key = dict.has('alpha') ? 'alpha' : 'factor';
  const alpha = required(c, dict, draft, 'factor', key, factors);
  if (key === 'factor') warnFactor(c, dict, alpha);
  return 'rope-ntk';
};

const yarn: Read = (c, dict, draft) => {
  const original = originalLength(c, dict, draft);
  const factor = factorOrRatio(c, dict, draft, original);
  warnReach(c, dict, factor, original);
  const fast = takeOr(c, dict, draft, 'betaFast', 'beta_fast', 32);
  const slow = takeOr(c, dict, draft, 'betaSlow', 'beta_slow', 1);
  if (fast < slow)
    throw dict.fault('INCONSISTENT', 'beta_fast', `at least beta_slow, ${slow}`, fast, {
      beta_slow: slow,
    });
  draft.used.push('truncate');
  const truncate = dict.boolean('truncate');
  draft.options.truncate = truncate ?? true;
  c.ledger.note(
    'truncate',
    truncate ?? true,
    truncate === undefined ? 'default' : 'given',
    dict.pathOf('truncate'),
  );
  take(c, dict, draft, 'extrapolationFactor', 'extrapolation_factor', { min: 0, max: 1 });
  take(c, dict, draft, 'attentionFactor', 'attention_factor', magnitude);
  temperatures(c, dict, draft);
  return 'rope-yarn';
};

/** DeepSeek's pair: their ratio scales cosine and sine, the second one's square the whole logit. */
function temperatures(c: Context, dict: Section, draft: Draft): void {
  const mscale = take(c, dict, draft, 'mscale', 'mscale', amount);
  const all = take(c, dict, draft, 'mscaleAllDim', 'mscale_all_dim', amount);
  // A reader takes the pair only where both are there and not 0.
  if (!mscale) delete draft.options.mscale;
  if (!all) delete draft.options.mscaleAllDim;
  const latent = c.find(['qk_rope_head_dim']) !== undefined;
  if (!latent || !all) return;
  draft.options.scaleLogits = c.ledger.note(
    'scaleLogits',
    true,
    'derived',
    dict.pathOf('mscale_all_dim'),
  );
}

const longrope: Read = (c, dict, draft) => {
  const original = originalLength(c, dict, draft);
  // Its logarithm is divided by.
  if (original < 2)
    throw dict.fault('INCONSISTENT', 'original_max_position_embeddings', 'at least 2', original);
  for (const [name, key] of [
    ['shortFactor', 'short_factor'],
    ['longFactor', 'long_factor'],
  ]) {
    draft.used.push(key);
    const list = dict.numbers(key, positive);
    if (list === undefined) throw missing(dict, draft, key);
    if (list.length !== draft.rotaryDim / 2)
      throw dict.fault(
        'INCONSISTENT',
        key,
        `a list of ${draft.rotaryDim / 2} numbers, half the rotary width`,
        list.length,
        { length: list.length, rotaryDim: draft.rotaryDim, warning: 'W10' },
      );
    if (list.some((value, i) => i > 0 && value < list[i - 1]))
      c.ledger.warn(
        'W10',
        dict.pathOf(key),
        'not ascending, as the search for them makes them',
        list,
        list,
        'note',
      );
    draft.options[name] = c.ledger.note(name, list, 'given', dict.pathOf(key));
  }
  const factor = factorOrRatio(c, dict, draft, original);
  warnReach(c, dict, factor, original);
  take(c, dict, draft, 'attentionFactor', 'attention_factor', magnitude);
  magnitudes(c, dict, draft);
  return 'rope-longrope';
};

/** Phi-3.5-MoE gives the attention factor of each list instead. */
function magnitudes(c: Context, dict: Section, draft: Draft): void {
  const [short, long] = ['short_mscale', 'long_mscale'].map((key) => dict.number(key, magnitude));
  if (short === undefined || draft.options.attentionFactor !== undefined) return;
  if (short !== (long ?? short)) {
    c.ledger.warn(
      'W01',
      dict.pathOf('long_mscale'),
      'differs from short_mscale: only the long one is used',
      short,
      long,
    );
  }
  draft.used.push('short_mscale', 'long_mscale');
  draft.options.attentionFactor = c.ledger.note(
    'attentionFactor',
    long ?? short,
    'derived',
    dict.pathOf('long_mscale'),
  );
}

const llama3: Read = (c, dict, draft) => {
  factorOf(c, dict, draft);
  const low = required(c, dict, draft, 'lowFreqFactor', 'low_freq_factor');
  const high = required(c, dict, draft, 'highFreqFactor', 'high_freq_factor');
  // Equal ones leave no band between: Llama 4 Scout has 1 and 1.
  if (low > high)
    throw dict.fault('INCONSISTENT', 'low_freq_factor', `at most high_freq_factor, ${high}`, low, {
      high_freq_factor: high,
    });
  originalLength(c, dict, draft);
  return 'rope-llama3';
};

const proportional: Read = (c, dict, draft) => {
  const key = 'partial_rotary_factor';
  if (draft.headDim % 2 !== 0)
    throw dict.fault('INCONSISTENT', key, 'a part of heads of an even width', draft.headDim, {
      headDim: draft.headDim,
    });
  const fraction = dict.number(key, { min: 0, max: 1 });
  if (fraction === undefined) throw missing(dict, draft, key);
  draft.options.fraction = c.ledger.note('fraction', fraction, 'given', dict.pathOf(key));
  takeOr(c, dict, draft, 'factor', 'factor', 1);
  return 'rope-proportional';
};

export const scalings: Readonly<Record<Method, Read>> = {
  default: () => 'rope',
  linear,
  dynamic,
  ntk,
  yarn,
  longrope,
  llama3,
  proportional,
};

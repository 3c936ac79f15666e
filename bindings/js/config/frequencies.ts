// SPDX-License-Identifier: Apache-2.0
/**
 * The frequencies of a rotary encoding, for warnings and explanations, which need no instance of the
 * module. What rotates is always the module's own plan; a test holds the two together to 1e-12.
 */

import { list } from '../number-lists.js';
import { finite, integer, record } from '../validate.js';
import type { LayerEncoding } from './types.js';

export interface Frequencies {
  /** Radians per position of each pair. */
  readonly values: readonly number[];
  /** The same without scaling. */
  readonly base: readonly number[];
  readonly attentionFactor: number;
  readonly logitScale: number;
}

type Rule = (o: Numbers, base: readonly number[], length: number) => Partial<Frequencies>;

const where = 'frequenciesOf';
const widths = { min: 0, max: 65536 };

/** Options by name, where a missing one is what the encodings take. */
class Numbers {
  constructor(private readonly options: ReadonlyMap<string, unknown>) {}
  get(name: string, fallback = Number.NaN): number {
    const value = this.options.get(name);
    return typeof value === 'number' ? value : fallback;
  }
  list(name: string): ArrayLike<number> {
    const value = this.options.get(name);
    return value === undefined ? [] : list(where, name, value);
  }
  is(name: string, value: unknown): boolean {
    return this.options.get(name) === value;
  }
  get rotaryDim(): number {
    // As much as any encoding takes: a made-up width must not make a list as long.
    return integer(where, 'rotaryDim', this.get('rotaryDim', this.get('headDim')), widths);
  }
}

const series = (base: number, rotaryDim: number) =>
  Array.from(
    { length: Math.max(0, Math.floor(rotaryDim / 2)) },
    (_, i) => base ** ((-2 * i) / rotaryDim),
  );

const clamp = (x: number) => Math.min(1, Math.max(0, x));

/** How much each pair is extrapolated: 1 keeps it, 0 divides it by the factor. */
function ramp(o: Numbers, pairs: number): number[] {
  const r = o.rotaryDim;
  const correction = (turns: number) =>
    (r * Math.log(o.get('originalLength') / (2 * Math.PI * turns))) /
    (2 * Math.log(o.get('base', 10000)));
  let [low, high] = [correction(o.get('betaFast', 32)), correction(o.get('betaSlow', 1))];
  if (!o.is('truncate', false)) [low, high] = [Math.floor(low), Math.ceil(high)];
  const last = Math.max(0, r - 1);
  [low, high] = [low, high].map((end) => Math.min(last, Math.max(0, end)));
  if (low === high) high += 0.001;
  const kept = o.get('extrapolationFactor', 1);
  return Array.from({ length: pairs }, (_, i) => kept * (1 - clamp((i - low) / (high - low))));
}

const temperature = (factor: number, m: number) =>
  factor <= 1 ? 1 : 0.1 * m * Math.log(factor) + 1;

const yarn: Rule = (o, base) => {
  const factor = o.get('factor');
  const keep = ramp(o, base.length);
  const [mscale, all] = [o.get('mscale', 0), o.get('mscaleAllDim', 0)];
  const ratio =
    mscale > 0 && all > 0
      ? temperature(factor, mscale) / temperature(factor, all)
      : temperature(factor, 1);
  return {
    values: base.map((f, i) => (f / factor) * (1 - keep[i]) + f * keep[i]),
    attentionFactor: o.get('attentionFactor', ratio),
    logitScale: o.is('scaleLogits', true) ? temperature(factor, all) ** 2 : 1,
  };
};

const ntkBase = (o: Numbers, alpha: number) =>
  o.get('base', 10000) * alpha ** (o.rotaryDim / (o.rotaryDim - 2));

const dynamicNtk: Rule = (o, _base, length) => {
  const [factor, original] = [o.get('factor'), o.get('originalLength')];
  const ratio = Math.max(length, original) / original;
  const alpha = o.is('variant', 'qwen')
    ? Math.max(1, 2 ** Math.ceil(Math.log2(ratio) + 1) - 1)
    : factor * ratio - (factor - 1);
  return { values: series(ntkBase(o, ratio <= 1 ? 1 : alpha), o.rotaryDim) };
};

const longrope: Rule = (o, base, length) => {
  const [factor, original] = [o.get('factor'), o.get('originalLength')];
  const list = o.list(length > original ? 'longFactor' : 'shortFactor');
  const derived = factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(original));
  return {
    values: base.map((f, i) => f / list[i]),
    attentionFactor: o.get('attentionFactor', derived),
  };
};

const llama3: Rule = (o, base) => {
  const [factor, original] = [o.get('factor'), o.get('originalLength')];
  const [low, high] = [o.get('lowFreqFactor', 1), o.get('highFreqFactor', 4)];
  return {
    values: base.map((f) => {
      const turns = (original * f) / (2 * Math.PI);
      if (turns > high) return f;
      if (turns < low) return f / factor;
      const t = high === low ? 1 : (turns - low) / (high - low);
      return ((1 - t) * f) / factor + t * f;
    }),
  };
};

const proportional: Rule = (o, base) => {
  const active = Math.floor((o.get('fraction') * o.get('headDim')) / 2);
  return { values: base.map((f, i) => (i < active ? f / o.get('factor', 1) : 0)) };
};

const divided: Rule = (o, base) => ({ values: base.map((f) => f / o.get('factor', 1)) });
const unscaled: Rule = (_, base) => ({ values: base });

const rules: Readonly<Record<string, Rule>> = {
  rope: unscaled,
  mrope: unscaled,
  'rope-linear': divided,
  'rope-ntk': (o) => ({ values: series(ntkBase(o, o.get('factor')), o.rotaryDim) }),
  'rope-dynamic-ntk': dynamicNtk,
  'rope-yarn': yarn,
  'rope-longrope': longrope,
  'rope-llama3': llama3,
  'rope-proportional': proportional,
};

/** Undefined for what does not rotate. */
export function frequenciesOf(encoding: LayerEncoding, length = 0): Frequencies | undefined {
  const read = record(where, 'encoding', encoding);
  const id = read.get('id');
  finite(where, 'length', length);
  if (typeof id !== 'string' || !Object.hasOwn(rules, id)) return undefined;
  const o = new Numbers(record(where, 'options', read.get('options')));
  const base = series(o.get('base', 10000), o.rotaryDim);
  return { values: base, base, attentionFactor: 1, logitScale: 1, ...rules[id](o, base, length) };
}

/** Whether keys that were rotated for one length are wrong for another. */
export function changesWithLength({ id, options }: LayerEncoding): boolean {
  const name: string = id;
  if (name === 'rope-dynamic-ntk') return true;
  if (name !== 'rope-longrope') return false;
  const { shortFactor, longFactor } = options;
  return String(shortFactor) !== String(longFactor);
}

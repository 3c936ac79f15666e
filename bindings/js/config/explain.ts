// SPDX-License-Identifier: Apache-2.0
/** `explain`: a reading in sentences, for the command line and for pages. */

import type { QueryScale } from '../attention-options.js';
import { integer, options as readOptions, wrongType } from '../validate.js';
import { changesWithLength, frequenciesOf } from './frequencies.js';
import { Model } from './model.js';
import type { LayerEncoding, LayerKind, ModelPositions } from './types.js';

/** What one kind of layer does, as numbers and as sentences. */
export interface KindExplained {
  readonly type: string;
  /** Layers of this kind, if they can be counted. */
  readonly count?: number;
  readonly method: string;
  readonly lines: readonly string[];
  /** Of a rotary encoding: how many pairs keep their frequency, lose part of it, are slowed in full. */
  readonly pairs?: { readonly kept: number; readonly blended: number; readonly stretched: number };
  readonly longestWavelength?: number;
  readonly attentionFactor?: number;
  readonly logitScale?: number;
}

export interface Explained {
  readonly family: string;
  readonly verdict: string;
  readonly length: number | undefined;
  readonly kinds: readonly KindExplained[];
}

const lengths = { min: 1, max: 2 ** 53 };

/** At `length`, or at the length the model was trained for. */
export function explain(model: ModelPositions, options?: { length?: number }): Explained {
  if (!Model.is(model))
    throw wrongType('explain', 'model', 'what fromConfig or fromGGUF gave', model);
  const given = readOptions('explain', options, ['length']).get('length');
  const length = given === undefined ? undefined : integer('explain', 'length', given, lengths);
  const at = length ?? model.trainedLength;
  const kinds = [...model.kinds.values()].map((kind) => explainKind(model, kind, length));
  const trained =
    model.trainedLength === undefined ? '' : `, trained for ${grouped(model.trainedLength)} tokens`;
  const warned = model.warnings.filter(({ severity }) => severity === 'warning').length;
  const verdict = `${model.family}: ${[...new Set(kinds.map(({ method }) => method))].join('; ')}${trained}; ${warned} ${warned === 1 ? 'warning' : 'warnings'}`;
  return { family: model.family, verdict, length: at, kinds };
}

function explainKind(
  model: ModelPositions,
  kind: LayerKind,
  asked: number | undefined,
): KindExplained {
  const { encoding, type } = kind;
  const trained = kind.trainedLength ?? model.trainedLength;
  const length = asked ?? trained;
  const method = methodText(encoding);
  const rotary = rotaryLines(encoding, trained, length);
  const lines = [
    method,
    ...rotary.lines,
    ...atLength(trained, encoding, length),
    ...attentionLines(kind),
    ...kind.needs.map(({ what, message }) => `needs ${what}: ${message}`),
    ...(encoding.needs === undefined
      ? []
      : [`needs trained ${encoding.needs.join(', ')} from the weights`]),
  ];
  const count = countOf(model, type);
  const { numbers } = rotary;
  return { type, ...(count === undefined ? {} : { count }), method, lines, ...numbers };
}

function countOf(model: ModelPositions, type: string): number | undefined {
  if (model.layers === undefined || model.kinds.size < 2) return model.layers;
  let count = 0;
  for (let layer = 0; layer < model.layers; ++layer) if (model.kindOf(layer).type === type) ++count;
  return count === 0 ? undefined : count;
}

const shownOptions = [
  'heads',
  'biasMax',
  'form',
  'slopeScale',
  'rounding',
  'buckets',
  'maxDistance',
  'terms',
  'offset',
  'dim',
  'frequencies',
  'start',
  'fraction',
  'sections',
  'interleaved',
  'window',
  'variant',
  'truncate',
];

function methodText({ id, options }: LayerEncoding): string {
  const { base, headDim, rotaryDim, layout, factor, originalLength } = options;
  if (id === 'none') return 'no positions: only the mask tells order';
  const shown = [
    ...(base === undefined ? [] : [`base ${grouped(base)}`]),
    ...(factor === undefined || factor === 1 ? [] : [`factor ${grouped(factor)}`]),
    ...(originalLength === undefined ? [] : [`from ${grouped(originalLength)} tokens`]),
    ...(rotaryDim === undefined || rotaryDim === headDim
      ? headDim === undefined
        ? []
        : [`heads of ${headDim}`]
      : [`${rotaryDim} of ${headDim} channels`]),
    ...(layout === undefined || headDim === undefined ? [] : [`pairs ${layout}`]),
  ];
  const rest = Object.entries(options).filter(
    ([name, value]) => shownOptions.includes(name) && value !== undefined,
  );
  return [
    id,
    ...shown,
    ...rest.map(
      ([name, value]) =>
        `${name} ${Array.isArray(value) ? value.join('/') : typeof value === 'number' ? grouped(value) : String(value)}`,
    ),
  ].join(', ');
}

interface RotaryText {
  lines: string[];
  numbers: Partial<KindExplained>;
}

/** A pair counts as kept or slowed in full within this much of its frequency. */
const same = 1e-9;

function rotaryLines(
  encoding: LayerEncoding,
  trained: number | undefined,
  length: number | undefined,
): RotaryText {
  const found = frequenciesOf(encoding, length ?? 0);
  if (found === undefined) return { lines: [], numbers: {} };
  const { values, base, attentionFactor, logitScale } = found;
  const ratios = values.map((value, i) => (value === 0 ? 0 : base[i] / value));
  const most = Math.max(...ratios, 1);
  const kept = ratios.filter((ratio) => ratio > 0 && ratio <= 1 + same).length;
  const still = ratios.filter((ratio) => ratio === 0).length;
  const stretched = ratios.filter((ratio) => ratio > 1 + same && ratio >= most * (1 - same)).length;
  const blended = values.length - kept - stretched - still;
  const slowest = Math.min(...values.filter((value) => value > 0));
  const longest = (2 * Math.PI) / slowest;
  const lines = [
    `frequencies: ${kept} kept, ${blended} blended, ${stretched} slowed ${stretched === 0 ? '' : `×${short(most)}`}`.trim() +
      (still === 0 ? '' : `, ${still} without rotation`),
    `longest wavelength: ${grouped(Math.round(longest))} tokens${trained === undefined ? '' : `, ${short(longest / trained)} of the trained length`}`,
    `logits: attention factor ${short(attentionFactor)}, logit scale ${short(logitScale)}${attentionFactor === 1 && logitScale === 1 ? '' : `, together ×${short(attentionFactor ** 2 * logitScale)}`}`,
  ];
  const pairs = { kept, blended, stretched };
  return { lines, numbers: { pairs, longestWavelength: longest, attentionFactor, logitScale } };
}

/** What happens to sequences of that length. */
function atLength(trained: number | undefined, encoding: LayerEncoding, length?: number): string[] {
  if (length === undefined) return [];
  const { id, options } = encoding;
  const said: string[] = [];
  if (trained !== undefined && length > trained)
    said.push(
      id === 'learned'
        ? `refused: the table ends at ${grouped(trained)}`
        : `${short(length / trained)} times what it was trained for`,
    );
  const original = options.originalLength;
  if (typeof original === 'number' && changesWithLength(encoding))
    said.push(
      length > original
        ? 'past the original length: other frequencies'
        : 'within the original length',
    );
  const reach = Number(original) * Number(options.factor);
  if (trained !== undefined && reach > trained)
    said.push(`the scaling is made for ${grouped(reach)}`);
  if (said.length === 0)
    said.push(
      trained === undefined ? 'no trained length is known' : 'within what it was trained for',
    );
  return [`at ${grouped(length)} tokens: ${said.join('; ')}`];
}

/** What the query at position m is multiplied by. */
function growthText(by: QueryScale): string {
  if (by.kind === 'logn')
    return `queries times max(1, ln(m + 1) / ln ${grouped(by.length)}) at position m`;
  const { length = 8192, factor = 0.1 } = by;
  const counted = by.kind === 'llama4' ? '(m + 1)' : 'm';
  return `queries times 1 + ${factor}·ln(1 + ⌊${counted} / ${grouped(length)}⌋) at position m`;
}

function attentionLines({
  attention: { causal, window, chunk, scale, softcap, queryScale },
}: LayerKind): string[] {
  const said = [causal === true ? 'causal' : 'both directions'];
  if (window?.left !== undefined)
    said.push(
      `window of ${grouped(window.left + 1 + (causal === true ? 0 : (window.right ?? 0)))} keys`,
    );
  if (chunk !== undefined) said.push(`chunks of ${grouped(chunk)} keys`);
  if (scale !== undefined) said.push(`scale ${short(scale)}`);
  if (softcap !== undefined) said.push(`scores capped at ${softcap}`);
  if (queryScale !== undefined) said.push(growthText(queryScale));
  return [`attention: ${said.join(', ')}`];
}

const short = (value: number) => String(Number(value.toPrecision(6)));
const grouped = (value: unknown) =>
  typeof value === 'number'
    ? Number.isInteger(value)
      ? String(value).replace(/\B(?=(\d{3})+$)/g, ',')
      : short(value)
    : String(value);

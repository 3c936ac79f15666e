// SPDX-License-Identifier: Apache-2.0
// From a text to what a model does with positions; every number of the page's own comes out of the module's plan.
import {
  frequenciesOf,
  fromConfig,
  fromGGUF,
  type LayerKind,
  type ModelPositions,
  PosencError,
} from 'posenc';
import { type Engine, manifest, withEncoding } from '../../engine.ts';
import { actsAt, type EncodingInfo } from '../../model/manifest.ts';
import type { Options } from '../../model/settings.ts';

/** More text than any configuration has. */
const longest = 2 ** 21;

export interface Fault {
  readonly message: string;
  readonly path?: string;
  readonly rule?: string;
}
export interface Turning {
  /** Radians per position, one for each rotated pair. */
  readonly frequencies: Float64Array;
  readonly unscaled: readonly number[];
  readonly attentionFactor: number;
  readonly logitScale: number;
  /** What the scores are multiplied by because of both. */
  readonly logits: number;
  /** Tokens of the training before anything was stretched. */
  readonly seen: number | undefined;
  readonly never: number;
}
export interface KindRead {
  readonly kind: LayerKind;
  readonly info: EncodingInfo;
  readonly trained: number | undefined;
  readonly length: number | undefined;
  readonly turning?: Turning;
}
export interface Reading {
  readonly model: ModelPositions;
  readonly kinds: readonly KindRead[];
}
export type Tensors = Record<string, { data?: ArrayLike<number> }>;

export const isReading = (one: Reading | Fault): one is Reading => 'model' in one;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function modelOf(
  text: string,
  length: number,
  lenient: boolean,
  tensors: Tensors | undefined,
): ModelPositions {
  const options = { lenient, ...(length > 0 ? { length } : {}) };
  const json = parsed(text);
  // The keys at the head of the other format have its architecture among them.
  return typeof json === 'object' && json !== null && 'general.architecture' in json
    ? fromGGUF(json, tensors, options)
    : fromConfig(text, options);
}

function turningOf(
  engine: Engine,
  { encoding, trainedLength }: LayerKind,
  info: EncodingInfo,
  modelLength: number | undefined,
  length: number,
): Turning | undefined {
  if (!actsAt(info, 'rotate') || encoding.needs) return undefined;
  const plain = frequenciesOf(encoding, length);
  return withEncoding(engine, encoding.id, encoding.options as Options, (made) => {
    const plan = made.plan(length > 0 ? length : undefined);
    const unscaled = plain?.base ?? [...plan.inverseFrequencies];
    const original = encoding.options.originalLength;
    const seen = typeof original === 'number' ? original : (trainedLength ?? modelLength);
    return {
      frequencies: plan.inverseFrequencies,
      unscaled,
      attentionFactor: plan.attentionFactor,
      logitScale: plan.logitScale,
      logits: plan.attentionFactor ** 2 * plan.logitScale,
      seen,
      never:
        seen === undefined ? 0 : unscaled.filter((f) => f > 0 && (2 * Math.PI) / f > seen).length,
    };
  });
}

/** Never throws: what cannot be read is a fault with the key it is about. */
export function read(
  engine: Engine,
  text: string,
  asked: number,
  lenient: boolean,
  tensors?: Tensors,
): Reading | Fault {
  if (text.trim() === '') return { message: 'Paste a configuration, drop a file, or choose one.' };
  if (text.length > longest)
    return {
      message: `This text has ${text.length} characters; the page reads at most ${longest}.`,
    };
  try {
    const model = modelOf(text, asked, lenient, tensors);
    const kinds = [...model.kinds.values()].map((kind): KindRead => {
      const info = manifest.find((one) => one.id === kind.encoding.id) as EncodingInfo;
      const trained = kind.trainedLength ?? model.trainedLength;
      const length = asked > 0 ? asked : trained;
      const turning = turningOf(engine, kind, info, model.trainedLength, length ?? 0);
      return { kind, info, trained, length, ...(turning ? { turning } : {}) };
    });
    return { model, kinds };
  } catch (error) {
    if (!(error instanceof PosencError))
      return { message: error instanceof Error ? error.message : String(error) };
    const { path, warning } = error.details as { path?: unknown; warning?: unknown };
    return {
      message: error.message.replace(/^from\w+: /, ''),
      ...(typeof path === 'string' ? { path } : {}),
      ...(typeof warning === 'string' ? { rule: warning } : {}),
    };
  }
}

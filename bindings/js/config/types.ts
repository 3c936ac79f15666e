// SPDX-License-Identifier: Apache-2.0
/** What a model's configuration says about positions, as `fromConfig` and `fromGGUF` give it. */

import type { AttentionOptions } from '../attention-options.js';
import type { EncodingId } from '../encodings.gen.js';

/**
 * Where a number comes from: the configuration, the default of its reader, a computation from given
 * ones; `ignored` is a given one that has no effect.
 */
export type Provenance = 'given' | 'default' | 'derived' | 'ignored';

/** `warning`: some reader computes something else, or the value is doubtful; `note`: worth knowing. */
export type Severity = 'warning' | 'note';

export interface ConfigWarning {
  readonly code: string;
  /** Of the key at fault: `rope_scaling.factor`. */
  readonly path: string;
  readonly message: string;
  readonly seen: unknown;
  readonly used: unknown;
  readonly severity: Severity;
}

/** One effective number, or one ignored key, with its origin. */
export interface Parameter {
  readonly name: string;
  readonly value: unknown;
  readonly provenance: Provenance;
  readonly path?: string;
}

export interface LayerEncoding {
  readonly id: EncodingId;
  /** For `pe.encoding(id, options)`, apart from what `needs` names. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Options that no configuration holds: trained tables, to be read from the weights. */
  readonly needs?: readonly string[];
  /** The shapes of the tables, as far as the configuration tells. */
  readonly shapes?: Readonly<Record<string, readonly number[]>>;
}

/** Names of sliding windows as attention takes them: keys seen besides the query's own. */
export interface Window {
  left?: number;
  right?: number;
}

/** Options of `attention` that follow from the configuration. */
export type ModelAttention = Partial<AttentionOptions> & { window?: Window; softcap?: number };

/** Something the model does that neither an encoding option nor an attention option here expresses. */
export interface Need {
  /** `sinks`, `norm`, `logitScale`, … */
  readonly what: string;
  readonly value?: unknown;
  readonly message: string;
}

/** All layers of one kind. */
export interface LayerKind {
  readonly type: string;
  readonly encoding: LayerEncoding;
  readonly attention: ModelAttention;
  readonly needs: readonly Need[];
  /** Where it is not the model's. */
  readonly trainedLength?: number;
  readonly parameters: readonly Parameter[];
}

export interface ConfigOptions {
  /** Take all numbers from the layers of this type: 'full_attention', 'sliding_attention', 'decoder', … */
  layerType?: string;
  /** Take `attention` and the unprefixed provenance from this layer. @default 0 */
  layer?: number;
  /** The sequence length to look at for warnings. */
  length?: number;
  /** Numbers in strings and contradictions are warnings instead of errors. @default false */
  lenient?: boolean;
}

export interface ModelPositions {
  /** The model's type, as the configuration names it. */
  readonly family: string;
  /** How many layers, if the configuration says. */
  readonly layers?: number;
  /** Every kind of layer the model has, by name. */
  readonly kinds: ReadonlyMap<string, LayerKind>;
  kindOf(layer?: number): LayerKind;
  encodingFor(layer?: number): LayerEncoding;
  attentionFor(layer?: number): ModelAttention;
  /** Of the chosen layer. */
  readonly attention: ModelAttention;
  readonly needs: readonly Need[];
  /** Tokens the model was made for. */
  readonly trainedLength?: number;
  readonly parameters: readonly Parameter[];
  readonly provenance: Readonly<Record<string, Provenance>>;
  readonly warnings: readonly ConfigWarning[];
  toJSON(): object;
}

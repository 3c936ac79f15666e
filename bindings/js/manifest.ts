// SPDX-License-Identifier: Apache-2.0
/** What every encoding says about itself. The values are in encodings.gen.ts. */

/** Where an encoding acts: on the embeddings, on q and k, on the scores, on the weighted values. */
export type Site = 'embed' | 'rotate' | 'score' | 'value';

/** An extent of a table: a number, times·option/over + plus, or free (any number of rows). */
export type Extent =
  | number
  | {
      readonly option: string;
      readonly times?: number;
      readonly over?: number;
      readonly plus?: number;
    }
  | { readonly free: string; readonly example: number };

export interface FieldInfo {
  readonly name: string;
  readonly doc: string;
  readonly type: 'integer' | 'number' | 'boolean' | 'choice' | 'names' | 'list';
  readonly required: boolean;
  /** What holds when the option is left out; absent when it is computed or there is none. */
  readonly default?: number | boolean | string | readonly number[] | readonly string[];
  /** The option whose value is the default. */
  readonly defaultFrom?: string;
  /** A usable value where there is no default. */
  readonly example?: number | boolean | string | readonly number[] | readonly string[];
  readonly min?: number;
  /** `min` itself is not allowed. */
  readonly exclusiveMin?: boolean;
  readonly max?: number;
  readonly multipleOf?: number;
  /** Of a choice, which is one of them, and of names, which are any of them. */
  readonly choices?: readonly string[];
  /** A control for it should be logarithmic. */
  readonly logarithmic?: boolean;
  /** Of a list: how many numbers. */
  readonly length?: Extent;
  /** What the encoding's `lengthPolicy` becomes where this option is given, and not false. */
  readonly lengthPolicy?: string;
}

export interface TableInfo {
  readonly name: string;
  readonly doc: string;
  readonly required: boolean;
  /** Optional, because another table or option can stand in, but an example should have it. */
  readonly usual?: boolean;
  readonly shape: readonly Extent[];
  /** The standard deviation of a typical random initialisation. */
  readonly deviation: number;
}

export interface EncodingInfo {
  readonly id: string;
  readonly title: string;
  readonly summary: string;
  readonly formula: string;
  readonly paper: string;
  readonly url: string;
  /** Models known for it. */
  readonly usedBy: readonly string[];
  readonly sites: readonly Site[];
  /** Numbers in one position: 1 for text, 2 for pictures, … */
  readonly axes: number;
  /** `real`: any number; `integer`: whole numbers; `index`: whole numbers from 0 that index a table. */
  readonly positions: 'real' | 'integer' | 'index';
  /** Of several axes: all of them count text tokens, so positions may be left out for text. */
  readonly textAxes: boolean;
  /** Only differences of positions matter. */
  readonly relative: boolean;
  /** The score term does not depend on q and k, so `bias` can show it. */
  readonly contentFree: boolean;
  /** Distances count as others, which `distances` tells. */
  readonly remapsDistance: boolean;
  /** Whether frequencies depend on the length, with the options at their defaults; `plan` says it of an encoding. */
  readonly lengthPolicy: string;
  readonly fields: readonly FieldInfo[];
  readonly tables: readonly TableInfo[];
  /** The options whose gradients the backward pass gives. */
  readonly gradients: readonly string[];
}

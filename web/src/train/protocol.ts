// SPDX-License-Identifier: Apache-2.0
// What the page and the workers that train tell each other.
import type { Exam, Setup } from './run.ts';

/** One decoder: an encoding, and the seed it starts from and is taught by. */
export interface Who {
  readonly id: string;
  readonly seed: number;
}
export const keyOf = ({ id, seed }: Who): string => `${id} ${seed}`;

export type Command =
  | { readonly kind: 'begin'; readonly setup: Setup; readonly pupils: readonly Who[] }
  | { readonly kind: 'go' }
  | { readonly kind: 'pause' }
  /** So many steps of each, then rest. */
  | { readonly kind: 'step'; readonly count: number };

/** About one decoder, by its key, or about the worker. */
export type News =
  | { readonly kind: 'made'; readonly key: string; readonly parameters: number }
  | { readonly kind: 'exam'; readonly key: string; readonly exam: Exam }
  /** Attention over the probe after so many steps: [heads, places, places]. */
  | {
      readonly kind: 'look';
      readonly key: string;
      readonly step: number;
      readonly weights: Float32Array;
    }
  | {
      readonly kind: 'at';
      readonly key: string;
      readonly step: number;
      readonly milliseconds: number;
    }
  | { readonly kind: 'resting' }
  | { readonly kind: 'finished'; readonly key: string }
  | { readonly kind: 'failed'; readonly key: string; readonly message: string };

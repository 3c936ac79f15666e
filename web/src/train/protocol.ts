// SPDX-License-Identifier: Apache-2.0
// What the page and the workers that train tell each other.
import type { Exam, Setup } from './run.ts';

export type Command =
  | { readonly kind: 'begin'; readonly setup: Setup; readonly ids: readonly string[] }
  | { readonly kind: 'go' }
  | { readonly kind: 'pause' }
  /** So many steps of each, then rest. */
  | { readonly kind: 'step'; readonly count: number };

export type News =
  | { readonly kind: 'made'; readonly id: string; readonly parameters: number }
  | { readonly kind: 'exam'; readonly id: string; readonly exam: Exam }
  | {
      readonly kind: 'at';
      readonly id: string;
      readonly step: number;
      readonly milliseconds: number;
    }
  | { readonly kind: 'resting' }
  | { readonly kind: 'finished'; readonly id: string }
  | { readonly kind: 'failed'; readonly id: string; readonly message: string };

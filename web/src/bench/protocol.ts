// SPDX-License-Identifier: Apache-2.0
// What the page and the worker that measures tell each other.
import type { Difference, Size, Work } from './workloads.ts';

export interface Order {
  readonly work: Work;
  readonly size: Size;
  /** Of each contender. */
  readonly samples: number;
  readonly seed: number;
  /** Also a contender that is off by a thousandth. */
  readonly wrong: boolean;
  /** Addresses of the peer's files; without them it is left out. */
  readonly peer: { readonly module: string; readonly wasm: string } | undefined;
  /** What a sample takes at least, in milliseconds. */
  readonly batch: number;
}

/** What the others are measured by: this library as it comes. */
export const ownName = 'posenc';

export interface Checked {
  readonly name: string;
  readonly how: string;
  readonly difference: Difference;
  readonly passed: boolean;
  /** Why it did not answer at all. */
  readonly problem?: string;
}
export interface Timed {
  readonly name: string;
  /** Milliseconds of one call, a number for each round. */
  readonly samples: readonly number[];
  /** Calls in a sample. */
  readonly calls: number;
}
export interface Surroundings {
  readonly posenc: string;
  readonly builds: readonly string[];
  readonly peer: string;
  /** The smallest step of the clock that was seen, in milliseconds. */
  readonly clock: number;
  readonly relaxed: boolean;
  readonly isolated: boolean;
}
export interface Outcome {
  readonly order: Order;
  readonly title: string;
  readonly operations: number;
  readonly checked: readonly Checked[];
  readonly timed: readonly Timed[];
  readonly surroundings: Surroundings;
}

export type News =
  | { readonly kind: 'download'; readonly received: number; readonly total: number }
  | { readonly kind: 'step'; readonly text: string }
  | { readonly kind: 'checked'; readonly checked: readonly Checked[] }
  | { readonly kind: 'round'; readonly round: number; readonly of: number }
  | { readonly kind: 'done'; readonly outcome: Outcome }
  | { readonly kind: 'failed'; readonly message: string };

// SPDX-License-Identifier: Apache-2.0
import { fallbacks, type Values } from './keys.ts';
import type { LabId } from './labs.ts';
import { actsNowhere, type EncodingInfo, startingEncoding } from './manifest.ts';
import { type Settings, untouched } from './settings.ts';

export const longestSentence = 64;
export const longestWord = 32;
export const lengths = { least: 2, most: 8192, usual: 128 } as const;

export interface State {
  readonly lab: LabId;
  /** Encoding of the atlas, and of the first lab while `placed`. */
  readonly encoding: string;
  readonly placed: boolean;
  readonly causal: boolean;
  readonly canonical: boolean;
  readonly text: string;
  /** order[place] = index of the word in the sentence as typed; empty means as typed. */
  readonly order: readonly number[];
  readonly token: number;
  /** -1 is the mean over heads. */
  readonly head: number;
  readonly length: number;
  readonly logarithmic: boolean;
  readonly settings: Settings;
  /** What the other labs keep. */
  readonly values: Values;
  /** Keys of the address that this version does not know; they travel along. */
  readonly unknown: readonly (readonly [string, string])[];
}

export function initialState(manifest: readonly EncodingInfo[]): State {
  return {
    lab: 'order',
    encoding: startingEncoding(manifest).id,
    placed: false,
    causal: false,
    canonical: false,
    text: 'the dog bit the man',
    order: [],
    token: 1,
    head: -1,
    length: lengths.usual,
    logarithmic: false,
    settings: untouched,
    values: fallbacks,
    unknown: [],
  };
}

export const wordsOf = (text: string): string[] =>
  text.split(/\s+/u).filter(Boolean).slice(0, longestSentence);
export const orderOf = (state: State, count: number): number[] =>
  state.order.length === count ? [...state.order] : Array.from({ length: count }, (_, i) => i);
export const isMoved = (order: readonly number[]): boolean =>
  order.some((word, place) => word !== place);

export function infoOf(manifest: readonly EncodingInfo[], state: State): EncodingInfo {
  return manifest.find((info) => info.id === state.encoding) ?? startingEncoding(manifest);
}
/** The encoding of the first lab, or undefined where positions are off. */
export function placedInfo(
  manifest: readonly EncodingInfo[],
  state: State,
): EncodingInfo | undefined {
  const info = infoOf(manifest, state);
  return state.placed && !actsNowhere(info) ? info : undefined;
}

type Listener = (state: State, previous: State) => void;

/** One value for the whole page. `committed` changes become steps of the browser's history, the others do not. */
export class Store {
  #state: State;
  readonly #listeners: Listener[] = [];
  onCommit: ((state: State) => void) | undefined;

  constructor(state: State) {
    this.#state = state;
  }
  get(): State {
    return this.#state;
  }
  set(change: Partial<State>, committed = true): void {
    const previous = this.#state;
    this.#state = { ...previous, ...change };
    if (committed) this.onCommit?.(this.#state);
    for (const listener of this.#listeners) listener(this.#state, previous);
  }
  /** Values of the labs that keep theirs by key. */
  put(values: Partial<Values>, committed = true): void {
    this.set({ values: { ...this.#state.values, ...values } }, committed);
  }
  subscribe(listener: Listener): void {
    this.#listeners.push(listener);
  }
}

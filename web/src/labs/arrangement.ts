// SPDX-License-Identifier: Apache-2.0
// Moving the words of the sentence about, and taking it back.
import { shuffled } from '../model/random.ts';
import { isMoved, orderOf, type Store, wordsOf } from '../model/state.ts';
import { twinMarks } from './order-strips.ts';

const mostUndo = 200;

export class Arrangement {
  readonly #past: (readonly number[])[] = [];

  constructor(private readonly store: Store) {
    store.subscribe((state, previous) => {
      if (state.text !== previous.text) this.#past.length = 0;
    });
  }

  current(): { words: string[]; order: number[] } {
    const words = wordsOf(this.store.get().text);
    return { words, order: orderOf(this.store.get(), words.length) };
  }
  get canUndo(): boolean {
    return this.#past.length > 0;
  }
  undo(): void {
    const before = this.#past.pop();
    if (before) this.store.set({ order: before });
  }

  shuffle(): void {
    const { words, order } = this.current();
    const read = (arrangement: readonly number[]): string =>
      arrangement.map((word) => words[word]).join(' ');
    let next = order;
    // A shuffle that happens to change nothing would look like a broken button.
    for (let attempt = 0; attempt < 50 && read(next) === read(order); attempt += 1)
      next = shuffled(order, Math.random);
    this.#arrange(next);
  }

  /** In the sentence as typed, the first and the last word that occur once: subject and object, usually. */
  swap(): void {
    const { words, order } = this.current();
    if (order.length < 2) return;
    const twins = twinMarks(words);
    const once = [...order.keys()].filter((place) => !twins[order[place] as number]);
    const places = once.length > 1 ? once : [...order.keys()];
    const pair = isMoved(order)
      ? shuffled(places, Math.random).slice(0, 2)
      : [places[0], places.at(-1)];
    this.#exchange(order, pair[0] as number, pair[1] as number);
  }

  /** Carries a word one place to the left or right. */
  carry(word: number, by: number): void {
    const { order } = this.current();
    const from = order.indexOf(word);
    const to = from + by;
    if (to >= 0 && to < order.length) this.#exchange(order, from, to);
  }

  #exchange(order: readonly number[], from: number, to: number): void {
    const next = [...order];
    next[from] = order[to] as number;
    next[to] = order[from] as number;
    this.#arrange(next);
  }
  #arrange(order: readonly number[]): void {
    this.#past.push(this.store.get().order);
    if (this.#past.length > mostUndo) this.#past.shift();
    this.store.set({ order });
  }
}

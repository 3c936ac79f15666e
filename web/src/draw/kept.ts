// SPDX-License-Identifier: Apache-2.0
// What need not be made again.

const same = (some: readonly unknown[], others: readonly unknown[]): boolean =>
  some.length === others.length && some.every((one, i) => one === others[i]);

/** What something on screen was last drawn from. */
export class Drawn {
  #from: readonly unknown[] = [];

  /** Whether it has to be drawn anew, which it is taken to be. */
  differs(...from: readonly unknown[]): boolean {
    const before = this.#from;
    this.#from = from;
    return !same(before, from);
  }
}

/** What was made of values: the line of 2,000 points takes 1 ms to choose and write down, and a cursor that moves leaves it as it was. */
export class Kept<T> {
  readonly #kept = new WeakMap<object, { place: readonly unknown[]; made: T }>();

  /** What `make` makes of these values where they stand now: `place` holds everything else that it depends on. Values stay as they are. */
  of(values: object, place: readonly unknown[], make: () => T): T {
    const kept = this.#kept.get(values);
    if (kept && same(kept.place, place)) return kept.made;
    const made = make();
    this.#kept.set(values, { place, made });
    return made;
  }
}

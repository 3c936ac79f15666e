// SPDX-License-Identifier: Apache-2.0
// What was made of values. The line of 2,000 points takes 1 ms to choose and write down; a cursor that moves, or a neighbour that
// changes, leaves it as it was.

export class Kept<T> {
  readonly #kept = new WeakMap<object, { place: readonly unknown[]; made: T }>();

  /** What `make` makes of these values where they stand now: `place` holds everything else that it depends on. Values stay as they are. */
  of(values: object, place: readonly unknown[], make: () => T): T {
    const kept = this.#kept.get(values);
    if (kept?.place.every((one, i) => one === place[i])) return kept.made;
    const made = make();
    this.#kept.set(values, { place, made });
    return made;
  }
}

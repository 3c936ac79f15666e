// SPDX-License-Identifier: Apache-2.0
// The line of 2,000 points takes 1 ms to write down; a cursor that moves, or a neighbour that changes, leaves it as it was.

export class KeptPaths {
  readonly #kept = new WeakMap<object, { place: string; path: string }>();

  /** What `write` makes of these values where they stand now: `place` tells everything else that it depends on. */
  of(values: object, place: string, write: () => string): string {
    const kept = this.#kept.get(values);
    if (kept?.place === place) return kept.path;
    const path = write();
    this.#kept.set(values, { place, path });
    return path;
  }
}

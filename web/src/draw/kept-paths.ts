// SPDX-License-Identifier: Apache-2.0
// The line of 2,000 points takes 1 ms to write down; a cursor that moves, or a neighbour that changes, leaves it as it was.

export class KeptPaths {
  readonly #kept = new WeakMap<object, { place: readonly unknown[]; path: string }>();

  /** What `write` makes of these values where they stand now: `place` holds everything else that it depends on. Values stay as they are. */
  of(values: object, place: readonly unknown[], write: () => string): string {
    const kept = this.#kept.get(values);
    if (kept?.place.every((one, i) => one === place[i])) return kept.path;
    const path = write();
    this.#kept.set(values, { place, path });
    return path;
  }
}

// SPDX-License-Identifier: Apache-2.0
// What a visitor has chosen once and for all. Storage may be forbidden; a choice then lasts as long as the page.

export function remembered(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Undefined forgets it. */
export function remember(key: string, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // Nothing depends on it.
  }
}

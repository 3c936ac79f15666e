// SPDX-License-Identifier: Apache-2.0

export type Theme = 'system' | 'light' | 'dark';
const key = 'posenc-theme';
const dark = matchMedia('(prefers-color-scheme: dark)');
const listeners: (() => void)[] = [];

function remembered(): Theme {
  try {
    const stored = localStorage.getItem(key);
    return stored === 'light' || stored === 'dark' ? stored : 'system';
  } catch {
    return 'system';
  }
}
let current = remembered();

function apply(): void {
  if (current === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = current;
  for (const listener of listeners) listener();
}
apply();
dark.addEventListener('change', apply);

export const theme = (): Theme => current;
export const isDark = (): boolean => (current === 'system' ? dark.matches : current === 'dark');
export const onTheme = (listener: () => void): number => listeners.push(listener);

/** System, light, dark, and round again. Storage may be forbidden; the choice then lasts as long as the page. */
export function nextTheme(): Theme {
  current = current === 'system' ? 'light' : current === 'light' ? 'dark' : 'system';
  try {
    if (current === 'system') localStorage.removeItem(key);
    else localStorage.setItem(key, current);
  } catch {
    // Nothing depends on it.
  }
  apply();
  return current;
}

// SPDX-License-Identifier: Apache-2.0
import { remember, remembered } from './remember.ts';

export type Theme = 'system' | 'light' | 'dark';
const key = 'posenc-theme';
const dark = matchMedia('(prefers-color-scheme: dark)');
const listeners: (() => void)[] = [];

const stored = remembered(key);
let current: Theme = stored === 'light' || stored === 'dark' ? stored : 'system';

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

/** System, light, dark, and round again. */
export function nextTheme(): Theme {
  current = current === 'system' ? 'light' : current === 'light' ? 'dark' : 'system';
  remember(key, current === 'system' ? undefined : current);
  apply();
  return current;
}

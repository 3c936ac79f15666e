// SPDX-License-Identifier: Apache-2.0
import { afterwards, framed } from './frames.ts';
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
/** Of the colours on screen. */
export function isDark(): boolean {
  const { theme } = document.documentElement.dataset;
  return theme === undefined ? dark.matches : theme === 'dark';
}
export const onTheme = (listener: () => void): number => listeners.push(listener);

const later = afterwards();
const recolour = framed(() => later(apply));

/** System, light, dark, and round again. The colours come after the frame with the new name: a page of new colours takes several. */
export function nextTheme(): Theme {
  current = current === 'system' ? 'light' : current === 'light' ? 'dark' : 'system';
  remember(key, current === 'system' ? undefined : current);
  recolour();
  return current;
}

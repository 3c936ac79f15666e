// SPDX-License-Identifier: Apache-2.0
// Every number can be taken along: a click copies it, and so does Enter, once it has been gone into by the keys. One listener for the
// whole page, since figures put new numbers up all the time. What holds many of them is one stop of Tab; Enter goes in, arrows from
// number to number, Escape out.
import { announce } from '../dom.ts';

const holders = '.numbers-scroll, .row-list, .readout, .key-list';
const numbers = '.number, .numbers-scroll td, .big-number';
/** What has a use of its own for a click. */
const taken = 'a, button, input, select, label, summary';

const reads = (element: Element): boolean => /^[−+-]?[\d.]/.test(element.textContent?.trim() ?? '');
const numberAt = (target: EventTarget | null): HTMLElement | undefined => {
  const found = target instanceof Element ? target.closest<HTMLElement>(numbers) : null;
  return found && !found.closest(taken) && reads(found) ? found : undefined;
};

/** With all its digits where the page shows fewer, and with a minus that programs read. */
export const plain = (text: string): string =>
  text
    .trim()
    .replace(/−/g, '-')
    .replace(/(\d),(?=\d{3}(?!\d))/g, '$1');

async function take(element: HTMLElement): Promise<void> {
  const text = element.dataset.value ?? plain(element.textContent ?? '');
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    announce('Copying is not allowed here');
    return;
  }
  announce(`${text} copied`);
  element.dataset.copied = '';
  setTimeout(() => delete element.dataset.copied, 900);
}

/** In the order of reading; of a table's row and column as well. */
function moved(from: HTMLElement, key: string): HTMLElement | undefined {
  const holder = from.closest(holders);
  const all = [...(holder?.querySelectorAll<HTMLElement>(numbers) ?? [])].filter(reads);
  const at = all.indexOf(from);
  if (key === 'Home') return all[0];
  if (key === 'End') return all.at(-1);
  const row = from.closest('tr');
  const down = key === 'ArrowDown' || key === 'ArrowUp';
  if (row && down) {
    const step = key === 'ArrowDown' ? 'nextElementSibling' : 'previousElementSibling';
    const next = row[step]?.children[(from.closest('td') as HTMLTableCellElement).cellIndex];
    return all.find((one) => next?.contains(one));
  }
  return all[at + (key === 'ArrowRight' || key === 'ArrowDown' ? 1 : -1)];
}

function enter(element: HTMLElement | undefined): void {
  if (!element) return;
  element.tabIndex = -1;
  element.focus();
}

function press(event: KeyboardEvent): void {
  if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
  const target = event.target as HTMLElement;
  if (event.key === 'Enter' && target.matches(holders))
    enter([...target.querySelectorAll<HTMLElement>(numbers)].find(reads));
  else if (target.closest(numbers) !== target) return;
  else if (event.key === 'Enter') void take(target);
  else if (event.key === 'Escape') target.closest<HTMLElement>(holders)?.focus();
  else if (/^(Arrow|Home$|End$)/.test(event.key) && target.closest(holders))
    enter(moved(target, event.key));
  else return;
  event.preventDefault();
}

export function copyNumbers(): void {
  document.addEventListener('keydown', press);
  document.addEventListener('click', (event) => {
    const found = numberAt(event.target);
    // Who selects a part of it wants that part.
    if (found && getSelection()?.isCollapsed !== false) void take(found);
  });
}

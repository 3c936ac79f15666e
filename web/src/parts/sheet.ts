// SPDX-License-Identifier: Apache-2.0
// On a phone, controls that stand beside or above a figure elsewhere would push it out of sight. There they lie in a sheet at the
// foot of the screen, which a button opens, and the figure stays in view above it while a slider is dragged.
import { byId, h, setText } from '../dom.ts';
import type { LabId } from '../model/labs.ts';

const narrow = matchMedia('(max-width: 40rem)');

interface Sheet {
  readonly root: HTMLElement;
  readonly body: HTMLElement;
  readonly title: string;
  /** Each part, and what marks its place in the lab on a wide screen. */
  readonly parts: readonly (readonly [HTMLElement, Comment])[];
}
const sheets = new Map<string, Sheet>();
let inView = '';
let bar: { readonly root: HTMLElement; readonly button: HTMLButtonElement } | undefined;

const open = (): Sheet | undefined => [...sheets.values()].find(({ root }) => !root.hidden);

function close(back = true): void {
  const sheet = open();
  if (!sheet) return;
  sheet.root.hidden = true;
  bar?.button.setAttribute('aria-expanded', 'false');
  if (back) bar?.button.focus();
}

/** Puts a figure of the lab above the sheet, unless one is there. */
function uncover(lab: HTMLElement, sheet: HTMLElement): void {
  const top = Number.parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
  const edge = sheet.getBoundingClientRect().top;
  const stages = [...lab.querySelectorAll<HTMLElement>('.stage')].filter((one) =>
    one.checkVisibility(),
  );
  const seen = stages.some((one) => {
    const box = one.getBoundingClientRect();
    return Math.min(box.bottom, edge) - Math.max(box.top, top) > 0.6 * box.height;
  });
  if (!seen) stages[0]?.scrollIntoView({ block: 'start' });
}

function toggle(): void {
  if (open()) {
    close();
    return;
  }
  const sheet = sheets.get(inView);
  if (!sheet) return;
  sheet.root.hidden = false;
  bar?.button.setAttribute('aria-expanded', 'true');
  uncover(byId(inView), sheet.root);
  sheet.root.querySelector('button')?.focus({ preventScroll: true });
}

/** The button is there while the lab in view has a sheet. */
function show(): void {
  if (!bar) return;
  const sheet = narrow.matches ? sheets.get(inView) : undefined;
  const opened = open();
  if (opened !== sheet) {
    const focused = opened?.root.contains(document.activeElement);
    close(false);
    // Or the focus would be nowhere.
    if (focused)
      opened?.root
        .closest<HTMLElement>('.lab')
        ?.querySelector('h2')
        ?.focus({ preventScroll: true });
  }
  bar.root.hidden = sheet === undefined;
  if (!sheet) return;
  setText(bar.button, sheet.title);
  bar.button.setAttribute('aria-controls', sheet.root.id);
}

function lay({ root, body, parts }: Sheet): void {
  const focused = document.activeElement;
  for (const [part, place] of parts)
    if (narrow.matches) body.append(part);
    else place.after(part);
  root.hidden = true;
  // An element that is moved loses the focus.
  if (focused instanceof HTMLElement && focused !== document.activeElement) focused.focus();
}

function makeBar(): void {
  const button = h('button', { type: 'button', 'aria-expanded': 'false', click: toggle });
  const root = h(
    'div',
    {
      class: 'sheet-bar',
      role: 'region',
      'aria-label': 'Controls of the lab in view',
      hidden: true,
    },
    button,
  );
  bar = { root, button };
  byId('live').before(root);
  document.addEventListener('keydown', (event) => {
    if (
      event.key === 'Escape' &&
      !event.defaultPrevented &&
      open()?.root.contains(event.target as Node)
    )
      close();
  });
  narrow.addEventListener('change', () => {
    sheets.forEach(lay);
    show();
  });
}

/** Labs in the middle of the screen, of which there are two where one ends. */
const seen = new Set<string>();
const observer =
  'IntersectionObserver' in globalThis
    ? new IntersectionObserver(
        (entries) => {
          for (const { isIntersecting, target } of entries) {
            // The last one that came stays the one in view while it is; then it is one that was there before.
            seen.delete(target.id);
            if (isIntersecting) seen.add(target.id);
          }
          inView = [...seen].at(-1) ?? '';
          show();
        },
        { rootMargin: '-30% 0px -30% 0px' },
      )
    : undefined;

/** Parts of a lab that go into its sheet where the screen is narrow; they stand in the page already. */
export function inSheet(lab: LabId, ...wanted: readonly HTMLElement[]): void {
  if (!bar) makeBar();
  const section = byId(lab);
  const kicker = section.querySelector('.lab-kicker')?.textContent ?? '';
  const title = `Controls of ${kicker}`;
  const body = h('div', { class: 'sheet-body' });
  const root = h(
    'section',
    { class: 'sheet', id: `${lab}-sheet`, 'aria-label': title, hidden: true },
    h(
      'div',
      { class: 'sheet-head' },
      h('h3', {}, title),
      h('button', { type: 'button', click: () => close() }, 'Close'),
    ),
    body,
  );
  const parts = wanted.map((part): readonly [HTMLElement, Comment] => {
    const place = document.createComment('controls, on a wide screen');
    part.before(place);
    return [part, place];
  });
  byId(`${lab}-body`).append(root);
  const sheet = { root, body, title, parts };
  sheets.set(lab, sheet);
  lay(sheet);
  observer?.observe(section);
}

// SPDX-License-Identifier: Apache-2.0
// Single keys: a digit goes to a lab, a question mark lists all keys. Who dictates, or types with a tremor, can turn them off.
import { announce, box, h, setText } from '../dom.ts';
import { type LabId, labs } from '../model/labs.ts';
import { remember, remembered } from '../remember.ts';

const stored = 'posenc-keys';
let wanted = remembered(stored) !== 'off';

/** Where a key already means something: fields, figures, numbers that were gone into, and whatever is open above the page. */
const busy =
  'input, select, textarea, [contenteditable], .stage, [role="application"], dialog, dialog *, .number, td';

const inLists: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
  [
    'Anywhere',
    [
      [`0 to ${labs.length - 1}`, 'go to a lab'],
      ['?', 'opens this list'],
      ['Tab', 'next control; a figure is one stop'],
    ],
  ],
  [
    'In a figure',
    [
      ['Arrows', 'move the cursor; with Shift ten steps'],
      ['Home, End', 'first and last place'],
      ['Page Up, Page Down', 'change the row by several'],
      ['+, −', 'zoom'],
      ['Enter', 'pins the cursor, or chooses its row'],
      ['Escape', 'leaves'],
    ],
  ],
  [
    'Among words and numbers',
    [
      ['Alt + ←, →', 'move the word in focus, in Lab 0'],
      ['Enter', 'goes into a table, a list or the values under a figure'],
      ['Arrows', 'from number to number'],
      ['Enter', 'copies the number in focus, as a click does'],
      ['Escape', 'back to the table or list'],
    ],
  ],
];

const switches: HTMLButtonElement[] = [];
function want(on: boolean): void {
  wanted = on;
  remember(stored, on ? undefined : 'off');
  for (const button of switches) label(button);
  announce(on ? 'Single keys on' : 'Single keys off');
}
const label = (button: HTMLButtonElement): void =>
  setText(button, wanted ? 'Turn single keys off' : 'Turn single keys on');
function keySwitch(): HTMLButtonElement {
  const button = h('button', { type: 'button', click: () => want(!wanted) });
  switches.push(button);
  label(button);
  return button;
}

let dialog: HTMLDialogElement | undefined;
function made(): HTMLDialogElement {
  const close = h(
    'button',
    { type: 'button', class: 'primary', click: () => one.close() },
    'Close',
  );
  const one = h(
    'dialog',
    { class: 'keys-dialog', 'aria-labelledby': 'keys-title' },
    h('h2', { id: 'keys-title' }, 'Keys'),
    ...inLists.map(([title, keys]) =>
      h(
        'section',
        {},
        h('h3', {}, title),
        h(
          'dl',
          {},
          ...keys.flatMap(([key, does]) => [h('dt', {}, h('kbd', {}, key)), h('dd', {}, does)]),
        ),
      ),
    ),
    h(
      'p',
      { class: 'control-doc' },
      'Digits and the question mark act only while no field and no figure has the focus.',
    ),
    box('button-row', close, keySwitch()),
  );
  document.body.append(one);
  return one;
}
export function listKeys(): void {
  dialog ??= made();
  if (!dialog.open) dialog.showModal();
}

/** For the foot of the page. */
export const keyButtons = (): HTMLElement[] => [
  h('button', { type: 'button', id: 'all-keys', click: listKeys }, 'All keys'),
  keySwitch(),
];

export function followKeys(go: (lab: LabId) => void): void {
  document.addEventListener('keydown', (event) => {
    if (!wanted || event.defaultPrevented || event.repeat) return;
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target instanceof Element && event.target.matches(busy)) return;
    const lab = /^\d$/.test(event.key) ? labs[Number(event.key)] : undefined;
    if (lab) go(lab);
    else if (event.key === '?') listKeys();
    else return;
    event.preventDefault();
  });
}

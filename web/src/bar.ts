// SPDX-License-Identifier: Apache-2.0
// The sticky bar: the encoding both labs use, and Share, Reset, Theme.
import { byId, h, setText, toast } from './dom.ts';
import { manifest } from './engine.ts';
import { writeAddress } from './model/address.ts';
import { linkOf } from './model/link.ts';
import { actsNowhere } from './model/manifest.ts';
import { untouched } from './model/settings.ts';
import { infoOf, initialState, type Store } from './model/state.ts';
import { copy } from './parts/save.ts';
import { nextTheme, theme } from './theme.ts';

export function themeButton(): HTMLButtonElement {
  const button = h('button', { type: 'button', id: 'theme', click: () => label(nextTheme()) });
  const shown = h('span');
  button.append(h('span', { class: 'wide-only' }, 'Theme: '), shown);
  const label = (name: string): void => {
    setText(shown, name);
    button.setAttribute('aria-label', `Theme: ${name}`);
  };
  label(theme());
  return button;
}

export function fillBar(store: Store): void {
  const select = h(
    'select',
    {
      id: 'encoding',
      change: () => {
        const info = manifest.find((entry) => entry.id === select.value);
        if (info) store.set({ encoding: info.id, settings: untouched, placed: !actsNowhere(info) });
      },
    },
    ...manifest.map((info) => h('option', { value: info.id }, info.title)),
  );
  const show = (): void => {
    select.value = infoOf(manifest, store.get()).id;
  };
  store.subscribe(show);
  show();
  byId('bar-controls').prepend(
    h('label', { for: 'encoding', class: 'bar-label' }, 'Encoding'),
    select,
    h(
      'button',
      {
        type: 'button',
        id: 'share',
        click: () => {
          const address = writeAddress(store.get(), manifest);
          const link = linkOf(address).catch(() => {
            toast(
              `This browser cannot shorten links: this one has ${address.length} characters, and some programs cut what is longer than 2000.`,
            );
            return address;
          });
          void copy(
            link.then((hash) => new URL(hash, location.href).href),
            'Link to this state',
          );
        },
      },
      'Share',
    ),
    h(
      'button',
      {
        type: 'button',
        id: 'reset',
        click: () => {
          store.set({ ...initialState(manifest), unknown: store.get().unknown });
          toast('Everything is back to its default. The browser’s Back undoes this.');
        },
      },
      'Reset',
    ),
  );
}

/** Marks the lab in view in the bar. */
export function followLabs(): void {
  const links = new Map(
    [...document.querySelectorAll<HTMLAnchorElement>('.bar-nav a')].map((link) => [
      link.hash.slice(1),
      link,
    ]),
  );
  const observer = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        for (const [id, link] of links) {
          if (id === entry.target.id) link.setAttribute('aria-current', 'true');
          else link.removeAttribute('aria-current');
        }
      }
    },
    { rootMargin: '-45% 0px -50% 0px' },
  );
  for (const id of links.keys()) observer.observe(byId(id));
}

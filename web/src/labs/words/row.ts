// SPDX-License-Identifier: Apache-2.0
// One word's attention under both encodings: lines from it to the others, and the others sorted by how much they get.
import { box, h, renew, setText, svg } from '../../dom.ts';
import { shortened } from '../../draw/scale.ts';
import { percent } from './text.ts';

export interface RowData {
  readonly words: readonly string[];
  /** Place of the word that looks. */
  readonly place: number;
  /** Its weights, one for each place. */
  readonly a: Float32Array;
  readonly b: Float32Array;
  readonly names: readonly [string, string];
  /** What goes to no word, where there is a sink. */
  readonly sunk: readonly [number, number] | undefined;
  choose(place: number): void;
}

const lineHeight = 24;
/** Rows of the table: what comes after them gets next to nothing, and building 500 of them takes 100 ms. */
const mostRows = 40;
/** More lines than this are a grey field; a window around the word is drawn instead. */
const mostLines = 32;

export class RowView {
  readonly root: HTMLElement;
  readonly #title = h('h3', {});
  readonly #lines = h('div', { class: 'lines' });
  readonly #table = h('div', {
    class: 'numbers-scroll shares-box',
    tabindex: 0,
    role: 'region',
    'aria-label': 'What the word looks at',
  });

  constructor() {
    this.root = box('row-view', this.#title, this.#lines, this.#table);
  }

  show(data: RowData): void {
    const { words, place } = data;
    renew(
      this.#title,
      h('span', { class: 'quote' }, words[place] ?? ''),
      ` looks at, place ${place + 1} of ${words.length}`,
    );
    this.#draw(data);
    const ranked = words
      .map((word, at) => ({ word, at, a: data.a[at] ?? 0, b: data.b[at] ?? 0 }))
      .sort((x, y) => y.a - x.a);
    const most = Math.max(...ranked.map(({ a, b }) => Math.max(a, b)), 1e-9);
    const share = (value: number, look: number): HTMLElement => {
      const bar = h('span', { class: `share-bar look${look}`, 'aria-hidden': 'true' });
      bar.style.setProperty('width', `${Math.min(100, (100 * value) / most).toFixed(1)}%`);
      return h(
        'td',
        {},
        h('span', { class: 'number' }, percent(value)),
        h('span', { class: 'share-track' }, bar),
      );
    };
    renew(
      this.#table,
      h(
        'table',
        { class: 'shares' },
        h('caption', { class: 'visually-hidden' }, `What ${words[place]} looks at, most first`),
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            h('th', { scope: 'col' }, 'Word'),
            ...data.names.map((name, i) => h('th', { scope: 'col' }, `${'AB'[i]} ${name}`)),
          ),
        ),
        h(
          'tbody',
          {},
          ...ranked
            .slice(0, mostRows)
            .map(({ word, at, a, b }) =>
              h(
                'tr',
                at === place ? { class: 'here' } : {},
                h('th', { scope: 'row' }, shortened(word, 16), h('sub', {}, String(at + 1))),
                share(a, 0),
                share(b, 1),
              ),
            ),
          ...this.#rest(ranked.slice(mostRows), share),
          ...(data.sunk
            ? [
                h(
                  'tr',
                  { class: 'sunk' },
                  h('th', { scope: 'row' }, 'the sink'),
                  ...data.sunk.map(share),
                ),
              ]
            : []),
        ),
      ),
    );
  }

  #rest(
    ranked: readonly { a: number; b: number }[],
    share: (value: number, look: number) => HTMLElement,
  ): HTMLElement[] {
    if (!ranked.length) return [];
    const sum = (of: 'a' | 'b'): number => ranked.reduce((all, one) => all + one[of], 0);
    const name = `${ranked.length} others`;
    return [h('tr', {}, h('th', { scope: 'row' }, name), share(sum('a'), 0), share(sum('b'), 1))];
  }

  #draw(data: RowData): void {
    const { words, place, a, b } = data;
    const from = Math.max(0, Math.min(words.length - mostLines, place - mostLines / 2));
    const shown = words.slice(from, from + mostLines);
    const height = shown.length * lineHeight + 8;
    const y = (at: number): number => (at - from + 0.5) * lineHeight + 4;
    const most = Math.max(...a, ...b, 1e-9);
    const figure = svg('svg', {
      viewBox: `0 0 340 ${height}`,
      class: 'lines-figure',
      role: 'img',
      'aria-label': `Lines from ${words[place]} to the words it looks at; the table has the numbers.`,
    });
    const curve = (at: number, weight: number, look: number, shift: number): SVGElement =>
      svg('path', {
        class: `look-line look${look}`,
        d: `M118 ${y(place) + shift}C170 ${y(place) + shift} 170 ${y(at) + shift} 222 ${y(at) + shift}`,
        'stroke-width': (1 + (7 * weight) / most).toFixed(2),
        'stroke-opacity': (0.12 + (0.8 * weight) / most).toFixed(2),
      });
    shown.forEach((_, i) => {
      const at = from + i;
      // Below a hundredth a line says only that it is there.
      if ((b[at] ?? 0) > 0.01) figure.append(curve(at, b[at] as number, 1, 3));
      if ((a[at] ?? 0) > 0.01) figure.append(curve(at, a[at] as number, 0, -3));
    });
    shown.forEach((word, i) => {
      const at = from + i;
      const chosen = at === place;
      const left = svg(
        'text',
        {
          class: chosen ? 'line-word chosen' : 'line-word',
          x: 110,
          y: y(at) + 5,
          'text-anchor': 'end',
        },
        shortened(word, 12),
      );
      left.addEventListener('click', () => data.choose(at));
      figure.append(
        left,
        svg('text', { class: 'line-word', x: 230, y: y(at) + 5 }, shortened(word, 12)),
      );
    });
    this.#lines.replaceChildren(figure);
    if (shown.length < words.length) {
      const note = h('p', { class: 'control-doc' });
      setText(note, `Words ${from + 1} to ${from + shown.length} of ${words.length}.`);
      this.#lines.append(note);
    }
  }
}

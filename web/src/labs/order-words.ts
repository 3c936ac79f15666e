// SPDX-License-Identifier: Apache-2.0
// The sentence as pieces to move: one tab stop, arrows choose a word, Alt and an arrow carry it along.
import { announce, h } from '../dom.ts';

export interface WordsData {
  readonly words: readonly string[];
  readonly order: readonly number[];
  readonly twins: readonly string[];
  /** Index of the chosen word in the sentence as typed. */
  readonly chosen: number;
}

export class WordRow {
  readonly root = h('div', {
    class: 'words',
    role: 'listbox',
    'aria-label':
      'The sentence, word by word. Left and right choose a word, Alt with left or right moves it.',
    'aria-orientation': 'horizontal',
  });
  #data: WordsData | undefined;

  constructor(
    private readonly choose: (word: number) => void,
    private readonly move: (word: number, by: number) => void,
  ) {
    this.root.addEventListener('keydown', (event) => this.#key(event));
  }

  show(data: WordsData): void {
    const hadFocus = this.root.contains(document.activeElement);
    this.#data = data;
    this.root.replaceChildren(
      ...data.order.map((word, place) => {
        const moved = word !== place;
        const selected = word === data.chosen;
        const twin = data.twins[word];
        return h(
          'div',
          {
            class: moved ? 'word moved' : 'word',
            role: 'option',
            tabindex: selected ? 0 : -1,
            'aria-selected': String(selected),
            'data-word': word,
            click: () => {
              this.choose(word);
              this.root.querySelector<HTMLElement>('[aria-selected="true"]')?.focus();
            },
          },
          h('span', { class: 'word-text' }, data.words[word] as string),
          h(
            'span',
            { class: 'word-place' },
            moved ? `${word + 1} → ${place + 1}` : String(place + 1),
            ...(twin ? [h('span', { class: 'twin' }, twin)] : []),
          ),
        );
      }),
    );
    if (hadFocus) this.root.querySelector<HTMLElement>('[aria-selected="true"]')?.focus();
  }

  #key(event: KeyboardEvent): void {
    const data = this.#data;
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? 0;
    if (!data || event.ctrlKey || event.metaKey) return;
    const place = data.order.indexOf(data.chosen);
    const target =
      event.key === 'Home' ? 0 : event.key === 'End' ? data.order.length - 1 : by ? place + by : -1;
    // Alt+Left would otherwise leave the page, also from the first word.
    if (by || event.key === 'Home' || event.key === 'End') event.preventDefault();
    if (target < 0 || target >= data.order.length) return;
    if (event.altKey && by) {
      this.move(data.chosen, by);
      announce(`${data.words[data.chosen]} moved to place ${target + 1} of ${data.order.length}`);
    } else if (!event.altKey) this.choose(data.order[target] as number);
  }
}

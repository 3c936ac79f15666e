// SPDX-License-Identifier: Apache-2.0
// Who looks at whom: the attention map in the present order, and the row of the chosen word as a list.
import { layer } from '../compute/layer.ts';
import { announce, box, h, renew } from '../dom.ts';
import { Cursor, Window } from '../draw/cursor.ts';
import { HeatMap, Legend } from '../draw/heatmap.ts';
import { labelsOf } from '../draw/scale.ts';
import { sequential } from '../model/colour.ts';

export interface AttentionData {
  readonly words: readonly string[];
  readonly order: readonly number[];
  readonly weights: Float32Array;
  readonly head: number;
  readonly chosen: number;
  readonly dark: boolean;
}

const percent = (weight: number): string => `${(100 * weight).toFixed(1)} %`;
/** More labels than this along one side would run into each other. */
const mostLabels = 24;

export class AttentionView {
  readonly root: HTMLElement;
  readonly #cursor = new Cursor();
  readonly #window = new Window();
  readonly #map: HeatMap;
  readonly #legend = new Legend();
  readonly #list = h('ol', { class: 'row-list', tabindex: 0 });
  readonly #title = h('h3', {});
  #data: AttentionData | undefined;
  #cells = new Float32Array();

  constructor(choose: (word: number) => void) {
    this.#map = new HeatMap(this.#cursor, this.#window, 'square', {
      choose: () => {
        const word = this.#data?.order[this.#cursor.row];
        if (word !== undefined) choose(word);
      },
    });
    this.#cursor.subscribe(() => this.#speak());
    this.root = box(
      'attention',
      h(
        'figure',
        { class: 'figure' },
        this.#map.stage.root,
        h('figcaption', {}, this.#legend.root),
      ),
      box('row-panel', this.#title, this.#list),
    );
  }

  show(data: AttentionData): void {
    this.#data = data;
    const { words, order, weights, head, dark } = data;
    const count = order.length;
    this.#cells = new Float32Array(count * count);
    for (let h = 0; h < layer.heads; h += 1) {
      if (head >= 0 && head !== h) continue;
      for (let i = 0; i < count * count; i += 1)
        this.#cells[i] =
          (this.#cells[i] as number) +
          (weights[h * count * count + i] as number) / (head < 0 ? layer.heads : 1);
    }
    const chosenRow = order.indexOf(data.chosen);
    const labels = labelsOf(
      order.map((word) => words[word] as string),
      mostLabels,
      chosenRow,
    );
    const colours = sequential(dark);
    const range = { low: 0, high: Math.max(...this.#cells, 1e-9) };
    this.#cursor.fit(count, count);
    this.#window.fit(count);
    const [first] = this.#sorted(chosenRow);
    const name = words[data.chosen] ?? '';
    this.#map.show({
      columns: count,
      rows: count,
      cells: this.#cells,
      range,
      colours,
      columnTicks: labels,
      rowTicks: labels,
      columnName: 'looked at',
      rowName: 'looking',
      upright: true,
      chosenRow,
      label: `Attention of ${count} words, ${head < 0 ? `mean of ${layer.heads} heads` : `head ${head + 1}`}. ${name} looks most at ${first ? `${words[order[first.column] as number]}, ${percent(first.weight)}` : 'nothing'}.`,
    });
    this.#legend.show('weight', range, colours);
    renew(this.#title, h('span', { class: 'quote' }, name), ' looks at');
    this.#list.setAttribute('aria-label', `What ${name} looks at, largest first`);
    renew(
      this.#list,
      ...this.#sorted(chosenRow).map(({ column, weight }) => {
        const bar = h('span', { class: 'bar-fill', 'aria-hidden': 'true' });
        bar.style.setProperty('width', `${Math.max(0.5, (100 * weight) / range.high).toFixed(1)}%`);
        return h(
          'li',
          {},
          h('span', { class: 'row-word' }, words[order[column] as number] as string),
          h('span', { class: 'row-bar' }, bar),
          h('span', { class: 'number' }, percent(weight)),
        );
      }),
    );
  }

  #sorted(row: number): { column: number; weight: number }[] {
    const count = this.#data?.order.length ?? 0;
    return Array.from({ length: count }, (_, column) => ({
      column,
      weight: this.#cells[row * count + column] ?? 0,
    })).sort((a, b) => b.weight - a.weight);
  }

  #speak(): void {
    const data = this.#data;
    if (!data || !this.#cursor.active) return;
    const { row, column } = this.#cursor;
    const word = (place: number): string => data.words[data.order[place] as number] ?? '';
    announce(
      `${word(row)} looks at ${word(column)}: ${percent(this.#cells[row * data.order.length + column] ?? 0)}`,
    );
  }
}

// SPDX-License-Identifier: Apache-2.0
// Three maps under one cursor: A, B, and what A has more than B.
import { announce, box, h, setText } from '../../dom.ts';
import { Cursor, Window } from '../../draw/cursor.ts';
import { HeatMap, Legend } from '../../draw/heatmap.ts';
import { centred, rangeOf } from '../../draw/raster.ts';
import { diverging, sequential } from '../../model/colour.ts';
import { percent, shortened } from './text.ts';

export interface MapsData {
  readonly words: readonly string[];
  readonly a: Float32Array;
  readonly b: Float32Array;
  readonly names: readonly [string, string];
  readonly place: number;
  readonly dark: boolean;
}

export class Maps {
  readonly root: HTMLElement;
  readonly #cursor = new Cursor();
  readonly #window = new Window();
  readonly #maps: HeatMap[];
  readonly #legends = [new Legend(), new Legend(), new Legend()];
  readonly #titles = [0, 1, 2].map(() => h('h3', {}));
  readonly #readout = h('p', { class: 'words-readout', 'data-role': 'words-readout' });
  #data: MapsData | undefined;
  #difference = new Float32Array();

  constructor(choose: (place: number) => void) {
    const steps = { choose: () => choose(this.#cursor.row) };
    this.#maps = [0, 1, 2].map(() => new HeatMap(this.#cursor, this.#window, 'square', steps));
    this.root = box(
      'words-maps-box',
      box(
        'words-maps',
        ...this.#maps.map((map, i) =>
          h(
            'figure',
            { class: 'figure' },
            this.#titles[i] as HTMLElement,
            map.stage.root,
            h('figcaption', {}, (this.#legends[i] as Legend).root),
          ),
        ),
      ),
      this.#readout,
    );
    this.#cursor.subscribe(() => this.#point());
  }

  show(data: MapsData): void {
    this.#data = data;
    const { words, a, b, names, place, dark } = data;
    const count = words.length;
    this.#difference = a.map((weight, i) => weight - (b[i] as number));
    this.#cursor.fit(count, count);
    this.#window.fit(count);
    const every = Math.max(1, Math.ceil(count / 20));
    const labels = words
      .map((word, at) => ({ at, text: shortened(word, 8) }))
      .filter(({ at }) => at % every === 0 || at === place);
    const plain = sequential(dark);
    // One scale for both, so that equal shades are equal weights.
    const high = Math.max(rangeOf(a).high, rangeOf(b).high, 1e-9);
    const looks = [
      {
        cells: a,
        range: { low: 0, high },
        colours: plain,
        name: 'weight',
        title: `A: ${names[0]}`,
      },
      {
        cells: b,
        range: { low: 0, high },
        colours: plain,
        name: 'weight',
        title: `B: ${names[1]}`,
      },
      {
        cells: this.#difference,
        range: centred(this.#difference),
        colours: diverging(dark),
        name: 'A − B',
        title: 'A − B',
      },
    ];
    looks.forEach(({ cells, range, colours, name, title }, i) => {
      setText(this.#titles[i] as HTMLElement, title);
      this.#maps[i]?.show({
        columns: count,
        rows: count,
        cells,
        range,
        colours,
        columnTicks: labels,
        rowTicks: labels,
        columnName: 'looked at',
        rowName: 'looking',
        upright: true,
        chosenRow: place,
        label: `${title}: attention among ${count} words, from ${percent(rangeOf(cells).low)} to ${percent(rangeOf(cells).high)}. Enter chooses the word that looks.`,
      });
      this.#legends[i]?.show(name, range, colours);
    });
    this.#point(false);
  }

  #point(speak = true): void {
    const data = this.#data;
    if (!data) return;
    const { column, row, active } = this.#cursor;
    const at = row * data.words.length + column;
    const text = active
      ? `${data.words[row]} → ${data.words[column]}: A ${percent(data.a[at] ?? 0)}, B ${percent(data.b[at] ?? 0)}, A − B ${(100 * (this.#difference[at] ?? 0)).toFixed(1)}`
      : 'Point at a map, or Tab to it and use the arrows; Enter chooses the word that looks.';
    setText(this.#readout, text);
    if (active && speak) announce(text);
  }
}

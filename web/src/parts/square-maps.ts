// SPDX-License-Identifier: Apache-2.0
// Maps of attention over one sequence, side by side under one cursor.
import { announce, box, h, setHidden, setText } from '../dom.ts';
import { Cursor, Window } from '../draw/cursor.ts';
import { HeatMap, Legend } from '../draw/heatmap.ts';
import { labelsOf } from '../draw/scale.ts';
import type { ColourTable } from '../model/colour.ts';
import type { Range } from '../model/range.ts';

export interface MapLook {
  readonly title: string;
  /** Of the legend. */
  readonly name: string;
  /** [places, places] */
  readonly cells: Float32Array;
  readonly range: Range;
  readonly colours: ColourTable;
  readonly label: string;
}
export interface SquareMapsData {
  /** What stands at each place. */
  readonly words: readonly string[];
  readonly looks: readonly MapLook[];
  /** The row to frame. */
  readonly place?: number;
  readout(row: number, column: number): string;
  /** What stands in place of a reading where nobody points. */
  readonly hint: string;
}

/** More labels than this along one side would run into each other. */
const mostLabels = 20;

export class SquareMaps {
  readonly root: HTMLElement;
  readonly #cursor = new Cursor();
  readonly #window = new Window();
  readonly #maps: readonly {
    figure: HTMLElement;
    title: HTMLElement;
    map: HeatMap;
    legend: Legend;
  }[];
  readonly #readout: HTMLElement;
  #data: SquareMapsData | undefined;

  /** `most` maps; `role` names the line that reads the cell under the cursor, `choose` takes the row of it at Enter. */
  constructor(most: number, role: string, choose?: (place: number) => void) {
    const steps = choose ? { choose: () => choose(this.#cursor.row) } : {};
    this.#maps = Array.from({ length: most }, () => {
      const map = new HeatMap(this.#cursor, this.#window, 'square', steps);
      const legend = new Legend();
      const title = h('h3', {});
      const caption = h('figcaption', {}, legend.root);
      return {
        figure: h('figure', { class: 'figure' }, title, map.stage.root, caption),
        title,
        map,
        legend,
      };
    });
    this.#readout = h('p', { class: 'words-readout', 'data-role': role });
    this.root = box(
      'words-maps-box',
      box('words-maps', ...this.#maps.map(({ figure }) => figure)),
      this.#readout,
    );
    this.#cursor.subscribe(() => this.#point());
  }

  show(data: SquareMapsData): void {
    this.#data = data;
    const { words, looks, place } = data;
    const count = words.length;
    this.#cursor.fit(count, count);
    this.#window.fit(count);
    const labels = labelsOf(words, mostLabels, place);
    this.#maps.forEach(({ figure, title, map, legend }, i) => {
      const look = looks[i];
      setHidden(figure, look === undefined);
      if (!look) return;
      const { cells, range, colours, label } = look;
      setText(title, look.title);
      map.show({
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
        ...(place === undefined ? {} : { chosenRow: place }),
        label,
      });
      legend.show(look.name, range, colours);
    });
    this.#point(false);
  }

  #point(speak = true): void {
    const data = this.#data;
    if (!data) return;
    const { column, row, active } = this.#cursor;
    const text = active ? data.readout(row, column) : data.hint;
    setText(this.#readout, text);
    if (active && speak) announce(text);
  }
}

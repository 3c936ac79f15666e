// SPDX-License-Identifier: Apache-2.0
// A figure of curves with everything that belongs to it: a legend that is also the read-out, its numbers in a table, and the
// ways out of the page.
import { announce, box, h, renew, setText } from '../dom.ts';
import { Cursor, Window } from '../draw/cursor.ts';
import { looks, Plot, type PlotData } from '../draw/plot.ts';
import { exact, grouped } from '../draw/scale.ts';
import { listenButton } from './listen.ts';
import { csvOf, jsonOf, NumberTable, type TableData } from './number-table.ts';
import { download, saveJson } from './save.ts';
import { savePng, saveSvg } from './save-svg.ts';
import type { Heard } from './sound.ts';

export interface PanelData {
  readonly plot: PlotData;
  /** What x is called in the read-out: "pair 12". */
  xText(column: number): string;
  readonly table: TableData;
  /** The state in words, for what leaves the page. */
  readonly remarks: readonly string[];
  readonly title: string;
}

/** The cursor of another figure whose rows are this one's columns, while that is so. */
export interface Leader {
  readonly cursor: Cursor;
  applies(): boolean;
}

export class PlotPanel {
  readonly root: HTMLElement;
  readonly #cursor = new Cursor();
  readonly #window = new Window();
  readonly #plot: Plot;
  readonly #table: NumberTable;
  readonly #title = h('h3', { class: 'figure-title' });
  readonly #legend = h('ul', {
    class: 'key-list',
    tabindex: 0,
    'aria-label': 'Curves, and their values at the cursor. Enter goes to the values.',
  });
  readonly #place = h('p', { class: 'key-place' });
  #data: PanelData | undefined;
  #values: HTMLElement[] = [];

  constructor(
    private readonly id: string,
    caption: string,
    leader?: Leader,
  ) {
    const zoom = (factor: number): void => {
      this.#window.zoom(factor, this.#cursor.column);
      this.#plot.stage.redraw();
      announce(this.#window.whole ? 'All in view' : `${this.#window.count} points in view`);
    };
    this.#plot = new Plot(this.#cursor, this.#window, { page: 1, zoom });
    this.#plot.stage.root.id = `${id}-plot`;
    this.#table = new NumberTable(`${id}-numbers`, this.#cursor);
    const button = (text: string, click: () => void): HTMLButtonElement =>
      h('button', { type: 'button', click }, text);
    this.root = h(
      'figure',
      { class: 'figure plot-panel', id },
      this.#title,
      this.#plot.stage.root,
      box('key', this.#place, this.#legend),
      h('figcaption', { class: 'control-doc' }, caption),
      box(
        'button-row',
        this.#table.toggle,
        button('CSV', () => this.#csv()),
        button('JSON', () => this.#json()),
        button('SVG', () => this.#picture(saveSvg, 'svg')),
        button('PNG', () => this.#picture(savePng, 'png')),
        ...listenButton(
          () => this.#heard(),
          (column) => this.#follow(column),
        ),
      ),
      this.#table.root,
    );
    // Ahead of what is spoken here, since of two figures that move the one in use has the last word.
    if (leader) this.#join(leader);
    this.#cursor.subscribe(() => this.#point(!this.#led));
  }

  #led = false;
  #join({ cursor, applies }: Leader): void {
    let leads = false;
    cursor.subscribe(() => {
      if (leads || !applies()) return;
      this.#led = true;
      if (cursor.active) this.#cursor.moveTo(cursor.row);
      else this.#cursor.hide();
      this.#led = false;
    });
    this.#cursor.subscribe(() => {
      if (this.#led || !applies()) return;
      leads = true;
      if (this.#cursor.active) cursor.moveTo(cursor.column, this.#cursor.column);
      else cursor.hide();
      leads = false;
    });
  }

  show(data: PanelData): void {
    this.#data = data;
    const { series, xs } = data.plot;
    this.#cursor.fit(xs.length, Math.max(1, series.length));
    this.#window.fit(xs.length);
    setText(this.#title, data.title);
    this.#plot.show(data.plot);
    this.#table.show(data.table);
    renew(
      this.#legend,
      ...series.map((one) => {
        const look = `look${one.look % looks}${one.faint ? ' faint' : ''}`;
        return h(
          'li',
          { 'data-series': one.letter || one.name },
          h('span', { class: `swatch ${look}`, 'aria-hidden': 'true' }, one.letter),
          h('span', { class: 'key-name' }, one.name),
          h('span', { class: 'number key-value' }),
        );
      }),
    );
    this.#values = [...this.#legend.querySelectorAll<HTMLElement>('.key-value')];
    this.#point(false);
  }

  /** The curve under the cursor, or the first. */
  #heard(): Heard | undefined {
    const { plot } = this.#data ?? {};
    const one = plot?.series[this.#cursor.active ? this.#cursor.row : 0];
    if (!plot || !one) return undefined;
    const { xs, xLog, yLog } = plot;
    const places = Float64Array.from(xs, (x) => (xLog ? Math.log(Math.max(x, 1e-300)) : x));
    return { name: one.name, values: one.values, places, logarithmic: yLog === true };
  }
  /** Along with a tone, whose end is announced and not its way. */
  #follow(column: number): void {
    this.#led = true;
    this.#cursor.moveTo(column);
    this.#led = false;
  }

  #point(speak = true): void {
    const data = this.#data;
    if (!data) return;
    if (this.#window.reveal(this.#cursor.column)) this.#plot.stage.redraw();
    const { active, column, row, pinned } = this.#cursor;
    const place = active
      ? data.xText(column)
      : 'Point at the figure, or Tab to it and use the arrows.';
    setText(this.#place, pinned ? `${place} · pinned` : place);
    data.plot.series.forEach((one, i) => {
      const value = one.values[column] as number;
      const shown = Number.isFinite(value) ? grouped(value, 6) : '—';
      const place = this.#values[i] as HTMLElement;
      setText(place, active ? shown : '');
      place.dataset.value = String(value);
      place.parentElement?.classList.toggle('here', active && i === row);
    });
    const one = data.plot.series[row];
    if (active && speak && one) {
      const value = one.values[column] as number;
      announce(`${place}: ${one.name} ${Number.isFinite(value) ? exact(value) : 'none'}`);
    }
  }

  #lines(): string[] {
    return [...(this.#data?.remarks ?? []), location.href];
  }
  #csv(): void {
    const data = this.#data;
    if (data)
      download(
        `${this.id}.csv`,
        new Blob([csvOf(data.table, [data.title, ...this.#lines()])], { type: 'text/csv' }),
      );
  }
  #json(): void {
    const data = this.#data;
    if (!data) return;
    saveJson(`${this.id}.json`, jsonOf(data.table, data.title, this.#lines()));
  }
  #picture(
    save: (name: string, stage: Plot['stage'], text: { title: string; lines: string[] }) => unknown,
    kind: string,
  ): void {
    const title = this.#data?.title ?? '';
    this.#plot.stage.redraw.now();
    void save(`${this.id}.${kind}`, this.#plot.stage, { title, lines: this.#lines() });
  }
}

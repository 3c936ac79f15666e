// SPDX-License-Identifier: Apache-2.0
import { box, h, renew, setText, svg } from '../dom.ts';
import type { ColourTable } from '../model/colour.ts';
import type { Range } from '../model/range.ts';
import type { Cursor, Window } from './cursor.ts';
import { Drawn } from './kept.ts';
import { type Grid, paint } from './raster.ts';
import { brief } from './scale.ts';
import { Stage, type Steps } from './stage.ts';

export interface Tick {
  readonly at: number;
  readonly text: string;
}
export interface HeatMapData extends Grid {
  readonly range: Range;
  readonly colours: ColourTable;
  readonly columnTicks: readonly Tick[];
  readonly rowTicks: readonly Tick[];
  readonly columnName: string;
  readonly rowName: string;
  readonly label: string;
  /** Words under the columns stand upright when there is no room. */
  readonly upright?: boolean;
  readonly chosenRow?: number;
  /** Room left and right of the cells; without it, as much as the names of the rows need. */
  readonly margins?: { readonly left: number; readonly right: number };
}

const letter = 8.4;

export class HeatMap {
  readonly stage: Stage;
  readonly #canvas = h('canvas', { class: 'cells', 'aria-hidden': 'true' });
  #data: HeatMapData | undefined;
  readonly #names = svg('g');
  readonly #marks = svg('g');
  readonly #painted = new Drawn();
  readonly #named = new Drawn();

  constructor(
    private readonly cursor: Cursor,
    private readonly window: Window,
    className: string,
    steps: Steps = {},
  ) {
    this.stage = new Stage(
      cursor,
      className,
      () => this.#draw(),
      (x, y) => ({
        column: window.from + Math.floor(x * window.count),
        row: Math.floor(y * (this.#data?.rows ?? 1)),
      }),
      () => ({ column: (this.#data?.columns ?? 1) - 1, row: (this.#data?.rows ?? 1) - 1 }),
      steps,
    );
    this.stage.root.prepend(this.#canvas);
    this.stage.overlay.append(this.#names, this.#marks);
    cursor.subscribe(this.stage.redraw);
  }

  show(data: HeatMapData): void {
    this.#data = data;
    this.stage.describe(data.label);
    this.stage.redraw();
  }

  #draw(): void {
    const data = this.#data;
    if (!data) return;
    const { frame, size } = this.stage;
    const { from, count } = this.window;
    const longest = data.rowTicks.reduce((most, tick) => Math.max(most, tick.text.length), 1);
    const below = data.upright
      ? Math.max(...data.columnTicks.map((tick) => tick.text.length), 1) * letter + 10
      : 22;
    frame.left = data.margins?.left ?? Math.round(Math.min(longest * letter + 12, size.width / 3));
    frame.top = 24;
    frame.width = Math.max(1, size.width - frame.left - (data.margins?.right ?? 12));
    frame.height = Math.max(1, size.height - frame.top - Math.min(below, 90) - 4);
    this.#place();

    const ratio = globalThis.devicePixelRatio || 1;
    const { cells, range, colours } = data;
    const shown = [cells, range.low, range.high, colours, data.columns, data.rows];
    if (this.#painted.differs(...shown, from, count, frame.width, frame.height, ratio))
      paint(
        this.#canvas,
        data,
        from,
        count,
        { width: frame.width * ratio, height: frame.height * ratio },
        range,
        colours,
      );
    const { columns, rows, columnTicks, rowTicks, columnName, rowName, chosenRow, upright } = data;
    // By what they say: the cells change at every step of a slider, and their names do not.
    const said = [columns, rows, columnTicks, rowTicks, columnName, rowName, chosenRow, upright];
    if (this.#named.differs(JSON.stringify([...said, frame, from, count])))
      renew(this.#names, ...this.#axes(data));
    renew(this.#marks, ...this.#cursorMarks(data));
  }

  #x(column: number): number {
    const { frame } = this.stage;
    const { from, count } = this.window;
    return frame.left + ((column - from + 0.5) / count) * frame.width;
  }
  #y(row: number, { rows }: HeatMapData): number {
    const { frame } = this.stage;
    return frame.top + ((row + 0.5) / rows) * frame.height;
  }

  #axes(data: HeatMapData): SVGElement[] {
    const { frame } = this.stage;
    const { from, count } = this.window;
    const bottom = frame.top + frame.height;
    const { left, top, width, height } = frame;
    const marks: SVGElement[] = [svg('rect', { class: 'frame', x: left, y: top, width, height })];
    for (const tick of data.columnTicks) {
      if (tick.at < from || tick.at >= from + count) continue;
      const at = this.#x(tick.at);
      marks.push(
        data.upright
          ? svg(
              'text',
              { class: 'tick end', transform: `translate(${at + 4} ${bottom + 8}) rotate(-90)` },
              tick.text,
            )
          : svg('text', { class: 'tick middle', x: at, y: bottom + 17 }, tick.text),
      );
    }
    for (const tick of data.rowTicks)
      marks.push(
        svg(
          'text',
          {
            class: `tick end${tick.at === data.chosenRow ? ' chosen' : ''}`,
            x: left - 7,
            y: this.#y(tick.at, data) + 4.5,
          },
          tick.text,
        ),
      );
    marks.push(
      svg('text', { class: 'axis end', x: left + width, y: 15 }, `${data.columnName} →`),
      svg('text', { class: 'axis', x: left, y: 15 }, `${data.rowName} ↓`),
    );
    if (!this.window.whole) {
      const scale = width / data.columns;
      const part = { x: left + from * scale, width: Math.max(4, count * scale) };
      const line = { y: bottom + 1, height: 3 };
      marks.push(
        svg('rect', { class: 'overview', x: left, width, ...line }),
        svg('rect', { class: 'overview-part', ...part, ...line }),
      );
    }
    if (data.chosenRow !== undefined)
      marks.push(
        ...outlined(left, top + (data.chosenRow / data.rows) * height, width, height / data.rows),
      );
    return marks;
  }

  #cursorMarks(data: HeatMapData): SVGElement[] {
    const { from, count } = this.window;
    const { active, column, row } = this.cursor;
    if (!active || column < from || column >= from + count) return [];
    const { left, top, width, height } = this.stage.frame;
    const [x, y] = [this.#x(column), this.#y(row, data)];
    const cross = `M${x} ${top}V${top + height}M${left} ${y}H${left + width}`;
    const wide = Math.max(7, width / count);
    const tall = Math.max(7, height / data.rows);
    return [
      svg('path', { class: 'halo', d: cross }),
      svg('path', { class: 'cross', d: cross }),
      ...outlined(x - wide / 2, y - tall / 2, wide, tall),
    ];
  }

  #place(): void {
    const { frame } = this.stage;
    for (const name of ['left', 'top', 'width', 'height'] as const)
      this.#canvas.style.setProperty(name, `${frame[name]}px`);
  }
}

/** Two strokes, so that the mark shows on any colour beneath. */
function outlined(x: number, y: number, width: number, height: number): SVGElement[] {
  const box = { x, y, width, height };
  return [svg('rect', { class: 'halo', ...box }), svg('rect', { class: 'mark', ...box })];
}

/** The colours with their two ends and, where it means something, the middle. */
export class Legend {
  readonly #name = h('span');
  readonly #low = h('span', { class: 'number' });
  readonly #high = h('span', { class: 'number' });
  readonly #canvas = h('canvas', { class: 'legend-bar', 'aria-hidden': 'true' });
  readonly root = box('legend', this.#name, this.#low, this.#canvas, this.#high);
  #colours: ColourTable | undefined;

  show(name: string, range: Range, colours: ColourTable): void {
    setText(this.#name, name);
    setText(this.#low, brief(range.low));
    setText(this.#high, brief(range.high));
    if (this.#colours === colours) return;
    this.#colours = colours;
    paint(
      this.#canvas,
      { columns: 256, rows: 1, cells: Float32Array.from({ length: 256 }, (_, i) => i) },
      0,
      256,
      { width: 256, height: 1 },
      { low: 0, high: 255 },
      colours,
    );
  }
}

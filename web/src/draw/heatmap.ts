// SPDX-License-Identifier: Apache-2.0
import { box, h, renew, setText, svg } from '../dom.ts';
import type { ColourTable } from '../model/colour.ts';
import type { Range } from '../model/range.ts';
import type { Cursor, Window } from './cursor.ts';
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
  #painted = '';

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
    cursor.subscribe(this.stage.redraw);
  }

  show(data: HeatMapData): void {
    this.#data = data;
    this.#painted = '';
    this.stage.describe(data.label);
    this.stage.redraw();
  }

  #draw(): void {
    const data = this.#data;
    if (!data) return;
    const { frame, overlay, size } = this.stage;
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

    const box = `${from}:${count}:${frame.width}:${frame.height}`;
    if (this.#painted !== box) {
      this.#painted = box;
      const ratio = globalThis.devicePixelRatio || 1;
      paint(
        this.#canvas,
        data,
        from,
        count,
        { width: frame.width * ratio, height: frame.height * ratio },
        data.range,
        data.colours,
      );
    }
    const x = (column: number): number =>
      frame.left + ((column - from + 0.5) / count) * frame.width;
    const y = (row: number): number => frame.top + ((row + 0.5) / data.rows) * frame.height;
    const bottom = frame.top + frame.height;
    const marks: SVGElement[] = [
      svg('rect', {
        class: 'frame',
        x: frame.left,
        y: frame.top,
        width: frame.width,
        height: frame.height,
      }),
    ];
    for (const tick of data.columnTicks) {
      if (tick.at < from || tick.at >= from + count) continue;
      const at = x(tick.at);
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
            x: frame.left - 7,
            y: y(tick.at) + 4.5,
          },
          tick.text,
        ),
      );
    marks.push(
      svg(
        'text',
        { class: 'axis end', x: frame.left + frame.width, y: 15 },
        `${data.columnName} →`,
      ),
    );
    marks.push(svg('text', { class: 'axis', x: frame.left, y: 15 }, `${data.rowName} ↓`));
    if (!this.window.whole) {
      const scale = frame.width / data.columns;
      marks.push(
        svg('rect', {
          class: 'overview',
          x: frame.left,
          y: bottom + 1,
          width: frame.width,
          height: 3,
        }),
      );
      marks.push(
        svg('rect', {
          class: 'overview-part',
          x: frame.left + from * scale,
          y: bottom + 1,
          width: Math.max(4, count * scale),
          height: 3,
        }),
      );
    }
    if (data.chosenRow !== undefined)
      marks.push(
        ...outlined(
          frame.left,
          frame.top + (data.chosenRow / data.rows) * frame.height,
          frame.width,
          frame.height / data.rows,
        ),
      );
    if (this.cursor.active && this.cursor.column >= from && this.cursor.column < from + count) {
      marks.push(
        svg('path', { class: 'halo', d: this.#cross(x, y) }),
        svg('path', { class: 'cross', d: this.#cross(x, y) }),
      );
      const width = Math.max(7, frame.width / count);
      const height = Math.max(7, frame.height / data.rows);
      marks.push(
        ...outlined(
          x(this.cursor.column) - width / 2,
          y(this.cursor.row) - height / 2,
          width,
          height,
        ),
      );
    }
    renew(overlay, ...marks);
  }

  #cross(x: (column: number) => number, y: (row: number) => number): string {
    const { frame } = this.stage;
    return `M${x(this.cursor.column)} ${frame.top}V${frame.top + frame.height}M${frame.left} ${y(this.cursor.row)}H${frame.left + frame.width}`;
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

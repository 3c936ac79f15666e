// SPDX-License-Identifier: Apache-2.0
// Several curves over one axis. Each has a colour, a dash and a letter, so that no two are told apart by colour alone.
import { renew, svg } from '../dom.ts';
import { type Band, bandPath } from './band.ts';
import type { Cursor, Window } from './cursor.ts';
import { decimated } from './curve.ts';
import { Drawn, Kept } from './kept.ts';
import { lettersOf } from './letters.ts';
import { axesOf, flip, type Scale, scaleOf, spanOf } from './plot-axes.ts';
import { Stage, type Steps } from './stage.ts';

export interface Series {
  readonly name: string;
  readonly letter: string;
  /** Index of its look; curves that belong together in several figures share it. */
  readonly look: number;
  /** One for each x; what is not finite is left out. */
  readonly values: ArrayLike<number>;
  /** Beneath the others, thin. */
  readonly faint?: boolean;
  /** What it stands in the middle of. */
  readonly band?: Band;
}
export interface Mark {
  readonly at: number;
  readonly name: string;
}
export interface PlotData {
  readonly xs: ArrayLike<number>;
  readonly series: readonly Series[];
  readonly xLog?: boolean;
  readonly yLog?: boolean;
  readonly xName: string;
  readonly yName: string;
  /** Of the y axis; without it, what the curves take. */
  readonly yRange?: readonly [number, number];
  /** Vertical lines with a name, and a shaded part that begins at one. */
  readonly marks?: readonly Mark[];
  readonly beyond?: number;
  /** Horizontal lines with a name. */
  readonly levels?: readonly Mark[];
  readonly dots?: boolean;
  readonly label: string;
}

export const looks = 8;
const mostPoints = 1600;

export class Plot {
  readonly stage: Stage;
  readonly #still = svg('g');
  readonly #marks = svg('g');
  readonly #notes = svg('g');
  readonly #drawn = new Drawn();
  readonly #paths = new Kept<string>();
  #scale: Scale | undefined;
  #data: PlotData | undefined;

  constructor(
    private readonly cursor: Cursor,
    private readonly window: Window,
    steps: Steps = {},
  ) {
    this.stage = new Stage(
      cursor,
      'plot',
      () => this.#draw(),
      (x) => ({ column: this.#columnAt(x) }),
      () => ({
        column: (this.#data?.xs.length ?? 1) - 1,
        row: (this.#data?.series.length ?? 1) - 1,
      }),
      steps,
    );
    this.stage.overlay.append(this.#still, this.#marks, this.#notes);
    cursor.subscribe(this.stage.redraw);
  }

  show(data: PlotData): void {
    this.#data = data;
    this.stage.describe(data.label);
    this.stage.redraw();
  }

  /** The nearest x: they ascend, so halving finds it. */
  #columnAt(share: number): number {
    const data = this.#data;
    if (!data) return 0;
    const [start, end] = spanOf(data, this.window);
    const wanted = start + share * (end - start);
    let low = this.window.from;
    let high = this.window.from + this.window.count - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (flip(data.xs[middle] as number, data.xLog) < wanted) low = middle + 1;
      else high = middle;
    }
    const at = (column: number): number =>
      Math.abs(flip(data.xs[column] as number, data.xLog) - wanted);
    return low > this.window.from && at(low - 1) < at(low) ? low - 1 : low;
  }

  #draw(): void {
    const data = this.#data;
    if (!data) return;
    const { from, count } = this.window;
    const { width, height } = this.stage.size;
    const chosen = this.cursor.active ? this.cursor.row : -1;
    const differs = this.#drawn.differs(data, from, count, width, height, chosen);
    const scale = differs || !this.#scale ? this.#drawStill(data, chosen) : this.#scale;
    this.#scale = scale;
    renew(this.#marks, ...this.#cursorMarks(data, chosen, scale));
  }

  #cursorMarks(data: PlotData, chosen: number, scale: Scale): SVGElement[] {
    const { column, active } = this.cursor;
    const { from, count } = this.window;
    if (!active || column < from || column >= from + count) return [];
    const {
      frame: { top, height },
      heights: [low, high],
    } = scale;
    const place = scale.x(data.xs[column] as number);
    const marks = [svg('path', { class: 'cross', d: `M${place} ${top}V${top + height}` })];
    data.series.forEach(({ values, look }, i) => {
      const value = values[column] as number;
      if (!Number.isFinite(value) || value < low || value > high) return;
      marks.push(
        svg('circle', {
          class: `dot look${look % looks}`,
          cx: place,
          cy: scale.y(value),
          r: i === chosen ? 6 : 4,
        }),
      );
    });
    return marks;
  }

  /** All but the cursor. */
  #drawStill(data: PlotData, chosen: number): Scale {
    const { frame, size } = this.stage;
    frame.left = 62;
    frame.top = 28;
    frame.width = Math.max(1, size.width - frame.left - 34);
    frame.height = Math.max(1, size.height - frame.top - 44);
    const scale = scaleOf(data, this.window, frame);
    const { marks, notes } = axesOf(data, this.window, scale, size);
    const { from, count } = this.window;
    const budget = Math.max(200, Math.floor(mostPoints / Math.max(1, data.series.length)));
    const { left, top, width, height } = frame;
    const { xs, xLog, yLog } = data;
    const box = [left, top, width, height, budget];
    const place = [xs, xLog, yLog, from, count, ...scale.span, ...scale.heights, ...box];
    for (const { band, look } of data.series)
      if (band) {
        const at = (column: number): number => scale.x(xs[column] as number);
        const d = this.#paths.of(band, place, () =>
          bandPath(band, [from, count], at, scale.within),
        );
        if (d) marks.push(svg('path', { class: `band look${look % looks}`, d }));
      }
    const order = data.series
      .map((_, i) => i)
      .sort((a, b) => Number(a === chosen) - Number(b === chosen));
    for (const i of order) {
      const one = data.series[i] as Series;
      marks.push(...this.#line(data, one, i === chosen, budget, place, scale));
    }
    marks.push(...lettersOf(data.series, this.window, frame, scale.y, scale.heights, looks));
    renew(this.#still, ...marks);
    renew(this.#notes, ...notes);
    return scale;
  }

  #line(
    data: PlotData,
    one: Series,
    chosen: boolean,
    budget: number,
    place: readonly unknown[],
    { x, y, within, heights: [low, high] }: Scale,
  ): SVGElement[] {
    const { from, count } = this.window;
    const drawn: SVGElement[] = [];
    const path = this.#paths.of(one.values, place, () => {
      let written = '';
      let pen = false;
      for (const column of decimated(one.values, from, count, budget)) {
        const value = one.values[column] as number;
        if (!Number.isFinite(value) || (data.yLog && value <= 0)) {
          pen = false;
          continue;
        }
        const at = `${x(data.xs[column] as number).toFixed(1)} ${within(value).toFixed(1)}`;
        written += `${pen ? 'L' : 'M'}${at}`;
        pen = true;
      }
      return written;
    });
    const look = `look${one.look % looks}${one.faint ? ' faint' : ''}${chosen ? ' chosen' : ''}`;
    if (path) drawn.push(svg('path', { class: `curve-line ${look}`, d: path }));
    if (data.dots && count <= 160)
      for (let column = from; column < from + count; column += 1) {
        const value = one.values[column] as number;
        if (!Number.isFinite(value) || value < low || value > high) continue;
        drawn.push(
          svg('circle', {
            class: `bead ${look}`,
            cx: x(data.xs[column] as number).toFixed(1),
            cy: y(value).toFixed(1),
            r: one.faint ? 1.5 : 2.5,
          }),
        );
      }
    return drawn;
  }
}

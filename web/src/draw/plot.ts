// SPDX-License-Identifier: Apache-2.0
// Several curves over one axis. Each has a colour, a dash and a letter, so that no two are told apart by colour alone.
import { renew, svg } from '../dom.ts';
import { type Band, bandPath } from './band.ts';
import type { Cursor, Window } from './cursor.ts';
import { decimated } from './curve.ts';
import { Kept } from './kept.ts';
import { lettersOf } from './letters.ts';
import { compact, logTicks, ticks } from './scale.ts';
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
const flip = (value: number, logarithmic: boolean): number =>
  logarithmic ? Math.log10(Math.max(value, 1e-300)) : value;

export class Plot {
  readonly stage: Stage;
  readonly #paths = new Kept<string>();
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
    cursor.subscribe(this.stage.redraw);
  }

  show(data: PlotData): void {
    this.#data = data;
    this.stage.describe(data.label);
    this.stage.redraw();
  }

  #span(data: PlotData): [number, number] {
    const at = (column: number): number => flip(data.xs[column] as number, data.xLog === true);
    const first = at(this.window.from);
    const last = at(this.window.from + this.window.count - 1);
    const room = last === first ? 0.5 : (last - first) * 0.01;
    return [first - room, last + room];
  }

  /** The nearest x: they ascend, so halving finds it. */
  #columnAt(share: number): number {
    const data = this.#data;
    if (!data) return 0;
    const [start, end] = this.#span(data);
    const wanted = start + share * (end - start);
    let low = this.window.from;
    let high = this.window.from + this.window.count - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (flip(data.xs[middle] as number, data.xLog === true) < wanted) low = middle + 1;
      else high = middle;
    }
    const at = (column: number): number =>
      Math.abs(flip(data.xs[column] as number, data.xLog === true) - wanted);
    return low > this.window.from && at(low - 1) < at(low) ? low - 1 : low;
  }

  #heights(data: PlotData): [number, number] {
    if (data.yRange) return [data.yRange[0], data.yRange[1]];
    const { from, count } = this.window;
    let low = Number.POSITIVE_INFINITY;
    let high = Number.NEGATIVE_INFINITY;
    const take = (value: number): void => {
      if (!Number.isFinite(value) || (data.yLog && value <= 0)) return;
      low = Math.min(low, value);
      high = Math.max(high, value);
    };
    for (const { values, band } of data.series)
      for (const one of band ? [values, band.low, band.high] : [values])
        for (let i = from; i < from + count; i += 1) take(one[i] as number);
    for (const { at } of data.levels ?? []) take(at);
    if (low > high) return data.yLog ? [0.1, 10] : [0, 1];
    if (data.yLog) return low === high ? [low / 2, high * 2] : [low / 1.15, high * 1.15];
    if (high - low < 1e-9) return [low - 0.5, high + 0.5];
    return [low, high + (high - low) * 0.05];
  }

  #draw(): void {
    const data = this.#data;
    if (!data) return;
    const { frame, overlay, size } = this.stage;
    const { from, count } = this.window;
    const [low, high] = this.#heights(data);
    const [bottomValue, topValue] = [flip(low, data.yLog === true), flip(high, data.yLog === true)];
    const narrow = size.width < 480;
    frame.left = 62;
    frame.top = 28;
    frame.width = Math.max(1, size.width - frame.left - 34);
    frame.height = Math.max(1, size.height - frame.top - 44);
    const bottom = frame.top + frame.height;
    const right = frame.left + frame.width;
    const [start, end] = this.#span(data);
    const x = (value: number): number =>
      frame.left + ((flip(value, data.xLog === true) - start) / (end - start)) * frame.width;
    const y = (value: number): number =>
      frame.top +
      ((topValue - flip(value, data.yLog === true)) / (topValue - bottomValue || 1)) * frame.height;
    const inside = (place: number): boolean => place >= frame.left - 1 && place <= right + 1;

    const marks: SVGElement[] = [];
    // Last of all, since words with a line through them are not read.
    const notes: SVGElement[] = [];
    if (data.beyond !== undefined) {
      const edge = Math.max(frame.left, Math.min(right, x(data.beyond)));
      marks.push(
        svg('rect', {
          class: 'beyond',
          x: edge,
          y: frame.top,
          width: right - edge,
          height: frame.height,
        }),
      );
    }
    const levels = data.yLog ? logTicks(low, high, 6) : ticks(low, high, 5);
    for (const level of levels) {
      marks.push(svg('path', { class: 'grid', d: `M${frame.left} ${y(level)}H${right}` }));
      marks.push(
        svg('text', { class: 'tick end', x: frame.left - 8, y: y(level) + 4.5 }, compact(level)),
      );
    }
    const xLow = data.xs[from] as number;
    const xHigh = data.xs[from + count - 1] as number;
    const wanted = Math.max(3, frame.width / 90);
    for (const value of data.xLog
      ? logTicks(Math.max(xLow, 1e-9), xHigh, wanted)
      : ticks(xLow, xHigh, wanted)) {
      marks.push(svg('path', { class: 'grid', d: `M${x(value)} ${bottom}v5` }));
      marks.push(
        svg('text', { class: 'tick middle', x: x(value), y: bottom + 19 }, compact(value)),
      );
    }
    for (const { at, name } of data.levels ?? []) {
      if (at < low || at > high) continue;
      marks.push(svg('path', { class: 'level', d: `M${frame.left} ${y(at)}H${right}` }));
      notes.push(svg('text', { class: 'note', x: frame.left + 8, y: y(at) - 6 }, name));
    }
    for (const { at, name } of data.marks ?? []) {
      const place = x(at);
      if (!inside(place)) continue;
      const late = place > frame.left + frame.width * 0.6;
      marks.push(svg('path', { class: 'level', d: `M${place} ${frame.top}V${bottom}` }));
      notes.push(
        svg(
          'text',
          { class: late ? 'note end' : 'note', x: place + (late ? -7 : 7), y: frame.top + 15 },
          name,
        ),
      );
    }
    marks.push(svg('path', { class: 'zero', d: `M${frame.left} ${frame.top}V${bottom}H${right}` }));
    marks.push(svg('text', { class: 'axis end', x: right, y: size.height - 5 }, `${data.xName} →`));
    marks.push(
      svg('text', { class: 'axis', x: narrow ? 4 : frame.left, y: 16 }, `${data.yName} ↑`),
    );

    const chosen = this.cursor.active ? this.cursor.row : -1;
    const budget = Math.max(200, Math.floor(mostPoints / Math.max(1, data.series.length)));
    const { left, top, width, height } = frame;
    const { xs, xLog, yLog } = data;
    const box = [left, top, width, height, budget];
    const place = [xs, xLog, yLog, from, count, start, end, low, high, ...box];
    const order = data.series
      .map((_, i) => i)
      .sort((a, b) => Number(a === chosen) - Number(b === chosen));
    const within = (value: number): number => y(Math.max(low, Math.min(high, value)));
    for (const { band, look } of data.series)
      if (band) {
        const at = (column: number): number => x(data.xs[column] as number);
        const d = this.#paths.of(band, place, () => bandPath(band, [from, count], at, within));
        if (d) marks.push(svg('path', { class: `band look${look % looks}`, d }));
      }
    for (const i of order) {
      const one = data.series[i] as Series;
      marks.push(...this.#line(data, one, i === chosen, budget, place, x, y, [low, high]));
    }
    marks.push(...lettersOf(data.series, this.window, frame, y, [low, high], looks));
    const { column, active } = this.cursor;
    if (active && column >= from && column < from + count) {
      const place = x(data.xs[column] as number);
      marks.push(svg('path', { class: 'cross', d: `M${place} ${frame.top}V${bottom}` }));
      data.series.forEach((one, i) => {
        const value = one.values[column] as number;
        if (!Number.isFinite(value) || value < low || value > high) return;
        marks.push(
          svg('circle', {
            class: `dot look${one.look % looks}`,
            cx: place,
            cy: y(value),
            r: i === chosen ? 6 : 4,
          }),
        );
      });
    }
    renew(overlay, ...marks, ...notes);
  }

  #line(
    data: PlotData,
    one: Series,
    chosen: boolean,
    budget: number,
    place: readonly unknown[],
    x: (value: number) => number,
    y: (value: number) => number,
    [low, high]: [number, number],
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
        const at = `${x(data.xs[column] as number).toFixed(1)} ${y(Math.max(low, Math.min(high, value))).toFixed(1)}`;
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

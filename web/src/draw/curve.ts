// SPDX-License-Identifier: Apache-2.0
import { renew, svg } from '../dom.ts';
import { type Range, rangeOf } from '../model/range.ts';
import { bandPath } from './band.ts';
import type { Cursor, Window } from './cursor.ts';
import { Drawn, Kept } from './kept.ts';
import { brief, ticks } from './scale.ts';
import { Stage, type Steps } from './stage.ts';

export interface CurveData {
  readonly columns: number;
  readonly first: number;
  readonly curves: readonly { readonly name: string; readonly values: Float64Array }[];
  /** Whether the cursor's row picks the line to emphasise. */
  readonly perRow: boolean;
  readonly logarithmic: boolean;
  readonly baseline: number;
  readonly margins: { readonly left: number; readonly right: number };
  readonly name: string;
  readonly columnName: string;
  /** Dashed, around the curve. */
  readonly envelope?: Float64Array;
  readonly band?: { readonly low: Float64Array; readonly high: Float64Array };
  /** A distance with a name. */
  readonly mark?: { readonly at: number; readonly name: string };
  readonly label: string;
}

/** Where a column and a value stand in the figure. */
interface Place {
  x(column: number): number;
  y(value: number): number;
}

const mostPoints = 2000;

/** A place in a figure, which is not negative, to hundredths: a line of 2,000 points takes 0.24 ms, by toFixed(2) 0.56. */
function hundredths(place: number): string {
  const all = Math.round(place * 100);
  const rest = all % 100;
  return `${(all - rest) / 100}.${rest < 10 ? '0' : ''}${rest}`;
}

/** Where the axis puts a distance: as it is, or by its magnitude's logarithm with the sign kept. */
const placed = (value: number, logarithmic: boolean): number =>
  logarithmic ? Math.sign(value) * Math.log1p(Math.abs(value)) : value;

/** Indices to draw: all, or the lowest and the highest of each stretch so that no peak is lost. */
export function decimated(
  values: ArrayLike<number>,
  from: number,
  count: number,
  most = mostPoints,
): number[] {
  if (count <= most) return Array.from({ length: count }, (_, i) => from + i);
  const kept: number[] = [];
  const stretches = Math.floor(most / 2);
  for (let part = 0; part < stretches; part += 1) {
    const start = from + Math.floor((part * count) / stretches);
    const end = from + Math.floor(((part + 1) * count) / stretches);
    let low = start;
    let high = start;
    for (let i = start; i < end; i += 1) {
      if ((values[i] as number) < (values[low] as number)) low = i;
      if ((values[i] as number) > (values[high] as number)) high = i;
    }
    kept.push(Math.min(low, high), Math.max(low, high));
  }
  return kept;
}

export class Curves {
  readonly stage: Stage;
  readonly #still = svg('g');
  readonly #marks = svg('g');
  readonly #notes = svg('g');
  readonly #drawn = new Drawn();
  #place: Place = { x: () => 0, y: () => 0 };
  readonly #paths = new Kept<string>();
  readonly #ranges = new Kept<Range>();
  #data: CurveData | undefined;

  constructor(
    private readonly cursor: Cursor,
    private readonly window: Window,
    steps: Steps = {},
  ) {
    this.stage = new Stage(
      cursor,
      'curve',
      () => this.#draw(),
      (x) => ({ column: this.#columnAt(x) }),
      () => ({ column: (this.#data?.columns ?? 1) - 1, row: (this.#data?.curves.length ?? 1) - 1 }),
      steps,
    );
    this.stage.overlay.append(this.#still, this.#marks, this.#notes);
    cursor.subscribe(this.stage.redraw);
  }

  show(data: CurveData): void {
    this.#data = data;
    this.stage.describe(data.label);
    this.stage.redraw();
  }

  #ends(data: CurveData): [number, number] {
    const at = (column: number): number => placed(data.first + column, data.logarithmic);
    const half = data.logarithmic ? 0 : 0.5;
    return [at(this.window.from) - half, at(this.window.from + this.window.count - 1) + half];
  }

  #columnAt(share: number): number {
    const data = this.#data;
    if (!data) return 0;
    const [low, high] = this.#ends(data);
    const value = low + share * (high - low);
    const distance = data.logarithmic ? Math.sign(value) * Math.expm1(Math.abs(value)) : value;
    return Math.max(
      this.window.from,
      Math.min(this.window.from + this.window.count - 1, Math.round(distance) - data.first),
    );
  }

  #draw(): void {
    const data = this.#data;
    if (!data) return;
    const { from, count } = this.window;
    const { width, height } = this.stage.size;
    const chosen = data.perRow ? Math.min(this.cursor.row, data.curves.length - 1) : 0;
    const ratio = globalThis.devicePixelRatio || 1;
    if (this.#drawn.differs(data, from, count, width, height, chosen, ratio))
      this.#place = this.#drawStill(data, chosen, ratio);
    renew(this.#marks, ...this.#cursorMarks(data, chosen));
  }

  #cursorMarks(data: CurveData, chosen: number): SVGElement[] {
    const { column, active } = this.cursor;
    const { from, count } = this.window;
    if (!active || column < from || column >= from + count) return [];
    const { top, height } = this.stage.frame;
    const x = this.#place.x(column);
    const y = this.#place.y((data.curves[chosen]?.values[column] as number) ?? 0);
    return [
      svg('path', { class: 'cross', d: `M${x} ${top}V${top + height}` }),
      svg('circle', { class: 'dot', cx: x, cy: y, r: 5 }),
    ];
  }

  /** All but the cursor. */
  #drawStill(data: CurveData, chosen: number, ratio: number): Place {
    const { frame, size } = this.stage;
    const { from, count } = this.window;
    let low = data.baseline;
    let high = data.baseline;
    const { band, envelope } = data;
    const all = data.curves.map(({ values }) => values);
    if (envelope) all.push(envelope);
    if (band) all.push(band.low, band.high);
    for (const values of all) {
      const range = this.#ranges.of(values, [from, count], () =>
        rangeOf(values.subarray(from, from + count)),
      );
      low = Math.min(low, range.low);
      high = Math.max(high, range.high);
    }
    // Differences of rounding are not worth an axis of their own.
    if (high - low < 1e-6) [low, high] = [data.baseline - 0.5, data.baseline + 0.5];
    const room = (high - low) * 0.06;
    low -= low < data.baseline ? room : 0;
    high += room;
    const levels = ticks(low, high, 5);
    // Both names on one line need room; on a narrow screen one goes below.
    const narrow = size.width < 480;
    frame.left = data.margins.left;
    frame.top = 26;
    frame.width = Math.max(1, size.width - frame.left - data.margins.right);
    frame.height = Math.max(1, size.height - frame.top - (narrow ? 44 : 26));
    const [start, end] = this.#ends(data);
    const x = (column: number): number =>
      frame.left +
      ((placed(data.first + column, data.logarithmic) - start) / (end - start || 1)) * frame.width;
    const y = (value: number): number => frame.top + ((high - value) / (high - low)) * frame.height;
    const bottom = frame.top + frame.height;

    const marks: SVGElement[] = [];
    // Last of all, since words with a line through them are not read.
    const notes: SVGElement[] = [];
    for (const level of levels) {
      marks.push(
        svg('path', {
          class: level === data.baseline ? 'zero' : 'grid',
          d: `M${frame.left} ${y(level)}H${frame.left + frame.width}`,
        }),
      );
      marks.push(
        svg('text', { class: 'tick end', x: frame.left - 7, y: y(level) + 4.5 }, brief(level)),
      );
    }
    for (const distance of this.#distances(data, frame.width)) {
      marks.push(
        svg(
          'text',
          { class: 'tick middle', x: x(distance - data.first), y: bottom + 17 },
          brief(distance),
        ),
      );
      marks.push(svg('path', { class: 'grid', d: `M${x(distance - data.first)} ${bottom}v4` }));
    }
    marks.push(
      svg(
        'text',
        { class: 'axis end', x: frame.left + frame.width, y: narrow ? size.height - 4 : 15 },
        `${data.columnName} →`,
      ),
    );
    marks.push(svg('text', { class: 'axis', x: frame.left, y: 15 }, `${data.name} ↑`));

    const order = data.curves
      .map((_, i) => i)
      .sort((a, b) => Number(a === chosen) - Number(b === chosen));
    const { left, top, width, height } = frame;
    // The lowest and the highest under each pixel are all that can be seen.
    const most = Math.min(mostPoints, 2 * Math.ceil(width * ratio));
    const budget = Math.max(200, Math.floor(most / data.curves.length));
    const place = [from, count, start, end, low, high, left, top, width, height, budget];
    const line = (values: Float64Array, look: string, most = budget): void => {
      const d = this.#paths.of(values, place, () => {
        const points = decimated(values, from, count, most).map(
          (column) => `${hundredths(x(column))} ${hundredths(y(values[column] as number))}`,
        );
        return points.length > 1 ? `M${points.join('L')}` : `M${points[0]}h2`;
      });
      marks.push(svg('path', { class: look, d }));
    };
    if (band) {
      // At most 500 columns: a band has no peaks to lose.
      const every = Math.ceil(count / 500);
      const some = (values: ArrayLike<number>): Float64Array =>
        Float64Array.from(
          { length: Math.ceil(count / every) },
          (_, i) => values[from + i * every] as number,
        );
      const d = this.#paths.of(band, place, () => {
        const thinned = { low: some(band.low), high: some(band.high) };
        return bandPath(thinned, [0, thinned.low.length], (i) => x(from + i * every), y);
      });
      marks.push(svg('path', { class: 'band', d }));
    }
    const { mark } = data;
    if (mark && mark.at >= data.first + from && mark.at < data.first + from + count) {
      const place = x(mark.at - data.first);
      const late = place > frame.left + frame.width * 0.6;
      marks.push(svg('path', { class: 'level', d: `M${place} ${frame.top}V${bottom}` }));
      const at = {
        class: late ? 'note end' : 'note',
        x: place + (late ? -7 : 7),
        y: frame.top + 15,
      };
      notes.push(svg('text', at, mark.name));
    }
    // It has no peaks to lose; where what is near is stretched, all of it counts.
    if (envelope) line(envelope, 'line envelope', data.logarithmic ? budget : 500);
    for (const i of order)
      line(
        (data.curves[i] as { values: Float64Array }).values,
        i === chosen ? 'line chosen' : 'line',
      );
    if (data.perRow) {
      const value = (data.curves[chosen]?.values[from + count - 1] as number) ?? 0;
      marks.push(
        svg(
          'text',
          {
            class: 'tick chosen',
            x: frame.left + frame.width + 6,
            y: Math.max(14, y(value) + 4.5),
          },
          data.curves[chosen]?.name ?? '',
        ),
      );
    }
    renew(this.#still, ...marks);
    renew(this.#notes, ...notes);
    return { x, y };
  }

  #distances(data: CurveData, width: number): number[] {
    const low = data.first + this.window.from;
    const high = low + this.window.count - 1;
    if (!data.logarithmic)
      return ticks(low, high, Math.max(3, width / 80)).filter(Number.isInteger);
    const powers = [1, 10, 100, 1000, 10000].filter((power) => width > 480 || power !== 1);
    return [...powers.map((power) => -power).reverse(), 0, ...powers].filter(
      (value) => value >= low && value <= high,
    );
  }
}

// SPDX-License-Identifier: Apache-2.0
// The axes of several curves: where an x and a value stand, grid, ticks, and lines with a name.
import { svg } from '../dom.ts';
import type { Window } from './cursor.ts';
import type { PlotData } from './plot.ts';
import { compact, logTicks, ticks } from './scale.ts';
import type { Frame } from './stage.ts';

export const flip = (value: number, logarithmic = false): number =>
  logarithmic ? Math.log10(Math.max(value, 1e-300)) : value;

/** Left and right end of the axis, with a little room. */
export function spanOf({ xs, xLog }: PlotData, { from, count }: Window): [number, number] {
  const first = flip(xs[from] as number, xLog);
  const last = flip(xs[from + count - 1] as number, xLog);
  const room = last === first ? 0.5 : (last - first) * 0.01;
  return [first - room, last + room];
}

/** Least and greatest value the axis shows. */
export function heightsOf(data: PlotData, { from, count }: Window): [number, number] {
  if (data.yRange) return [data.yRange[0], data.yRange[1]];
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

/** Where things stand in the figure. */
export interface Scale {
  readonly frame: Frame;
  readonly span: readonly [number, number];
  readonly heights: readonly [number, number];
  x(value: number): number;
  y(value: number): number;
  /** Of a value that may lie outside: at the edge. */
  within(value: number): number;
}

export function scaleOf(data: PlotData, window: Window, frame: Frame): Scale {
  const [start, end] = spanOf(data, window);
  const [low, high] = heightsOf(data, window);
  const [bottom, top] = [flip(low, data.yLog), flip(high, data.yLog)];
  const x = (value: number): number =>
    frame.left + ((flip(value, data.xLog) - start) / (end - start)) * frame.width;
  const y = (value: number): number =>
    frame.top + ((top - flip(value, data.yLog)) / (top - bottom || 1)) * frame.height;
  const within = (value: number): number => y(Math.max(low, Math.min(high, value)));
  return { frame, span: [start, end], heights: [low, high], x, y, within };
}

/** What lies beneath the curves, and the words that lie above them, since words with a line through them are not read. */
export function axesOf(
  data: PlotData,
  { from, count }: Window,
  { frame, heights: [low, high], x, y }: Scale,
  size: { readonly width: number; readonly height: number },
): { readonly marks: SVGElement[]; readonly notes: SVGElement[] } {
  const { left, top, width } = frame;
  const bottom = top + frame.height;
  const right = left + width;
  const marks: SVGElement[] = [];
  const notes: SVGElement[] = [];
  if (data.beyond !== undefined) {
    const edge = Math.max(left, Math.min(right, x(data.beyond)));
    marks.push(
      svg('rect', {
        class: 'beyond',
        x: edge,
        y: top,
        width: right - edge,
        height: frame.height,
      }),
    );
  }
  for (const level of data.yLog ? logTicks(low, high, 6) : ticks(low, high, 5)) {
    marks.push(svg('path', { class: 'grid', d: `M${left} ${y(level)}H${right}` }));
    marks.push(svg('text', { class: 'tick end', x: left - 8, y: y(level) + 4.5 }, compact(level)));
  }
  const xLow = data.xs[from] as number;
  const xHigh = data.xs[from + count - 1] as number;
  const wanted = Math.max(3, width / 90);
  for (const value of data.xLog
    ? logTicks(Math.max(xLow, 1e-9), xHigh, wanted)
    : ticks(xLow, xHigh, wanted)) {
    marks.push(svg('path', { class: 'grid', d: `M${x(value)} ${bottom}v5` }));
    marks.push(svg('text', { class: 'tick middle', x: x(value), y: bottom + 19 }, compact(value)));
  }
  for (const { at, name } of data.levels ?? []) {
    if (at < low || at > high) continue;
    marks.push(svg('path', { class: 'level', d: `M${left} ${y(at)}H${right}` }));
    notes.push(svg('text', { class: 'note', x: left + 8, y: y(at) - 6 }, name));
  }
  for (const { at, name } of data.marks ?? []) {
    const place = x(at);
    if (place < left - 1 || place > right + 1) continue;
    const late = place > left + width * 0.6;
    marks.push(svg('path', { class: 'level', d: `M${place} ${top}V${bottom}` }));
    notes.push(
      svg(
        'text',
        { class: late ? 'note end' : 'note', x: place + (late ? -7 : 7), y: top + 15 },
        name,
      ),
    );
  }
  const narrow = size.width < 480;
  marks.push(
    svg('path', { class: 'zero', d: `M${left} ${top}V${bottom}H${right}` }),
    svg('text', { class: 'axis end', x: right, y: size.height - 5 }, `${data.xName} →`),
    svg('text', { class: 'axis', x: narrow ? 4 : left, y: 16 }, `${data.yName} ↑`),
  );
  return { marks, notes };
}

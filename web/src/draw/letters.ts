// SPDX-License-Identifier: Apache-2.0
// A letter at the end of each curve, moved apart where they would meet.
import { svg } from '../dom.ts';
import type { Window } from './cursor.ts';
import type { Series } from './plot.ts';

interface Frame {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}
/** Pixels that a letter takes from top to bottom. */
const tall = 15;

export function lettersOf(
  series: readonly Series[],
  { from, count }: Window,
  frame: Frame,
  y: (value: number) => number,
  [low, high]: readonly [number, number],
  looks: number,
): SVGElement[] {
  const ends = series
    .filter((one) => one.letter !== '')
    .map((one) => {
      let column = from + count - 1;
      while (column > from && !Number.isFinite(one.values[column] as number)) column -= 1;
      const value = one.values[column] as number;
      const shown = Math.max(low, Math.min(high, Number.isFinite(value) ? value : low));
      return { one, at: y(shown) };
    })
    .sort((a, b) => a.at - b.at);
  const step = Math.min(tall, frame.height / Math.max(1, ends.length));
  for (let i = 1; i < ends.length; i += 1) {
    const before = ends[i - 1] as { at: number };
    const here = ends[i] as { at: number };
    here.at = Math.max(here.at, before.at + step);
  }
  let limit = frame.top + frame.height;
  for (let i = ends.length - 1; i >= 0; i -= 1) {
    const here = ends[i] as { at: number };
    here.at = Math.min(here.at, limit);
    limit = here.at - step;
  }
  const x = frame.left + frame.width + 8;
  return ends.map(({ one, at }) =>
    svg('text', { class: `letter look${one.look % looks}`, x, y: at + 5 }, one.letter),
  );
}

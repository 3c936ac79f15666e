// SPDX-License-Identifier: Apache-2.0
// The surface between two curves, behind the one it belongs to.
import { svg } from '../dom.ts';

export interface Band {
  readonly low: ArrayLike<number>;
  readonly high: ArrayLike<number>;
}

/** One piece for every stretch of columns in which both ends are known. */
export function bandOf(
  band: Band,
  [from, count]: readonly [number, number],
  x: (column: number) => number,
  y: (value: number) => number,
  look: string,
): SVGElement[] {
  const pieces: SVGElement[] = [];
  let over: string[] = [];
  let under: string[] = [];
  const close = (): void => {
    if (over.length > 1)
      pieces.push(
        svg('path', { class: `band ${look}`, d: `M${[...over, ...under.reverse()].join('L')}Z` }),
      );
    [over, under] = [[], []];
  };
  for (let column = from; column < from + count; column += 1) {
    const [low, high] = [band.low[column] as number, band.high[column] as number];
    if (!Number.isFinite(low) || !Number.isFinite(high)) {
      close();
      continue;
    }
    const place = x(column).toFixed(1);
    over.push(`${place} ${y(high).toFixed(1)}`);
    under.push(`${place} ${y(low).toFixed(1)}`);
  }
  close();
  return pieces;
}

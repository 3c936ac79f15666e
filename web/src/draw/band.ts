// SPDX-License-Identifier: Apache-2.0
// The surface between two curves, behind the one it belongs to.

export interface Band {
  readonly low: ArrayLike<number>;
  readonly high: ArrayLike<number>;
}

/** One piece for every stretch of columns in which both ends are known; empty where there is none. */
export function bandPath(
  band: Band,
  [from, count]: readonly [number, number],
  x: (column: number) => number,
  y: (value: number) => number,
): string {
  let path = '';
  let over: string[] = [];
  let under: string[] = [];
  const close = (): void => {
    if (over.length > 1) path += `M${[...over, ...under.reverse()].join('L')}Z`;
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
  return path;
}

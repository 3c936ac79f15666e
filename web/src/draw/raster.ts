// SPDX-License-Identifier: Apache-2.0
import { type ColourTable, shade } from '../model/colour.ts';

export interface Grid {
  readonly columns: number;
  readonly rows: number;
  /** [rows, columns] */
  readonly cells: ArrayLike<number>;
}
export interface Range {
  readonly low: number;
  readonly high: number;
}

export function rangeOf(cells: ArrayLike<number>): Range {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < cells.length; i += 1) {
    const value = cells[i] as number;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? { low, high } : { low: 0, high: 0 };
}
/** Less than this is rounding: stretched over all the colours it would look like a pattern. */
const faintest = 1e-3;
/** Zero in the middle of the colours. */
export function centred(cells: ArrayLike<number>): Range {
  const { low, high } = rangeOf(cells);
  const most = Math.max(Math.abs(low), Math.abs(high), faintest);
  return { low: -most, high: most };
}

/** The first cell under each pixel, and one past the last. */
const edgesOf = (pixels: number, cells: number): Int32Array =>
  Int32Array.from({ length: pixels + 1 }, (_, i) => Math.floor((i * cells) / pixels));

/**
 * Paints columns [from, from + count) into a canvas, one pixel a cell; where cells outnumber the pixels to be had, a pixel is the
 * mean of the cells under it, so that fine stripes turn to their average and not to a false pattern.
 */
export function paint(
  canvas: HTMLCanvasElement,
  grid: Grid,
  from: number,
  count: number,
  most: { width: number; height: number },
  range: Range,
  colours: ColourTable,
): void {
  const width = Math.max(1, Math.min(count, Math.floor(most.width)));
  const height = Math.max(1, Math.min(grid.rows, Math.floor(most.height)));
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext('2d');
  if (!context) return;
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  // One kind of array, so that the loop below is compiled for it.
  const cells = grid.cells instanceof Float32Array ? grid.cells : Float32Array.from(grid.cells);
  const columns = edgesOf(width, count);
  const rows = edgesOf(height, grid.rows);
  const sums = new Float64Array(width);
  for (let y = 0; y < height; y += 1) {
    const top = rows[y] as number;
    const bottom = rows[y + 1] as number;
    sums.fill(0);
    for (let row = top; row < bottom; row += 1) {
      const start = row * grid.columns + from;
      for (let x = 0; x < width; x += 1) {
        const right = columns[x + 1] as number;
        let sum = sums[x] as number;
        for (let column = columns[x] as number; column < right; column += 1)
          sum += cells[start + column] as number;
        sums[x] = sum;
      }
    }
    for (let x = 0; x < width; x += 1) {
      const under = (bottom - top) * ((columns[x + 1] as number) - (columns[x] as number));
      const mean = (sums[x] as number) / under;
      pixels[y * width + x] = colours[shade(mean, range.low, range.high)] as number;
    }
  }
  context.putImageData(image, 0, 0);
}

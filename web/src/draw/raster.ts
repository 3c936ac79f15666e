// SPDX-License-Identifier: Apache-2.0
import type { ColourTable } from '../model/colour.ts';

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
  // Setting a size clears the canvas and takes new memory even where it is the same.
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const context = canvas.getContext('2d');
  if (!context) return;
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  // One kind of array, so that the loops below are compiled for it.
  const cells = grid.cells instanceof Float32Array ? grid.cells : Float32Array.from(grid.cells);
  const sums =
    width === count && height === grid.rows
      ? undefined
      : means(cells, grid.columns, from, edgesOf(width, count), edgesOf(height, grid.rows));
  const { low, high } = range;
  const steps = high > low ? 255 / (high - low) : 0;
  for (let y = 0; y < height; y += 1) {
    const start = sums ? y * width : y * grid.columns + from;
    for (let x = 0; x < width; x += 1) {
      const value = (sums ?? cells)[start + x] as number;
      // Of 256 steps from low to high; NaN, and everything where there is no range, counts as the middle.
      const at = steps > 0 ? Math.round((value - low) * steps) : 128;
      pixels[y * width + x] = colours[at >= 0 ? Math.min(at, 255) : at < 0 ? 0 : 128] as number;
    }
  }
  context.putImageData(image, 0, 0);
}

/** The mean of the cells under each pixel. */
function means(
  cells: Float32Array,
  width: number,
  from: number,
  columns: Int32Array,
  rows: Int32Array,
): Float64Array {
  const [across, down] = [columns.length - 1, rows.length - 1];
  const found = new Float64Array(across * down);
  for (let y = 0; y < down; y += 1) {
    const top = rows[y] as number;
    const bottom = rows[y + 1] as number;
    for (let row = top; row < bottom; row += 1) {
      const start = row * width + from;
      for (let x = 0; x < across; x += 1) {
        const right = columns[x + 1] as number;
        let sum = 0;
        for (let column = columns[x] as number; column < right; column += 1)
          sum += cells[start + column] as number;
        found[y * across + x] = (found[y * across + x] as number) + sum;
      }
    }
    for (let x = 0; x < across; x += 1) {
      const under = (bottom - top) * ((columns[x + 1] as number) - (columns[x] as number));
      found[y * across + x] = (found[y * across + x] as number) / under;
    }
  }
  return found;
}

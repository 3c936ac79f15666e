// SPDX-License-Identifier: Apache-2.0
import type { ColourTable } from '../model/colour.ts';
import type { Range } from '../model/range.ts';

export interface Grid {
  readonly columns: number;
  readonly rows: number;
  /** [rows, columns] */
  readonly cells: ArrayLike<number>;
}
/** Less than this is rounding: stretched over all the colours it would look like a pattern. */
const faintest = 1e-3;
/** Zero in the middle of the colours. */
export function centred({ low, high }: Range): Range {
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
  // One kind of array, so that the loop below is compiled for it: 0.9 ms for 256 × 256 where there were two, and 0.5.
  const given = grid.cells instanceof Float32Array ? grid.cells : Float32Array.from(grid.cells);
  const whole = width === count && height === grid.rows;
  const cells = whole
    ? given
    : means(given, grid.columns, from, edgesOf(width, count), edgesOf(height, grid.rows));
  const { low, high } = range;
  const steps = high > low ? 255 / (high - low) : Number.NaN;
  for (let y = 0; y < height; y += 1) {
    const start = whole ? y * grid.columns + from : y * width;
    for (let x = 0; x < width; x += 1) {
      // Of 256 steps from low to high, rounded; NaN, and everything where there is no range, counts as the middle.
      const at = ((cells[start + x] as number) - low) * steps + 0.5;
      pixels[y * width + x] = colours[
        at >= 0 ? (at < 256 ? Math.trunc(at) : 255) : at < 0 ? 0 : 128
      ] as number;
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
): Float32Array {
  const [across, down] = [columns.length - 1, rows.length - 1];
  const found = new Float32Array(across * down);
  for (let y = 0; y < down; y += 1) {
    const top = (rows[y] as number) * width + from;
    const bottom = (rows[y + 1] as number) * width + from;
    for (let x = 0; x < across; x += 1) {
      const left = columns[x] as number;
      const right = columns[x + 1] as number;
      let sum = 0;
      for (let start = top; start < bottom; start += width)
        for (let at = start + left; at < start + right; at += 1) sum += cells[at] as number;
      const under = ((bottom - top) / width) * (right - left);
      found[y * across + x] = sum / under;
    }
  }
  return found;
}

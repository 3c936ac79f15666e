// SPDX-License-Identifier: Apache-2.0
// What the small decoder is made of besides attention: each operator and its way back, over rows of doubles. The order of
// every sum is fixed, so the same numbers come out of every engine.
import { exp, log } from './exact.ts';

export type Rows = Float64Array;

/** c [rows, columns] += a [rows, inner] · b [inner, columns]. Four rows of b at a time share the load and store of c. */
export function multiplyAdd(
  a: Rows,
  b: Rows,
  c: Rows,
  rows: number,
  inner: number,
  columns: number,
): void {
  for (let row = 0; row < rows; row += 1) {
    const from = row * inner;
    const to = row * columns;
    let i = 0;
    for (; i + 3 < inner; i += 4) {
      const a0 = a[from + i] as number;
      const a1 = a[from + i + 1] as number;
      const a2 = a[from + i + 2] as number;
      const a3 = a[from + i + 3] as number;
      let at = i * columns;
      for (let column = 0; column < columns; column += 1, at += 1)
        c[to + column] =
          (c[to + column] as number) +
          (a0 * (b[at] as number) + a1 * (b[at + columns] as number)) +
          (a2 * (b[at + 2 * columns] as number) + a3 * (b[at + 3 * columns] as number));
    }
    for (; i < inner; i += 1) {
      const a0 = a[from + i] as number;
      for (let column = 0; column < columns; column += 1)
        c[to + column] = (c[to + column] as number) + a0 * (b[i * columns + column] as number);
    }
  }
}

export function transposed(a: Rows, rows: number, columns: number): Rows {
  const result = new Float64Array(rows * columns);
  for (let row = 0; row < rows; row += 1)
    for (let column = 0; column < columns; column += 1)
      result[column * rows + row] = a[row * columns + column] as number;
  return result;
}

export interface Linear {
  /** [inner, columns] */
  readonly weight: Rows;
  readonly bias: Rows;
}

export function linear(x: Rows, { weight, bias }: Linear, inner: number): Rows {
  const columns = bias.length;
  const rows = x.length / inner;
  const y = new Float64Array(rows * columns);
  for (let row = 0; row < rows; row += 1) y.set(bias, row * columns);
  multiplyAdd(x, weight, y, rows, inner, columns);
  return y;
}

/** Adds to the gradients of weight and bias; returns that of x. */
export function linearBackward(
  x: Rows,
  dy: Rows,
  { weight, bias }: Linear,
  gradient: Linear,
  inner: number,
): Rows {
  const columns = bias.length;
  const rows = x.length / inner;
  multiplyAdd(transposed(x, rows, inner), dy, gradient.weight, inner, rows, columns);
  for (let i = 0; i < dy.length; i += 1) {
    const column = i % columns;
    gradient.bias[column] = (gradient.bias[column] as number) + (dy[i] as number);
  }
  const dx = new Float64Array(x.length);
  multiplyAdd(dy, transposed(weight, inner, columns), dx, rows, columns, inner);
  return dx;
}

export interface Norm {
  readonly gain: Rows;
  readonly shift: Rows;
}
const epsilon = 1e-5;

function moments(x: Rows, from: number, width: number): { mean: number; inverse: number } {
  let mean = 0;
  for (let i = 0; i < width; i += 1) mean += x[from + i] as number;
  mean /= width;
  let variance = 0;
  for (let i = 0; i < width; i += 1) {
    const off = (x[from + i] as number) - mean;
    variance += off * off;
  }
  return { mean, inverse: 1 / Math.sqrt(variance / width + epsilon) };
}

/** Each row to mean 0 and variance 1, then gain and shift. */
export function layerNorm(x: Rows, { gain, shift }: Norm): Rows {
  const width = gain.length;
  const y = new Float64Array(x.length);
  for (let from = 0; from < x.length; from += width) {
    const { mean, inverse } = moments(x, from, width);
    for (let i = 0; i < width; i += 1)
      y[from + i] =
        ((x[from + i] as number) - mean) * inverse * (gain[i] as number) + (shift[i] as number);
  }
  return y;
}

export function layerNormBackward(x: Rows, dy: Rows, { gain }: Norm, gradient: Norm): Rows {
  const width = gain.length;
  const dx = new Float64Array(x.length);
  for (let from = 0; from < x.length; from += width) {
    const { mean, inverse } = moments(x, from, width);
    let sum = 0;
    let along = 0;
    for (let i = 0; i < width; i += 1) {
      const unit = ((x[from + i] as number) - mean) * inverse;
      const up = dy[from + i] as number;
      gradient.gain[i] = (gradient.gain[i] as number) + up * unit;
      gradient.shift[i] = (gradient.shift[i] as number) + up;
      const pull = up * (gain[i] as number);
      sum += pull;
      along += pull * unit;
    }
    for (let i = 0; i < width; i += 1) {
      const unit = ((x[from + i] as number) - mean) * inverse;
      const pull = (dy[from + i] as number) * (gain[i] as number);
      dx[from + i] = inverse * (pull - (sum + unit * along) / width);
    }
  }
  return dx;
}

export const rectified = (x: Rows): Rows => x.map((value) => Math.max(0, value));
export const rectifiedBackward = (x: Rows, dy: Rows): Rows =>
  dy.map((value, i) => ((x[i] as number) > 0 ? value : 0));

export interface Judged {
  /** Mean of −ln p(target). */
  readonly loss: number;
  readonly right: number;
  /** Of the mean loss, in the shape of the logits. */
  readonly gradient: Rows;
}
/** Softmax and cross-entropy of rows of logits, one target each. */
export function crossEntropy(logits: Rows, targets: ArrayLike<number>): Judged {
  const rows = targets.length;
  const width = logits.length / rows;
  const gradient = new Float64Array(logits.length);
  let [loss, right] = [0, 0];
  for (let row = 0; row < rows; row += 1) {
    const from = row * width;
    let best = 0;
    for (let i = 1; i < width; i += 1)
      if ((logits[from + i] as number) > (logits[from + best] as number)) best = i;
    const most = logits[from + best] as number;
    let total = 0;
    for (let i = 0; i < width; i += 1) {
      const weight = exp((logits[from + i] as number) - most);
      gradient[from + i] = weight;
      total += weight;
    }
    const target = targets[row] as number;
    loss += log(total) - ((logits[from + target] as number) - most);
    right += best === target ? 1 : 0;
    for (let i = 0; i < width; i += 1)
      gradient[from + i] = ((gradient[from + i] as number) / total - (i === target ? 1 : 0)) / rows;
  }
  return { loss: loss / rows, right, gradient };
}

/** Adam; the powers of its two means are multiplied up, since Math.pow differs between engines. */
export class Adam {
  readonly #first: Rows;
  readonly #second: Rows;
  #decay = [1, 1];

  constructor(size: number) {
    this.#first = new Float64Array(size);
    this.#second = new Float64Array(size);
  }
  step(values: Rows, gradients: Rows, rate: number): void {
    const [keep, keepSquares] = [0.9, 0.98];
    this.#decay = [(this.#decay[0] as number) * keep, (this.#decay[1] as number) * keepSquares];
    const scale = rate / (1 - (this.#decay[0] as number));
    const squares = 1 / (1 - (this.#decay[1] as number));
    for (let i = 0; i < values.length; i += 1) {
      const g = gradients[i] as number;
      const first = keep * (this.#first[i] as number) + (1 - keep) * g;
      const second = keepSquares * (this.#second[i] as number) + (1 - keepSquares) * g * g;
      this.#first[i] = first;
      this.#second[i] = second;
      values[i] = (values[i] as number) - (scale * first) / (Math.sqrt(second * squares) + 1e-8);
    }
  }
}

/** a + b, in the place of a. */
export const added = (a: Rows, b: Rows): Rows => {
  for (let i = 0; i < a.length; i += 1) a[i] = (a[i] as number) + (b[i] as number);
  return a;
};

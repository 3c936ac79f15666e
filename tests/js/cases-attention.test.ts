// SPDX-License-Identifier: Apache-2.0
/**
 * Faults reported on other projects, restated with their right value in float64. Each stands for a
 * kind of fault; the letter and number name the case in the project's collection.
 */

import { type AttentionOptions, fromTotal, type MaskInput } from 'posenc';
import { describe, expect, it } from 'vitest';
import { caught } from './support/failure.ts';
import { pe } from './support/instance.ts';
import { expectClose, expectSame, randomTensor, tensor } from './support/numbers.ts';

const near = { rtol: 1e-6, atol: 1e-6 };
const count = (n: number, from = 0) => Array.from({ length: n }, (_, i) => from + i);

/** Attention with all scores equal: each row is the mean of the values it may see. */
function means(queries: number, values: readonly number[], options: AttentionOptions = {}) {
  const S = values.length;
  const zeros = (n: number) => tensor([1, n, 1], new Array<number>(n).fill(0));
  const v = tensor([1, S, 1], values);
  return Array.from(pe.attention(zeros(queries), zeros(S), v, options).output.data);
}

const bits = (shape: number[], data: number[]): MaskInput => ({
  data: Uint8Array.from(data),
  shape,
});
const floats = (shape: number[], data: number[]): MaskInput => tensor(shape, data);

describe('masks and alignment', () => {
  it('I1 aligns causal rows with the last key, or where told', () => {
    expect(means(2, [1, 2, 3, 4, 5], { causal: true })).toEqual([2.5, 3]);
    expect(means(2, [1, 2, 3, 4, 5], { causal: true, queryOffset: 0 })).toEqual([1, 1.5]);
  });
  it('I2 has one rule for one query', () => {
    expect(means(1, [1, 2, 3, 4], { causal: true })).toEqual([2.5]);
    expect(means(1, [1, 2, 3, 4], { causal: true, queryOffset: 0 })).toEqual([1]);
  });
  it('I3 lets a decoded token see everything cached', () => {
    expect(means(1, [1, 2, 3, 4, 5], { causal: true })).toEqual([3]);
  });
  it('I4 gives zeros to queries before the first key', () => {
    expect(means(5, [1, 2], { causal: true })).toEqual([0, 0, 0, 1, 1.5]);
  });
  it('I5 masks a prompt that fills an empty cache', () => {
    expect(means(3, [1, 2, 3], { causal: true })).toEqual([1, 1.5, 2]);
  });
  it('I6 masks new tokens against all keys', () => {
    expect(means(2, [1, 2, 3, 4, 5], { causal: true })).toEqual([2.5, 3]);
    expect(
      means(2, [1, 2, 3, 4, 5], { mask: bits([2, 5], [1, 1, 1, 1, 0, 1, 1, 1, 1, 1]) }),
    ).toEqual([2.5, 3]);
  });
  it('I14 gives 0 to a row that sees nothing', () => {
    expect(means(1, [1, 2, 3], { mask: bits([1, 3], [0, 0, 0]) })).toEqual([0]);
  });
  it('I16 gives the same output with and without weights', () => {
    const zeros = tensor([1, 1, 1], [0]);
    const k = tensor([1, 3, 1], [0, 0, 0]);
    const v = tensor([1, 3, 1], [1, 2, 3]);
    const mask = bits([1, 3], [0, 0, 0]);
    const all = pe.attention(zeros, k, v, { mask, weights: true, logSumExp: true });
    expectSame(all.output.data, [0]);
    expectSame(all.weights?.data ?? [], [0, 0, 0]);
    expectSame(all.logSumExp?.data ?? [], [-Infinity]);
  });
  it('I17 I18 I19 needs no finite stand-in for minus infinity', () => {
    const hidden = [-Infinity, -Infinity, -Infinity];
    expect(means(1, [1, 2, 3], { mask: floats([1, 3], hidden) })).toEqual([0]);
    expect(means(1, [1, 2, 3], { mask: floats([1, 3], [-65504, -Infinity, 0]) })).toEqual([3]);
    const both = { causal: true, mask: bits([1, 3], [0, 1, 1]) };
    expect(means(3, [1, 2, 3], both)).toEqual([0, 2, 2.5]);
  });
  it('I21 leaves allowed cells exact beside forbidden ones', () => {
    expect(means(1, [7, 9], { mask: floats([1, 2], [0, -Infinity]) })).toEqual([7]);
  });
  it('I22 attends where the mask is not zero', () => {
    const lower = [1, 0, 0, 1, 1, 0, 1, 1, 1];
    expect(means(3, [1, 2, 3], { mask: bits([3, 3], lower) })).toEqual([1, 1.5, 2]);
    expect(
      means(3, [1, 2, 3], {
        mask: bits(
          [3, 3],
          lower.map((x) => x * 255),
        ),
      }),
    ).toEqual([1, 1.5, 2]);
  });
  it('I23 adds a float mask', () => {
    expectClose(means(1, [1, 0], { mask: floats([1, 2], [0.5, -0.5]) }), [0.731059], near);
  });
  it('I24 keeps packed documents apart when the mask says so', () => {
    const blocks = [1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1];
    const options = { causal: true, mask: bits([4, 4], blocks) };
    expect(means(4, [1, 2, 3, 4], options)).toEqual([1, 1.5, 3, 3.5]);
  });
  it('I25 gives real tokens the same output with and without padding', () => {
    const [q, k, v] = [1, 2, 3].map((seed) => randomTensor([1, 3, 4], seed));
    const padded = (x: typeof q) =>
      tensor([1, 5, 4], [...x.data, ...new Array<number>(8).fill(Number.NaN)]);
    const mask = bits([1, 5], [1, 1, 1, 0, 0]);
    const { output } = pe.attention(q, padded(k), padded(v), { mask });
    expectSame(output.data, pe.attention(q, k, v).output.data);
  });
});

describe('padding on the left', () => {
  it('changes nothing for the real tokens, rotated or biased, at positions that leave it out', () => {
    const [q, k, v] = [1, 2, 3].map((seed) => randomTensor([1, 2, 4, 6], seed));
    const padded = (x: typeof q) =>
      tensor(
        [1, 2, 7, 6],
        [0, 1].flatMap((head) => [
          ...new Array<number>(18).fill(Number.NaN),
          ...x.data.slice(head * 24, (head + 1) * 24),
        ]),
      );
    // What cumsum(mask) - 1 gives; where the padding stands does not matter.
    const places = [0, 0, 0, 0, 1, 2, 3];
    const mask = bits([1, 1, 1, 7], [0, 0, 0, 1, 1, 1, 1]);
    const options = { causal: true, queryPositions: places, keyPositions: places, mask };
    for (const encoding of [
      pe.encoding('rope', { headDim: 6 }),
      pe.encoding('alibi', { heads: 2 }),
    ]) {
      const whole = pe.attention(padded(q), padded(k), padded(v), { ...options, encoding }).output;
      const plain = pe.attention(q, k, v, { causal: true, encoding }).output;
      for (const head of [0, 1]) {
        const real = whole.data.slice((head * 7 + 3) * 6, (head * 7 + 7) * 6);
        expectSame(real, plain.data.slice(head * 24, (head + 1) * 24));
      }
    }
  });
});

describe('prefill and decode', () => {
  it('I9 gives a decoded row what the prefill gives it, for every window and length', () => {
    const [S, D] = [9, 4];
    const [q, k, v] = [1, 2, 3].map((seed) => randomTensor([1, S, D], seed));
    const row = (x: typeof q, t: number) => tensor([1, 1, D], x.data.subarray(t * D, (t + 1) * D));
    for (const W of count(S + 1, 1)) {
      const rules = { causal: true, window: fromTotal(W) };
      const whole = pe.attention(q, k, v, rules).output.data;
      using all = pe.cache({ heads: 1, headDim: D, capacity: S });
      using ring = pe.cache({ heads: 1, headDim: D, window: Math.max(1, W - 1) });
      for (const t of count(S)) {
        const append = { k: row(k, t), v: row(v, t) };
        const [one, other] = [all, ring].map(
          (cache) => pe.attention(row(q, t), cache, { ...rules, append }).output.data,
        );
        expectClose(one, whole.subarray(t * D, (t + 1) * D), near, `W ${W}, token ${t}`);
        expectClose(other, one, near, `ring, W ${W}, token ${t}`);
      }
    }
  });
  it('D13 turns cached keys by the list of the length that is reached', () => {
    const encoding = pe.encoding('rope-longrope', {
      headDim: 4,
      shortFactor: [1, 1],
      longFactor: [2, 4],
      originalLength: 8,
      factor: 2,
    });
    const [q, k, v] = [1, 2, 3].map((seed) => randomTensor([1, 9, 4], seed));
    const rows = (x: typeof q, from: number, to: number) =>
      tensor([1, to - from, 4], x.data.subarray(from * 4, to * 4));
    const prefill = (n: number) => {
      const [a, b, c] = [q, k, v].map((x) => rows(x, 0, n));
      return pe.attention(a, b, c, { encoding, causal: true }).output.data.subarray(-4);
    };
    using cache = pe.cache({ heads: 1, headDim: 4, capacity: 9, encoding });
    const step = (from: number, to: number) => {
      const append = { k: rows(k, from, to), v: rows(v, from, to) };
      const { output } = pe.attention(rows(q, from, to), cache, { causal: true, append });
      return output.data.subarray(-4);
    };
    expectClose(step(0, 8), prefill(8), near);
    expectClose(step(8, 9), prefill(9), near);
  });
  it('I26 refuses results with more elements than an index reaches', () => {
    const x = tensor([8, 28, 4096, 0], []);
    const error = caught(() => pe.attention(x, x, x, { weights: true }));
    expect(['SHAPE_OVERFLOW', 'TOO_LARGE', 'OUT_OF_MEMORY']).toContain(error.code);
    expectSame(pe.attention(x, x, x).output.data, []);
  });
});

describe('scores and heads', () => {
  it('J7 renormalises by a sink as sigmoid(logSumExp - sink) does', () => {
    const [zero, keys] = [tensor([1, 1, 1], [0]), tensor([1, 2, 1], [0, 0])];
    const v = tensor([1, 2, 1], [1, 3]);
    const plain = pe.attention(zero, keys, v, { logSumExp: true });
    const sum = plain.logSumExp?.data[0] ?? Number.NaN;
    const sunk = pe.attention(zero, keys, v, { sinks: [0] }).output.data[0];
    expect(sunk).toBeCloseTo(plain.output.data[0] / (1 + Math.exp(-sum)), 6);
    expect(sunk / plain.output.data[0]).toBeCloseTo(2 / 3, 6);
  });
  it('J4 multiplies large queries and keys in float32', () => {
    const wide = tensor([1, 1, 128], new Array(128).fill(32));
    const { logSumExp } = pe.attention(wide, wide, wide, { logSumExp: true });
    expect(logSumExp?.data[0]).toBeCloseTo(11585.24, 1);
  });
  it('J8 gives neighbouring query heads one key head', () => {
    const q = tensor([4, 1, 1], [0, 0, 0, 0]);
    const k = tensor([2, 1, 1], [0, 0]);
    const v = tensor([2, 1, 1], [10, 20]);
    expectSame(pe.attention(q, k, v).output.data, [10, 10, 20, 20]);
  });
  it('J9 divides by the size of the group', () => {
    const q = tensor([32, 1, 1], new Array(32).fill(0));
    const k = tensor([8, 1, 1], new Array(8).fill(0));
    const v = tensor([8, 1, 1], count(8));
    expectSame(
      pe.attention(q, k, v).output.data,
      count(32).map((h) => Math.floor(h / 4)),
    );
  });
});

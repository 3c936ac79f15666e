// SPDX-License-Identifier: Apache-2.0
/**
 * Faults reported on other projects, restated with their right value in float64. Each stands for a
 * kind of fault; the letter and number name the case in the project's collection.
 */

import { describe, expect, it } from 'vitest';
import { expectRefusal } from './support/failure.ts';
import { pe } from './support/instance.ts';
import { expectClose, expectSame, randomTensor, tensor } from './support/numbers.ts';

const near = { rtol: 1e-6, atol: 1e-6 };
const count = (n: number, from = 0) => Array.from({ length: n }, (_, i) => from + i);

/** RoPE of rows of width d; cos and sin of one angle come out of [1, 0]. */
function turn(row: readonly number[], position: number, options: object = {}): Float32Array {
  const rope = pe.encoding('rope', { headDim: row.length, ...options });
  return rope.rotate(tensor([1, row.length], row), [position]).data;
}

/** The cosine of pair i at a position, for width d and base. */
function cosine(d: number, base: number, pair: number, position: number): number {
  const row = new Array<number>(d).fill(0);
  row[pair] = 1;
  return turn(row, position, { base })[pair];
}

describe('precision of rotations', () => {
  it('A1 forms angles in float64', () => {
    expect(cosine(32, 1e4, 1, 1857)).toBeCloseTo(0.306693, 6);
  });
  it('A2 keeps large positions exact', () => {
    expect(cosine(2, 1e4, 0, 15962)).toBeCloseTo(-0.908016, 6);
  });
  it('A4 keeps frequencies in float64', () => {
    expect(cosine(128, 1e4, 1, 4000)).toBeCloseTo(-0.248753, 6);
    expect(pe.encoding('rope', { headDim: 128 }).plan().inverseFrequencies[1]).toBeCloseTo(
      0.865964323,
      9,
    );
  });
  it('A5 tells neighbouring positions past 256 apart', () => {
    const cosines = count(6, 255).map((p) => cosine(2, 1e4, 0, p));
    expectClose(cosines, count(6, 255).map(Math.cos), near);
  });
  it('A7 rotates in float32', () => {
    expectClose(turn([2048, 1], 1), [1105.6976, 1723.8729], { rtol: 1e-7, atol: 1e-4 });
  });
});

describe('pairing and layout', () => {
  const half = [-1.984111, 1.959901, 2.462378, 4.0198];
  const interleaved = [-1.14264, 1.922076, 2.959851, 4.0298];
  it('B1 pairs as the layout says', () => {
    expectClose(turn([1, 2, 3, 4], 1), half, near);
    expectClose(turn([1, 2, 3, 4], 1, { layout: 'interleaved' }), interleaved, near);
  });
  it('B3 turns one layout into the other by permuting channels', () => {
    const [a, c, b, d] = turn([1, 3, 2, 4], 1, { layout: 'interleaved' });
    expectSame([a, b, c, d], turn([1, 2, 3, 4], 1));
  });
  it('B4 depends on distance only, in either layout', () => {
    const score = (p: number, layout: string) => {
      const q = turn([1, 2, 3, 4], p + 1, { layout });
      const k = turn([0.5, -1, 2, 0.25], p, { layout });
      return q.reduce((sum, x, i) => sum + x * k[i], 0);
    };
    for (const p of [0, 1, 17, 1000]) {
      expect(score(p, 'half')).toBeCloseTo(2.97775, 4);
      expect(score(p, 'interleaved')).toBeCloseTo(4.433756, 4);
    }
  });
  it('B5 keeps layout and width where the rotation is part of attention', () => {
    const [T, D] = [3, 6];
    const [q, k, v] = [1, 2, 3].map((seed) => randomTensor([1, T, D], seed));
    const rope = (layout: 'half' | 'interleaved') =>
      pe.encoding('rope', { headDim: D, rotaryDim: 4, layout });
    const encoding = rope('interleaved');
    const fused = pe.attention(q, k, v, { encoding }).output.data;
    const apart = pe.attention(encoding.rotate(q), encoding.rotate(k), v).output.data;
    expectClose(fused, apart, near);
    const other = pe.attention(q, k, v, { encoding: rope('half') }).output.data;
    expect(Math.max(...fused.map((x, i) => Math.abs(x - other[i])))).toBeGreaterThan(1e-3);
  });
  it('B6 leaves values alone', () => {
    const one = tensor([1, 1, 2], [1, 0]);
    const encoding = pe.encoding('rope', { headDim: 2 });
    const { output } = pe.attention(one, one, one, { encoding, keyPositions: [1] });
    expectSame(output.data, [1, 0]);
  });
});

describe('linear scaling and partial width', () => {
  it('D15 divides positions, with fractions', () => {
    const rope = pe.encoding('rope-linear', { headDim: 4, factor: 4 });
    const { data } = rope.rotate(tensor([1, 4], [1, 2, 3, 4]), [7]);
    expectClose(data, [-3.130204, 1.929697, 0.449248, 4.034386], near);
  });
  it('E3 rotates the leading part and leaves the rest', () => {
    const row = count(128).map((i) => i / 64);
    const turned = turn(row, 3, { rotaryDim: 64 });
    expectSame(turned.slice(64), Float32Array.from(row.slice(64)));
    expect(pe.encoding('rope', { headDim: 128, rotaryDim: 64 }).plan().rotaryDim).toBe(64);
  });
  it('E5 refuses an odd width', () => {
    const make = () => pe.encoding('rope', { headDim: 4, rotaryDim: 3 });
    expectRefusal(make, { code: 'NOT_EVEN', field: 'rotaryDim' });
  });
});

describe('positions, offsets and tables', () => {
  it('F1 depends on the offset, not on the length alone', () => {
    const rope = pe.encoding('rope', { headDim: 4 });
    const x = tensor([1, 4], [1, 2, 3, 4]);
    expectSame(rope.rotate(x).data, x.data);
    const want = [3.160435, 1.797584, -0.107938, 4.094959];
    expectClose(rope.rotate(x, { start: 5 }).data, want, near);
  });
  it('F3 F4 continues where the cached tokens end', () => {
    const rope = pe.encoding('rope', { headDim: 2 });
    const k = randomTensor([1, 7, 2], 3);
    const q = tensor([1, 1, 2], [1, 0]);
    const byDefault = pe.attention(q, k, k, { encoding: rope, causal: true });
    const given = pe.attention(q, k, k, { encoding: rope, causal: true, queryPositions: [6] });
    expectSame(byDefault.output.data, given.output.data);
  });
  it('F5 F6 lets each row of a batch have positions of its own', () => {
    const rope = pe.encoding('rope', { headDim: 2 });
    const x = tensor([2, 3, 2], [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
    const positions = { data: [0, 0, 1, 0, 1, 2], shape: [2, 3] };
    const cosines = rope.rotate(x, positions).data.filter((_, i) => i % 2 === 0);
    expectClose(cosines, [0, 0, 1, 0, 1, 2].map(Math.cos), near);
  });
  it('F7 starts RoBERTa tables behind the padding row', () => {
    const table = tensor([6, 1], count(6));
    const learned = pe.encoding('learned', { table, offset: 2 });
    expectSame(learned.table([0, 1, 2]).data, [2, 3, 4]);
  });
  it('F8 F9 F10 refuses rows past the table and says what is usable', () => {
    const learned = pe.encoding('learned', { table: randomTensor([10, 2]) });
    expectRefusal(() => learned.table([8, 9, 10, 11]), {
      code: 'POSITION_OUT_OF_TABLE',
      field: 'positions',
      says: [/positions\[2\]/, /0 to 9/, /10/],
    });
  });
  it('F11 names value and index of a position outside, negative ones too', () => {
    const learned = pe.encoding('learned', { table: randomTensor([8, 2]) });
    const says = (value: number) => [/positions\[1\]/, `${value} (number)`];
    expectRefusal(() => learned.table([0, 8]), { code: 'POSITION_OUT_OF_TABLE', says: says(8) });
    expectRefusal(() => learned.table([0, -1]), { code: 'POSITION_OUT_OF_TABLE', says: says(-1) });
  });
  it('F12 takes distances within each row of a batch', () => {
    const encoding = pe.encoding('alibi', { heads: 1, slopes: [1] });
    const zeros = tensor([3, 1, 3, 1], new Array(9).fill(0));
    const positions = { data: [0, 1, 2, 5, 6, 7, 9, 10, 11], shape: [3, 3] };
    const at = { queryPositions: positions, keyPositions: positions };
    const { weights } = pe.attention(zeros, zeros, zeros, { encoding, weights: true, ...at });
    for (const row of [0, 1, 2]) {
      const last = weights?.data.subarray(row * 9 + 6, row * 9 + 9) ?? [];
      const distances = Array.from(last, (w) => -Math.log(w / last[2]));
      expectClose(distances, [2, 1, 0], { rtol: 0, atol: 1e-5 });
    }
  });
  it('F13 treats every batch row alike at length 1', () => {
    const rope = pe.encoding('rope', { headDim: 4 });
    const { data } = rope.rotate(tensor([2, 1, 1, 4], [1, 2, 3, 4, 1, 2, 3, 4]), { start: 5 });
    expectSame(data.slice(0, 4), data.slice(4));
  });
  it('F14 clips distances to the table', () => {
    const maxDistance = 4;
    const keyTable = tensor([9, 1], count(9));
    const shaw = pe.encoding('shaw', { headDim: 1, maxDistance, keyTable });
    const q = tensor([1, 1, 1], [1]);
    const k = tensor([1, 11, 1], new Array(11).fill(0));
    const options = { encoding: shaw, weights: true, queryPositions: [5], scale: 1 };
    const { weights } = pe.attention(q, k, k, options);
    // The score of each key is its row of the table: 0 for all that are 4 or more behind.
    const rows = Array.from(weights?.data ?? [], (w) => Math.log(w / (weights?.data[0] ?? 1)));
    expectClose(rows, [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 8], { rtol: 0, atol: 1e-4 });
  });
  it('F15 wants 2k + 1 rows', () => {
    const keyTable = randomTensor([3, 4]);
    expectRefusal(() => pe.encoding('shaw', { headDim: 4, maxDistance: 2, keyTable }), {
      code: 'SHAPE_MISMATCH',
      field: 'keyTable',
      says: ['[5, 4]', '[3, 4]'],
    });
  });
});

describe('sinusoids', () => {
  it('G1 has odd widths', () => {
    const { data } = pe.encoding('sinusoidal', { dim: 5 }).table([1]);
    expectClose(data, [0.841471, 0.540302, 0.025116, 0.999685, 0.000631], near);
  });
  it('G2 gives each pair one frequency', () => {
    const { data } = pe.encoding('sinusoidal', { dim: 4 }).table([3]);
    expectClose(data, [0.14112, -0.989992, 0.029996, 0.99955], near);
  });
  it('G3 names both layouts', () => {
    const { data } = pe.encoding('sinusoidal', { dim: 4, layout: 'half' }).table([3]);
    expectClose(data, [0.14112, 0.029996, -0.989992, 0.99955], near);
  });
});

describe('ALiBi and T5', () => {
  const slopes = (heads: number) =>
    Array.from(pe.encoding('alibi', { heads }).bias([1], [0]).data, (x) => -x);
  it('H1 has slopes for 12 heads', () => {
    const powers = count(8, 1).map((i) => 2 ** -i);
    expectClose(slopes(12), [...powers, Math.SQRT1_2, 0.353553, 0.176777, 0.088388], near);
  });
  it('H2 has slopes for 6 heads', () => {
    expectSame(slopes(6), [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]);
  });
  it('H4 follows the code, not the series of the paper, for 40 heads', () => {
    const all = slopes(40);
    expectClose(
      [0, 31, 32, 39].map((h) => all[h]),
      [0.840896, 0.00390625, 0.917004, 0.272627],
      near,
    );
  });
  it('H5 keeps long distances exact', () => {
    const alibi = pe.encoding('alibi', { heads: 1 });
    const { data } = alibi.bias([1004], [4, 3, 2, 1, 0]);
    expectClose(data, [-3.90625, -3.910156, -3.914063, -3.917969, -3.921875], near);
  });
  it('H6 shifts a row without changing its softmax', () => {
    const weightsOf = (form: 'relative' | 'key') => {
      const encoding = pe.encoding('alibi', { heads: 1, form, slopes: [1] });
      const q = tensor([1, 1, 1], [0]);
      const k = tensor([1, 4, 1], [0, 0, 0, 0]);
      const all = pe.attention(q, k, k, { encoding, weights: true, logSumExp: true });
      return [all.weights?.data ?? [], all.logSumExp?.data[0] ?? 0] as const;
    };
    const [near0, lse] = weightsOf('relative');
    expectClose(near0, [0.032059, 0.087144, 0.236883, 0.643914], near);
    expect(lse).toBeCloseTo(0.44019, 5);
    const [shifted, lseKey] = weightsOf('key');
    expectClose(shifted, near0, near);
    expect(lseKey).toBeCloseTo(3.44019, 5);
  });
  it('H7 aligns a single query with the last key', () => {
    const encoding = pe.encoding('alibi', { heads: 1, slopes: [1] });
    const q = tensor([1, 1, 1], [0]);
    const k = tensor([1, 3, 1], [0, 0, 0]);
    const { weights } = pe.attention(q, k, k, { encoding, weights: true });
    const w = Array.from(weights?.data ?? [], (x) => Math.log(x / (weights?.data[2] ?? 1)));
    expectClose(w, [-2, -1, 0], { rtol: 0, atol: 1e-5 });
  });
  it('H9 has the exact buckets', () => {
    const bucketsOf = (bidirectional: boolean, relative: number[]) => {
      const table = tensor([32, 1], count(32));
      const t5 = pe.encoding('t5', { heads: 1, bidirectional, table });
      return Array.from(t5.bias([0], relative).data);
    };
    const both = new Map([
      [-200, 15],
      [-128, 15],
      [-64, 14],
      [-16, 10],
      [-8, 8],
      [-7, 7],
      [-1, 1],
      [0, 0],
      [1, 17],
      [7, 23],
      [8, 24],
      [16, 26],
      [64, 30],
      [128, 31],
    ]);
    expect(bucketsOf(true, [...both.keys()])).toEqual([...both.values()]);
    const causal = [-16, -17, -32, -64, -128, 1, 5, 100];
    expect(bucketsOf(false, causal)).toEqual([16, 16, 21, 26, 31, 0, 0, 0]);
  });
});

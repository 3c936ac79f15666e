// SPDX-License-Identifier: Apache-2.0
/** Positions of text, images and video beyond the reference cases, and their use. */

import { mropePositions, PosencError } from 'posenc';
import { describe, expect, it } from 'vitest';
import { expectRefusal } from './support/failure.ts';
import { pe } from './support/instance.ts';
import { expectSame, randomTensor } from './support/numbers.ts';

const image = { imageToken: 101, imageGrids: [[1, 4, 6]] };
const withImage = [5, 6, 100, 101, 101, 101, 101, 101, 101, 7, 8];
const axesOf = (...given: Parameters<typeof mropePositions>) =>
  mropePositions(...given).positions.map(({ data }) => [...data]);

describe('mropePositions', () => {
  it('counts text alike on all axes', () => {
    const { positions, deltas } = mropePositions([9, 8, 7]);
    for (const { data, shape } of positions) {
      expect([...data]).toEqual([0, 1, 2]);
      expect(shape).toEqual([1, 3]);
    }
    expect(deltas).toEqual([0]);
    expect(axesOf([])).toEqual([[], [], []]);
  });

  it('takes ids in every form', () => {
    const want = axesOf(withImage, image);
    const data = Int32Array.from(withImage);
    for (const ids of [
      data,
      BigInt64Array.from(withImage, BigInt),
      [withImage],
      { data, shape: [1, 11] },
      { data: withImage, dims: [11] },
    ])
      expect(axesOf(ids, image)).toEqual(want);
  });

  it('starts after the greatest number so far, wherever it was', () => {
    // A tall image: the text after it continues behind its height, not behind its last token.
    const tokens = [101, 101, 101, 7];
    expect(axesOf(tokens, { imageToken: 101, imageGrids: [[1, 3, 1]], mergeSize: 1 })).toEqual([
      [0, 0, 0, 3],
      [0, 1, 2, 3],
      [0, 0, 0, 3],
    ]);
  });

  it('gives images beside each other a grid each', () => {
    const tokens = [101, 101, 101];
    const grids = [
      [1, 1, 2],
      [1, 1, 1],
    ];
    expect(axesOf(tokens, { imageToken: 101, imageGrids: grids, mergeSize: 1 })[2]).toEqual([
      0, 1, 2,
    ]);
  });

  it('runs the time of a video at its pace', () => {
    const tokens = [102, 102, 102, 7];
    const video = { videoToken: 102, videoGrids: [[3, 1, 1]], mergeSize: 1 };
    const pace = { secondsPerGrid: [0.75], tokensPerSecond: 2 };
    expect(axesOf(tokens, { ...video, ...pace })).toEqual([
      [0, 1, 3, 4],
      [0, 0, 0, 4],
      [0, 0, 0, 4],
    ]);
  });

  const refusals: [string, () => unknown, string, string][] = [
    [
      'an image without a grid',
      () => mropePositions(withImage, { imageToken: 101 }),
      'MISSING_OPTION',
      'imageGrids',
    ],
    [
      'more tokens than the grid has',
      () => mropePositions([101, 101, 101], { imageToken: 101, imageGrids: [[1, 2, 2]] }),
      'SHAPE_MISMATCH',
      'imageGrids',
    ],
    [
      'fewer tokens than the grid has',
      () => mropePositions([101, 7], { ...image }),
      'SHAPE_MISMATCH',
      'imageGrids',
    ],
    ['a grid without an image', () => mropePositions([7], image), 'SHAPE_MISMATCH', 'imageGrids'],
    [
      'a grid that merging does not divide',
      () => mropePositions([101], { imageToken: 101, imageGrids: [[1, 3, 2]] }),
      'NOT_EVEN',
      'imageGrids',
    ],
    [
      'a grid of two numbers',
      () => mropePositions([101], { imageToken: 101, imageGrids: [[2, 2]] }),
      'SHAPE_MISMATCH',
      'imageGrids',
    ],
    [
      'a mask of another shape',
      () => mropePositions([7, 8], { attentionMask: [1] }),
      'SHAPE_MISMATCH',
      'attentionMask',
    ],
    ['rows of different lengths', () => mropePositions([[1, 2], [3]]), 'SHAPE_MISMATCH', 'tokens'],
    ['ids that are no integers', () => mropePositions([1.5]), 'NOT_INTEGER', 'tokens'],
    ['text instead of ids', () => mropePositions('abc' as never), 'WRONG_TYPE', 'tokens'],
    [
      'an option it does not know',
      () => mropePositions([1], { imageTokens: 3 } as never),
      'UNKNOWN_OPTION',
      'imageTokens',
    ],
    [
      'a pace for videos that are not there',
      () => mropePositions([1], { secondsPerGrid: [1] }),
      'SHAPE_MISMATCH',
      'secondsPerGrid',
    ],
  ];
  for (const [what, call, code, field] of refusals)
    it(`refuses ${what}`, () => {
      expect(call).toThrow(PosencError);
      expectRefusal(call, { code: code as never, field });
    });
});

describe('M-RoPE', () => {
  const mrope = pe.encoding('mrope', { headDim: 16, sections: [2, 3, 3] });
  const rope = pe.encoding('rope', { headDim: 16 });
  const [q, k, v] = [1, 2, 3].map((seed) => randomTensor([4, 11, 16], seed));

  it('E7: is RoPE on text, with positions or without', () => {
    const { positions } = mropePositions(Array.from({ length: 11 }, (_, i) => i));
    const want = pe.attention(q, k, v, { encoding: rope, causal: true }).output.data;
    const attend = (at: object) =>
      pe.attention(q, k, v, { encoding: mrope, causal: true, ...at }).output.data;
    expectSame(attend({}), want);
    expectSame(attend({ queryPositions: positions, keyPositions: positions }), want);
    expectSame(
      attend({ queryPositions: { start: 3 }, keyPositions: { start: 3 } }),
      pe.attention(q, k, v, {
        encoding: rope,
        causal: true,
        queryPositions: { start: 3 },
        keyPositions: { start: 3 },
      }).output.data,
    );
    expectSame(mrope.rotate(q).data, rope.rotate(q).data);
  });

  it('takes what mropePositions gives, and sees the image', () => {
    const { positions } = mropePositions(withImage, image);
    const at = { queryPositions: positions, keyPositions: positions };
    const seen = pe.attention(q, k, v, { encoding: mrope, causal: true, ...at }).output.data;
    const text = pe.attention(q, k, v, { encoding: mrope, causal: true }).output.data;
    expectSame(seen.subarray(0, 4 * 16), text.subarray(0, 4 * 16)); // until the image's second token
    expect([...seen]).not.toEqual([...text]);
  });

  it('E8: takes axes for axes, not for sequences one after the other', () => {
    const axis = { data: Array.from({ length: 11 }, (_, i) => i), shape: [1, 11] };
    const at = { queryPositions: [axis, axis, axis], keyPositions: [axis, axis, axis] };
    const rules = { encoding: mrope, causal: true, weights: true } as const;
    const { weights } = pe.attention(q, k, v, { ...rules, ...at });
    expectSame(weights?.data ?? [], pe.attention(q, k, v, rules).weights?.data ?? []);
    expect(Math.min(...(weights?.data.subarray(110, 121) ?? []))).toBeGreaterThan(0);
  });
});

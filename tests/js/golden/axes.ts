// SPDX-License-Identifier: Apache-2.0
/** Rotations over several axes: M-RoPE with its positions, and images. Positions are [row, column]. */

import { mropePositions, type Positions, type Tensor } from 'posenc';
import { expect } from 'vitest';
import { pe } from '../support/instance.ts';
import { expectClose } from '../support/numbers.ts';
import { type GoldenArray, type GoldenCase, tensorOf } from './cases.ts';

const count = (n: number) => Array.from({ length: n }, (_, i) => i);

interface Rotates {
  rotate(x: Tensor, positions: Positions): Tensor;
  plan(): { inverseFrequencies: Float64Array };
}

function rowsOf({ data, shape: [rows, n] }: GoldenArray): number[][] {
  return count(rows).map((r) => data.slice(r * n, (r + 1) * n));
}

export function runMropePositions({ params, inputs, expected }: GoldenCase): void {
  const { image_grid_thw: images, video_grid_thw: videos, attention_mask: mask } = inputs;
  const { positions, deltas } = mropePositions(inputs.input_ids, {
    imageToken: params.image_token_id,
    videoToken: params.video_token_id,
    mergeSize: params.spatial_merge_size,
    ...(images && { imageGrids: rowsOf(images) }),
    ...(videos && { videoGrids: rowsOf(videos) }),
    ...(mask && { attentionMask: mask }),
  });
  expect(positions.flatMap(({ data }) => [...data])).toEqual(expected.position_ids.data);
  expect(deltas).toEqual(expected.deltas.data);
}

export function runMrope({ params, inputs, expected, tolerance }: GoldenCase): void {
  const encoding = pe.encoding('mrope', {
    headDim: params.head_dim,
    base: params.theta,
    sections: params.mrope_section,
    interleaved: params.mode === 'interleaved',
  });
  for (const name of ['q', 'k']) {
    const turned = encoding.rotate(tensorOf(inputs[name]), rowsOf(inputs.positions_thw));
    expectClose(turned.data, expected[name].data, tolerance.f32, name);
  }
}

/** The cells of a grid, row by row: [rows, columns]. */
function cells(h: number, w: number): [number[], number[]] {
  const all = count(h * w);
  return [all.map((i) => Math.floor(i / w)), all.map((i) => i % w)];
}

/** Compares the rotation of [B, H, n, D], of which the case may order the axes in its own way. */
function compare(
  { inputs, expected, tolerance }: GoldenCase,
  encoding: Rotates,
  at: Positions,
  axes: (shape: number[]) => { shape: number[]; order?: 'tokens-first' },
): void {
  for (const name of ['q', 'k']) {
    if (inputs[name] === undefined) continue;
    const { shape, order } = axes(inputs[name].shape);
    const x = tensorOf(inputs[name], shape);
    const swap = order === 'tokens-first' ? swapMiddle : (t: Tensor) => t;
    const got = swap(encoding.rotate(swap(x), at));
    expectClose(got.data, expected[name].data, tolerance.f32, name);
  }
}

function swapMiddle({ data, shape }: Tensor): Tensor {
  const [B, n, H, D] = shape;
  const out = new Float32Array(data.length);
  for (const b of count(B))
    for (const i of count(n))
      for (const h of count(H))
        out.set(
          data.subarray(((b * n + i) * H + h) * D, ((b * n + i) * H + h + 1) * D),
          ((b * H + h) * n + i) * D,
        );
  return { data: out, shape: [B, H, n, D] };
}

const asIs = (shape: number[]) => ({ shape });

export function runDinov3(one: GoldenCase): void {
  const { theta: base, patches_h: h, patches_w: w, prefix_tokens: prefix } = one.params;
  const encoding = pe.encoding('rope-2d', {
    headDim: one.params.head_dim,
    variant: 'dinov3',
    base,
    grid: [h, w],
  });
  // A prefix token stands where every coordinate is 0: in the middle of the grid.
  const [rows, columns] = cells(h, w);
  const middle = (n: number) => new Array(prefix).fill((n - 1) / 2);
  compare(
    one,
    encoding,
    [
      [...middle(h), ...rows],
      [...middle(w), ...columns],
    ],
    asIs,
  );
}

export function runLlama4Vision(one: GoldenCase): void {
  const { head_dim: headDim, theta: base, side } = one.params;
  const encoding = pe.encoding('rope-2d', { headDim, variant: 'llama4', base });
  // Coordinates start at 1, so the class token, which does not turn, stands at -1.
  const [rows, columns] = cells(side, side);
  const at = [
    [...rows, -1],
    [...columns, -1],
  ];
  compare(one, encoding, at, (shape) => ({ shape, order: 'tokens-first' }));
}

export function runPixtral(one: GoldenCase): void {
  const { head_dim: headDim, theta: base, max_patches_per_side: side } = one.params;
  const ids: number[] = one.inputs.position_ids.data;
  const encoding = pe.encoding('rope-2d', { headDim, variant: 'pixtral', base });
  compare(
    one,
    encoding,
    [ids.map((id) => Math.floor(id / side)), ids.map((id) => id % side)],
    asIs,
  );
}

export function runQwenVision(one: GoldenCase): void {
  const { head_dim: headDim, theta: base, spatial_merge_size: m } = one.params;
  const [frames, h, w]: number[] = one.inputs.grid_thw.data;
  const rows: number[] = [];
  const columns: number[] = [];
  for (const _ of count(frames))
    for (const a of count(h / m))
      for (const b of count(w / m))
        for (const c of count(m))
          for (const d of count(m)) {
            rows.push(a * m + c);
            columns.push(b * m + d);
          }
  const encoding = pe.encoding('rope-2d', { headDim, variant: 'qwen-vl', base });
  compare(one, encoding, [rows, columns], ([n, H, D]) => ({
    shape: [1, n, H, D],
    order: 'tokens-first',
  }));
}

export function runRopeVit(one: GoldenCase): void {
  const { head_dim: headDim, theta: base, width, height, heads } = one.params;
  const encoding: Rotates =
    heads === undefined
      ? pe.encoding('rope-2d', { headDim, variant: 'sam2', base })
      : pe.encoding('rope-mixed', { headDim, heads, frequencies: tensorOf(one.inputs.freqs_xy) });
  compare(one, encoding, cells(height, width), asIs);
}

/** Two axes of pixels are `eva-pixel`; three axes of counts are M-RoPE with frequencies per axis. */
export function runLucidrains(one: GoldenCase): void {
  const { grid, head_dim: headDim, dim_per_axis: width, max_freq: maxFrequency } = one.params;
  const n = grid.reduce((a: number, b: number) => a * b, 1);
  const flat = ([B, ...shape]: number[]) => ({ shape: [B, 1, n, shape[shape.length - 1]] });
  if (grid.length === 2) {
    const [h, w] = grid;
    const options = { headDim, rotaryDim: 2 * width, variant: 'eva-pixel', maxFrequency } as const;
    compare(one, pe.encoding('rope-2d', { ...options, grid }), cells(h, w), flat);
    const measured = [
      [h, 0],
      [w, 1],
    ].map(([side, axis]) => cells(h, w)[axis].map((i) => (2 * i) / (side - 1) - 1));
    compare(one, pe.encoding('rope-2d', options), measured, flat);
    return;
  }
  const [, h, w] = grid;
  const sections = new Array(3).fill(width / 2);
  const encoding = pe.encoding('mrope', {
    headDim,
    sections,
    frequencies: 'per-axis',
    layout: 'interleaved',
  });
  const at = [
    count(n).map((i) => Math.floor(i / (h * w))),
    count(n).map((i) => Math.floor(i / w) % h),
    count(n).map((i) => i % w),
  ];
  compare(one, encoding, at, flat);
}

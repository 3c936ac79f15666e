// SPDX-License-Identifier: Apache-2.0
/** Encodings of pictures: positions are rows and columns. */

import type { Tensor } from 'posenc';
import { pe } from '../support/instance.ts';
import { expectClose, expectSame, tensor } from '../support/numbers.ts';
import { type GoldenArray, type GoldenCase, tensorOf } from './cases.ts';
import { linear } from './content-terms.ts';

const count = (n: number) => Array.from({ length: n }, (_, i) => i);
/** The tokens of a window, row by row: one list of rows and one of columns. */
const grid = ([rows, cols]: number[]) => [
  count(rows * cols).map((i) => Math.floor(i / cols)),
  count(rows * cols).map((i) => i % cols),
];

/** q, k and v of [B, n, heads · D], side by side in the projection: each [B, n, heads, D]. */
function queriesKeysValues({ params, inputs }: GoldenCase, bias: GoldenArray): Tensor[] {
  const { heads, head_dim: headDim } = params;
  const width = heads * headDim;
  const [batch, n] = inputs.x.shape;
  const qkv = linear(inputs.x, inputs['qkv.weight'], bias);
  return count(3).map((i) =>
    tensor(
      [batch, n, heads, headDim],
      count(batch * n).flatMap((r) => qkv.data.slice((r * 3 + i) * width, (r * 3 + i + 1) * width)),
    ),
  );
}

export function runSwin(one: GoldenCase): void {
  const { params, inputs, expected, tolerance } = one;
  const { heads, window } = params;
  const at = grid(window);
  const rows = inputs.relative_position_bias_table.shape[0];
  // A table whose row i holds i shows the index.
  const index = pe.encoding('swin', { heads: 1, window, table: tensor([rows, 1], count(rows)) });
  expectSame(index.bias(at, at).data, expected.relative_position_index.data);

  const table = tensorOf(inputs.relative_position_bias_table);
  const encoding = pe.encoding('swin', { heads, window, table });
  expectClose(encoding.bias(at, at).data, expected.bias.data, tolerance.f32, 'bias');
  const [q, k, v] = queriesKeysValues(one, inputs['qkv.bias']);
  const n = at[0].length;
  const mask = inputs.mask && tensorOf(inputs.mask, [inputs.mask.shape[0], 1, n, n]);
  const { output } = pe.attention(q, k, v, {
    encoding,
    scale: params.scale,
    layout: 'bnhd',
    queryPositions: at,
    keyPositions: at,
    ...(mask ? { mask } : {}),
  });
  expectClose(output.data, expected.out.data, tolerance.f32, 'out');
}

/** Every head row divided by its norm, times a factor per head. */
function normalised({ data, shape }: Tensor, factor: (head: number) => number): Tensor {
  const [, , heads, width] = shape;
  const rows = count(data.length / width).map((r) => {
    const row = [...data.slice(r * width, (r + 1) * width)];
    const norm = Math.hypot(...row);
    return row.map((x) => (x / norm) * factor(r % heads));
  });
  return tensor(shape, rows.flat());
}

export function runSwinV2(one: GoldenCase): void {
  const { params, inputs, expected, tolerance } = one;
  const { heads, head_dim: headDim, window, pretrained_window: pretrainedWindow } = params;
  const at = grid(window);
  const encoding = pe.encoding('swin-v2', {
    heads,
    window,
    pretrainedWindow,
    hiddenWeight: tensorOf(inputs['cpb_mlp.0.weight']),
    hiddenBias: tensorOf(inputs['cpb_mlp.0.bias']),
    outWeight: tensorOf(inputs['cpb_mlp.2.weight']),
  });
  expectClose(encoding.bias(at, at).data, expected.bias.data, tolerance.f32, 'bias');
  const bias: GoldenArray = {
    dtype: 'f64',
    shape: [3 * heads * headDim],
    data: [...inputs.q_bias.data, ...new Array(heads * headDim).fill(0), ...inputs.v_bias.data],
  };
  const [q, k, v] = queriesKeysValues(one, bias);
  const heat = (head: number) => Math.exp(Math.min(inputs.logit_scale.data[head], Math.log(100)));
  const { output } = pe.attention(
    normalised(q, heat),
    normalised(k, () => 1),
    v,
    {
      encoding,
      layout: 'bnhd',
      queryPositions: at,
      keyPositions: at,
    },
  );
  expectClose(output.data, expected.out.data, tolerance.f32, 'out');
}

/**
 * The reference adds to given scores that are no product of its q. Two more channels carry them:
 * one query and one key at a time, whose log-sum-exp is the score.
 */
export function runDecomposed({ params, inputs, expected, tolerance }: GoldenCase): void {
  const { q_size: size, k_size: keySize } = params;
  const [, n, dim] = inputs.q.shape;
  const widen = (table: GoldenArray) =>
    tensor(
      [table.shape[0], dim + 1],
      count(table.shape[0]).flatMap((r) => [...table.data.slice(r * dim, (r + 1) * dim), 0]),
    );
  const encoding = pe.encoding('decomposed', {
    headDim: dim + 1,
    size,
    keySize,
    relPosH: widen(inputs.rel_pos_h),
    relPosW: widen(inputs.rel_pos_w),
  });
  const [queries, keys] = [grid(size), grid(keySize)];
  const S = keys[0].length;
  const key = tensor([1, 1, 1, dim + 1], [...new Array(dim).fill(0), 1]);
  const got = new Float32Array(n * S);
  for (const t of count(n))
    for (const j of count(S)) {
      const row = [...inputs.q.data.slice(t * dim, (t + 1) * dim), inputs.attn.data[t * S + j]];
      const { logSumExp } = pe.attention(tensor([1, 1, 1, dim + 1], row), key, key, {
        encoding,
        scale: 1,
        queryPositions: queries.map((axis) => [axis[t]]),
        keyPositions: keys.map((axis) => [axis[j]]),
        logSumExp: true,
      });
      got[t * S + j] = logSumExp?.data[0] ?? Number.NaN;
    }
  expectClose(got, expected.attn.data, tolerance.f32, 'attn');
}

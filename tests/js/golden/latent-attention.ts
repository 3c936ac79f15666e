// SPDX-License-Identifier: Apache-2.0
/**
 * Multi-head latent attention as DeepSeek computes it: low-rank projections (test code, in float64),
 * a rotated part of each head with one shared key (ours), and attention with values of their own
 * width (ours).
 */

import type { Tensor } from 'posenc';
import { pe } from '../support/instance.ts';
import { expectClose, tensor } from '../support/numbers.ts';
import type { GoldenArray, GoldenCase } from './cases.ts';

type Matrix = { data: ArrayLike<number>; shape: readonly number[] };

/** x [n, k] times the transpose of w [m, k]. */
function project(x: Matrix, w: GoldenArray): Matrix {
  const [n, k] = x.shape;
  const [m] = w.shape;
  const data = new Float64Array(n * m);
  for (let i = 0; i < n; ++i)
    for (let j = 0; j < m; ++j)
      for (let c = 0; c < k; ++c) data[i * m + j] += x.data[i * k + c] * w.data[j * k + c];
  return { data, shape: [n, m] };
}

function normalise(x: Matrix, weight: GoldenArray, epsilon: number): Matrix {
  const [n, width] = x.shape;
  const data = new Float64Array(n * width);
  for (let i = 0; i < n; ++i) {
    let sum = 0;
    for (let c = 0; c < width; ++c) sum += x.data[i * width + c] ** 2;
    const factor = 1 / Math.sqrt(sum / width + epsilon);
    for (let c = 0; c < width; ++c)
      data[i * width + c] = x.data[i * width + c] * factor * weight.data[c];
  }
  return { data, shape: x.shape };
}

/** Columns from … to of each row. */
function columns(x: Matrix, from: number, to: number): Matrix {
  const [n, width] = x.shape;
  const data = Float64Array.from({ length: n * (to - from) }, (_, i) => {
    const [row, column] = [Math.floor(i / (to - from)), i % (to - from)];
    return x.data[row * width + from + column];
  });
  return { data, shape: [n, to - from] };
}

/** [n, H·w] as [H, n, w]. */
function heads(x: Matrix, count: number): Tensor {
  const [n, all] = x.shape;
  const w = all / count;
  const data = Float32Array.from({ length: n * all }, (_, i) => {
    const [h, t, c] = [Math.floor(i / (n * w)), Math.floor(i / w) % n, i % w];
    return x.data[t * all + h * w + c];
  });
  return { data, shape: [count, n, w] };
}

/** Two parts of each row side by side; the second may have one head for all. */
function join(a: Tensor, b: Tensor): Tensor {
  const [H, n, wa] = a.shape;
  const wb = b.shape[2];
  const w = wa + wb;
  const data = Float32Array.from({ length: H * n * w }, (_, i) => {
    const [h, t, c] = [Math.floor(i / (n * w)), Math.floor(i / w) % n, i % w];
    const other = b.shape[0] === 1 ? 0 : h;
    return c < wa ? a.data[(h * n + t) * wa + c] : b.data[(other * n + t) * wb + c - wa];
  });
  return { data, shape: [H, n, w] };
}

const part = (x: Tensor, from: number, to: number): Tensor => {
  const [H, n, w] = x.shape;
  const cut = columns({ data: x.data, shape: [H * n, w] }, from, to);
  return tensor([H, n, to - from], cut.data);
};

export function runLatentAttention({ params, inputs, expected, tolerance }: GoldenCase): void {
  const { heads: H, qk_nope_head_dim: plain, qk_rope_head_dim: turned, rms_eps: epsilon } = params;
  const [, n, width] = (inputs.x as GoldenArray).shape;
  const x = { data: inputs.x.data as number[], shape: [n, width] };
  const positions: number[] = inputs.positions.data;

  const lowQuery = project(x, inputs['q_a_proj.weight']);
  const query = project(
    normalise(lowQuery, inputs['q_a_layernorm.weight'], epsilon),
    inputs['q_b_proj.weight'],
  );
  const lowKey = project(x, inputs['kv_a_proj_with_mqa.weight']);
  const rank = params.kv_lora_rank;
  const latent = normalise(columns(lowKey, 0, rank), inputs['kv_a_layernorm.weight'], epsilon);
  const keyValue = heads(project(latent, inputs['kv_b_proj.weight']), H);

  const rope = pe.encoding('rope', { headDim: turned, base: params.theta, layout: 'interleaved' });
  const q = heads(query, H);
  const qTurned = rope.rotate(part(q, plain, plain + turned), positions);
  const shared = heads(columns(lowKey, rank, rank + turned), 1);
  const kTurned = rope.rotate(shared, positions, { role: 'key' });
  const { output, weights } = pe.attention(
    join(part(q, 0, plain), qTurned),
    join(part(keyValue, 0, plain), kTurned),
    part(keyValue, plain, plain + params.v_head_dim),
    { scale: params.scale, causal: true, weights: true },
  );
  expectClose(weights?.data ?? [], expected.probs.data, tolerance.f32, 'probs');
  const joined = Float64Array.from({ length: output.data.length }, (_, i) => {
    const v = params.v_head_dim;
    const [t, h, c] = [Math.floor(i / (H * v)), Math.floor(i / v) % H, i % v];
    return output.data[(h * n + t) * v + c];
  });
  const out = project({ data: joined, shape: [n, H * params.v_head_dim] }, inputs['o_proj.weight']);
  expectClose(out.data, expected.out.data, tolerance.f32, 'out');
}

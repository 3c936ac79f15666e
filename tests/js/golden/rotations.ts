// SPDX-License-Identifier: Apache-2.0
import type { Tensor } from 'posenc';
import { expect } from 'vitest';
import { pe } from '../support/instance.ts';
import { expectClose, sizeOf } from '../support/numbers.ts';
import { type GoldenArray, type GoldenCase, tensorOf } from './cases.ts';

const count = (n: number) => Array.from({ length: n }, (_, i) => i);

export function runRopeApply({ params, inputs, expected, tolerance }: GoldenCase): void {
  const [headDim] = (inputs.q as GoldenArray).shape.slice(-1);
  const rope = pe.encoding('rope', {
    headDim,
    rotaryDim: params.rotary_dim ?? headDim,
    base: params.theta,
    layout: params.style,
  });
  const swapped = params.layout?.startsWith('[batch, seq, heads');
  for (const name of ['q', 'k']) {
    if (inputs[name] === undefined) continue;
    const x = tensorOf(inputs[name]);
    const turned = swapped
      ? swapMiddle(rope.rotate(swapMiddle(x), inputs.positions))
      : rope.rotate(x, inputs.positions);
    expectClose(turned.data, expected[name].data, tolerance.f32, name);
  }
  if (expected.grad_q === undefined) return;
  const gradient = rope.rotateBackward(tensorOf(inputs.grad_out), inputs.positions);
  expectClose(gradient.data, expected.grad_q.data, tolerance.f32, 'grad_q');
}

/** [B, n, H, D] as [B, H, n, D], and the other way round. */
export function swapMiddle({ data, shape }: Tensor): Tensor {
  const [B, n, H, D] = shape;
  const out = new Float32Array(data.length);
  for (const b of count(B))
    for (const i of count(n))
      for (const h of count(H)) {
        const from = ((b * n + i) * H + h) * D;
        out.set(data.subarray(from, from + D), ((b * H + h) * n + i) * D);
      }
  return { data: out, shape: [B, H, n, D] };
}

/** Turning [1 … 1 | 0 … 0] leaves the cosines in the first half and the sines in the second. */
export function cosinesAndSines(
  rope: { rotate(x: Tensor, positions: number[], options: { length?: number }): Tensor },
  headDim: number,
  pairs: number,
  positions: number[],
  length?: number,
): [Float32Array, Float32Array] {
  const data = new Float32Array(positions.length * headDim);
  for (const t of count(positions.length)) data.fill(1, t * headDim, t * headDim + pairs);
  const x = { data, shape: [positions.length, headDim] };
  const turned = rope.rotate(x, positions, { length }).data;
  const half = (offset: number) =>
    Float32Array.from({ length: positions.length * pairs }, (_, i) => {
      const [t, pair] = [Math.floor(i / pairs), i % pairs];
      return turned[t * headDim + offset + pair];
    });
  return [half(0), half(pairs)];
}

export function runOnnxRotary({ params, inputs, expected, tolerance }: GoldenCase): void {
  const { interleaved = 0, rotary_embedding_dim: rotaryDim } = params.attributes;
  const x: GoldenArray = inputs.input;
  const [B, , n] = x.shape;
  const ids: number[] = inputs.position_ids?.data ?? count(B * n);
  const got = rotateByTables(tensorOf(x), inputs, ids, Boolean(interleaved), rotaryDim);
  expectClose(got.data, expected.output.data, tolerance.f32, 'output');
}

/** The contributed operator: [B, n, H·D], and a single position id is that of the first token. */
export function runOrtRotary({ params, inputs, expected, tolerance }: GoldenCase): void {
  const { interleaved, rotary_embedding_dim: rotaryDim, num_heads: heads } = params.attributes;
  const [B, n, width] = (inputs.input as GoldenArray).shape;
  const given: number[] = inputs.position_ids.data;
  const ids = given.length === 1 ? count(B * n).map((i) => given[0] + (i % n)) : given;
  const x = swapMiddle(tensorOf(inputs.input, [B, n, heads, width / heads]));
  const got = rotateByTables(x, inputs, ids, Boolean(interleaved), rotaryDim);
  expectClose(swapMiddle(got).data, expected.output.data, tolerance.f32, 'output');
}

/**
 * The operators bring their own cosines and sines, which need not be those of any frequency: each
 * pair is turned by its own angle. So every pair of every row is taken from a rotation to the
 * position at which that pair has the angle wanted, times the length of (cos, sin).
 */
function rotateByTables(
  x: Tensor,
  tables: GoldenCase['inputs'],
  ids: number[],
  interleaved: boolean,
  rotaryWidth?: number,
): Tensor {
  const [B, H, n, D] = x.shape;
  const rotaryDim = rotaryWidth || D;
  const pairs = rotaryDim / 2;
  const layout = interleaved ? 'interleaved' : 'half';
  const rope = pe.encoding('rope', { headDim: D, rotaryDim, layout, base: 100 });
  const { inverseFrequencies } = rope.plan();
  const out = Float32Array.from(x.data);
  for (const row of count(B * n)) {
    const [b, t] = [Math.floor(row / n), row % n];
    for (const i of count(pairs)) {
      const [cos, sin] = [tables.cos_cache as GoldenArray, tables.sin_cache as GoldenArray].map(
        (c) => c.data[ids[row] * pairs + i],
      );
      const position = Math.atan2(sin, cos) / inverseFrequencies[i];
      const turned = rope.rotate(
        x,
        count(n).map(() => position),
      ).data;
      const channels = interleaved ? [2 * i, 2 * i + 1] : [i, i + pairs];
      for (const h of count(H))
        for (const c of channels) {
          const at = ((b * H + h) * n + t) * D + c;
          out[at] = turned[at] * Math.hypot(cos, sin);
        }
    }
  }
  expect(out.length).toBe(sizeOf(x.shape));
  return { data: out, shape: x.shape };
}

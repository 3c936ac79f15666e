// SPDX-License-Identifier: Apache-2.0
/** Encodings whose term is a product with the query or the key: only attention shows them. */

import type { AttentionOptions, Tensor } from 'posenc';
import { pe } from '../support/instance.ts';
import { expectClose, expectSame, tensor } from '../support/numbers.ts';
import { type GoldenArray, type GoldenCase, tensorOf } from './cases.ts';

const count = (n: number, from = 0) => Array.from({ length: n }, (_, i) => from + i);

/** x [rows, in] times the transpose of weight [out, in], plus bias: [rows, out]. */
export function linear(
  x: GoldenArray,
  weight: GoldenArray,
  bias?: GoldenArray | null,
): GoldenArray {
  const [outs, ins] = weight.shape;
  const rows = x.data.length / ins;
  const data = count(rows).flatMap((r) =>
    count(outs).map((o) =>
      count(ins).reduce(
        (sum, i) => sum + x.data[r * ins + i] * weight.data[o * ins + i],
        bias ? bias.data[o] : 0,
      ),
    ),
  );
  return { dtype: 'f64', shape: [rows, outs], data };
}

/** [.., a, b, ..] with two axes exchanged. */
export function transposed({ data, shape }: GoldenArray, a: number, b: number): GoldenArray {
  const stride = shape.map((_, axis) => shape.slice(axis + 1).reduce((x, y) => x * y, 1));
  const to = [...shape];
  [to[a], to[b]] = [shape[b], shape[a]];
  const from = [...stride];
  [from[a], from[b]] = [stride[b], stride[a]];
  const out = data.map((_, i) => {
    let rest = i;
    let at = 0;
    for (let axis = to.length - 1; axis >= 0; --axis) {
      at += (rest % to[axis]) * from[axis];
      rest = Math.floor(rest / to[axis]);
    }
    return data[at];
  });
  return { dtype: 'f64', shape: to, data: out };
}
const reshaped = ({ data }: GoldenArray, ...shape: number[]): GoldenArray => ({
  dtype: 'f64',
  shape,
  data,
});
/** Columns from .. to of a matrix. */
const columns = ({ data, shape: [rows, width] }: GoldenArray, from: number, to: number) =>
  reshaped(
    {
      dtype: 'f64',
      shape: [],
      data: count(rows).flatMap((r) => data.slice(r * width + from, r * width + to)),
    },
    rows,
    to - from,
  );

export function runCope({ params, inputs, expected, tolerance }: GoldenCase): void {
  const { head_dim: headDim } = params;
  const encoding = pe.encoding('cope', {
    headDim,
    table: tensorOf(inputs.pos_emb),
    scaleLogits: params.cope_nodiv !== true,
  });
  const [q, k, v] = ['q', 'k', 'v'].map((name) => {
    const { shape } = inputs[name];
    return tensorOf(inputs[name], [shape[0], 1, shape[1], shape[2]]);
  });
  const { output, weights } = pe.attention(q, k, v, { encoding, causal: true, weights: true });
  expectClose(output.data, expected.out.data, tolerance.f32, 'out');
  expectClose(weights?.data ?? [], expected.probs.data, tolerance.f32, 'probs');
}

export function runTransformerXl({ params, inputs, expected, tolerance }: GoldenCase): void {
  const { heads, head_dim: headDim, qlen, mlen } = params;
  const width = heads * headDim;
  const klen = qlen + mlen;
  const batch = inputs.w.shape[1];
  const tokens = reshaped(
    { dtype: 'f64', shape: [], data: [...(inputs.mems?.data ?? []), ...inputs.w.data] },
    klen * batch,
    width,
  );
  const qkv = linear(tokens, inputs.qkv_weight);
  // [klen, B, H, D] to [B, H, klen, D]; only the last qlen tokens ask.
  const part = (i: number) =>
    transposed(
      transposed(
        reshaped(columns(qkv, i * width, (i + 1) * width), klen, batch, heads, headDim),
        0,
        1,
      ),
      1,
      2,
    );
  const [k, v] = [part(1), part(2)].map((x) => tensorOf(x));
  const all = part(0);
  const q = tensorOf(
    reshaped(
      {
        dtype: 'f64',
        shape: [],
        data: count(batch * heads).flatMap((plane) =>
          all.data.slice((plane * klen + mlen) * headDim, (plane + 1) * klen * headDim),
        ),
      },
      batch,
      heads,
      qlen,
      headDim,
    ),
  );
  const common = {
    heads,
    headDim,
    u: tensorOf(inputs.r_w_bias),
    v: tensorOf(inputs.r_r_bias),
  };
  const projected = linear(inputs.pos_emb, inputs.r_weight);
  const rows = projected.shape[0];
  const nearestFirst = count(rows).flatMap((r) =>
    projected.data.slice((rows - 1 - r) * width, (rows - r) * width),
  );
  for (const own of [
    { relative: tensorOf(inputs.r_weight, [heads, headDim, width]) },
    { projected: tensor([rows, heads, headDim], nearestFirst) },
  ]) {
    const encoding = pe.encoding('transformer-xl', { ...common, ...own });
    const options: AttentionOptions = { encoding, causal: true, weights: true };
    const { output, weights } = pe.attention(q, k, v, options);
    // Ours are [B, H, T, …]; the reference's are [T, B, H, D] and [T, S, B, H].
    const out = transposed(arrayOf(output), 1, 2);
    expectClose(transposed(out, 0, 1).data, expected.attn_vec.data, tolerance.f32, 'attn_vec');
    const probs = transposed(transposed(arrayOf(weights), 0, 2), 1, 3);
    expectClose(probs.data, expected.probs.data, tolerance.f32, 'probs');
  }
}
const arrayOf = (x: Tensor | undefined): GoldenArray => ({
  dtype: 'f32',
  shape: [...(x?.shape ?? [])],
  data: [...(x?.data ?? [])],
});

/** Row i holds the query's products with the vectors of the distances n .. 1-n: one-hot queries show them. */
export function runXlnetShift({ params, inputs, expected }: GoldenCase): void {
  const { qlen, klen } = params;
  const [batch, heads, , width] = inputs.x.shape;
  const origin = qlen - 1;
  for (const plane of count(batch * heads)) {
    const x = inputs.x.data.slice(plane * qlen * width, (plane + 1) * qlen * width);
    // Distance d is column klen - d of the reference's order.
    const rows = count(klen + qlen).map((r) =>
      count(qlen).map((i) => x[i * width + klen + origin - r]),
    );
    const encoding = pe.encoding('transformer-xl', {
      heads: 1,
      headDim: qlen,
      u: tensor([1, qlen], new Array(qlen).fill(0)),
      v: tensor([1, qlen], new Array(qlen).fill(0)),
      projected: tensor([klen + qlen, 1, qlen], rows.flat()),
      origin,
    });
    const q = tensor(
      [qlen, qlen],
      count(qlen * qlen).map((i) => (i % (qlen + 1) === 0 ? 1 : 0)),
    );
    const got = count(qlen * klen);
    for (const j of count(klen)) {
      const zero = tensor([1, qlen], new Array(qlen).fill(0));
      const { logSumExp } = pe.attention(asHeads(q), asHeads(zero), asHeads(zero), {
        encoding,
        scale: 1,
        queryPositions: count(qlen),
        keyPositions: [j],
        logSumExp: true,
      });
      for (const i of count(qlen)) got[i * klen + j] = logSumExp?.data[i] ?? Number.NaN;
    }
    const want = expected.shifted.data.slice(plane * qlen * klen, (plane + 1) * qlen * klen);
    expectSame(got, want.map(Math.fround));
  }
}
const asHeads = ({ data, shape }: { data: Float32Array; shape: readonly number[] }) => ({
  data,
  shape: [1, 1, ...shape],
});

export function runDebertaBuckets({ expected }: GoldenCase): void {
  for (const {
    bucket_size: buckets,
    max_position: maxDistance,
    buckets: want,
  } of expected.tables) {
    const span = buckets;
    const positions = count(want.data.length, -(want.data.length - 1) / 2);
    const encoding = pe.encoding('deberta', {
      heads: 1,
      headDim: 1,
      buckets,
      maxDistance,
      terms: ['c2p'],
      positionKey: tensor([2 * span, 1, 1], count(2 * span)), // row i holds i
    });
    const ones = tensor([1, 1, positions.length, 1], new Array(positions.length).fill(1));
    const zero = tensor([1, 1, 1, 1], [0]);
    const { logSumExp } = pe.attention(ones, zero, zero, {
      encoding,
      scale: 1,
      queryPositions: positions,
      keyPositions: [0],
      logSumExp: true,
    });
    expectSame(
      logSumExp?.data ?? [],
      want.data.map((b: number) => Math.min(Math.max(b + span, 0), 2 * span - 1)),
    );
  }
}

export function runDebertaAttention({ params, inputs, expected, tolerance }: GoldenCase): void {
  const { heads, head_dim: headDim, pos_att_type: terms, share_att_key: shared } = params;
  const project = (name: string, x: GoldenArray) =>
    linear(x, inputs[`${name}.weight`], inputs[`${name}.bias`]);
  const [, tokens] = inputs.hidden.shape;
  const [q, k, v] = ['query_proj', 'key_proj', 'value_proj'].map((name) =>
    tensorOf(project(name, inputs.hidden), [1, tokens, heads, headDim]),
  );
  const rows = inputs.rel_embeddings.shape[0];
  const table = (name: string) =>
    tensorOf(project(name, inputs.rel_embeddings), [rows, heads, headDim]);
  const encoding = pe.encoding('deberta', {
    heads,
    headDim,
    maxDistance: params.max_relative_positions,
    ...(params.position_buckets > 0 ? { buckets: params.position_buckets } : {}),
    terms,
    positionKey: table(shared ? 'key_proj' : 'pos_key_proj'),
    ...(terms.includes('p2c')
      ? { positionQuery: table(shared ? 'query_proj' : 'pos_query_proj') }
      : {}),
  });
  const { output, weights } = pe.attention(q, k, v, { encoding, layout: 'bnhd', weights: true });
  expectClose(output.data, expected.context.data, tolerance.f32, 'context');
  expectClose(weights?.data ?? [], expected.probs.data, tolerance.f32, 'probs');
}

// SPDX-License-Identifier: Apache-2.0
import { pe } from '../support/instance.ts';
import { expectClose, expectSame, sizeOf, tensor } from '../support/numbers.ts';
import { type GoldenArray, type GoldenCase, tensorOf } from './cases.ts';

const count = (n: number, from = 0) => Array.from({ length: n }, (_, i) => from + i);

export function runAlibiSlopes({ params, expected, tolerance }: GoldenCase): void {
  for (const { heads, alibi_bias_max: own, slopes } of expected.slopes) {
    const biasMax = own ?? params.alibi_bias_max;
    // One token back, the bias is minus the slope.
    const { data } = pe.encoding('alibi', { heads, biasMax }).bias([1], [0]);
    expectClose(
      data.map((x) => -x),
      slopes.data,
      tolerance.f32,
      `${heads} heads`,
    );
  }
}

export function runAlibiBias({ params, inputs, expected, tolerance }: GoldenCase): void {
  const { heads, seq } = params;
  const places = count(seq);
  const symmetric = pe.encoding('alibi', { heads, form: 'symmetric' });
  const full = symmetric.bias(places, places);
  expectClose(full.data, expected.full_symmetric.data, tolerance.f32, 'full_symmetric');
  const last = pe.encoding('alibi', { heads, form: 'relative' }).bias([seq - 1], places);
  expectClose(last.data, expected.last_row_form.data, tolerance.f32, 'last_row_form');
  const key = pe.encoding('alibi', { heads, form: 'key' });
  const { data: mask, shape } = inputs.bloom_attention_mask as GoldenArray;
  for (const b of count(shape[0])) {
    let seen = -1;
    const positions = mask.slice(b * seq, (b + 1) * seq).map((real) => {
      seen += real;
      return seen * real;
    });
    const want = expected.bloom.data.slice(b * heads * seq, (b + 1) * heads * seq);
    expectClose(key.bias([0], positions).data, want, tolerance.f32, `bloom[${b}]`);
  }
}

export function runT5Buckets({ inputs, expected }: GoldenCase): void {
  const { from, to } = inputs.relative_positions;
  const relative = count(to - from + 1, from);
  for (const table of expected.tables) {
    const { num_buckets: buckets, max_distance: maxDistance, bidirectional } = table;
    // A table whose row i holds i: the bias is the number of the bucket.
    const rows = tensor([buckets, 1], count(buckets));
    const t5 = pe.encoding('t5', { heads: 1, buckets, maxDistance, bidirectional, table: rows });
    expectSame(t5.bias([0], relative).data, table.buckets.data);
  }
}

export function runT5Bias({ params, inputs, expected, tolerance }: GoldenCase): void {
  const table = tensorOf(inputs.relative_attention_bias);
  const t5 = pe.encoding('t5', {
    heads: params.heads,
    buckets: params.num_buckets,
    maxDistance: params.max_distance,
    bidirectional: params.bidirectional,
    table,
  });
  const { data } = t5.bias(count(params.query_length), count(params.key_length));
  expectClose(data, expected.bias.data, tolerance.f32, 'bias');
}

/**
 * BERT's `relative_key` indexes by query - key, the opposite sign of Shaw's, so its table is read
 * backwards; the score term is divided by sqrt(headDim) with the rest, as here.
 */
export function runShaw({ params, inputs, expected, tolerance }: GoldenCase): void {
  const { head_dim: headDim, max_position_embeddings: longest } = params;
  const rows: GoldenArray = inputs.distance_embedding;
  const backwards = new Float32Array(rows.data.length);
  for (const r of count(rows.shape[0]))
    backwards.set(
      rows.data.slice(r * headDim, (r + 1) * headDim),
      (rows.shape[0] - 1 - r) * headDim,
    );
  const table = { data: backwards, shape: rows.shape };
  const queryToo = params.type === 'relative_key_query';
  const encoding = pe.encoding('shaw', {
    headDim,
    maxDistance: longest - 1,
    keyTable: table,
    ...(queryToo ? { queryTable: table } : {}),
  });
  const [q, k, v] = ['q', 'k', 'v'].map((name) => tensorOf(inputs[name]));
  const padding: GoldenArray | null = inputs.key_mask;
  const mask = padding && {
    data: Uint8Array.from(padding.data),
    shape: [q.shape[0], 1, 1, k.shape[2]],
  };
  const { output, weights } = pe.attention(q, k, v, {
    encoding,
    weights: true,
    ...(mask ? { mask } : {}),
  });
  expectClose(output.data, expected.out.data, tolerance.f32, 'out');
  expectClose(weights?.data ?? [], expected.probs.data, tolerance.f32, 'probs');
  if (sizeOf(output.shape) === 0) throw new Error('the case is empty');
}

// SPDX-License-Identifier: Apache-2.0
// The contender without a library: loops a careful author would write. Scores of four keys at a time share the loads of the
// query, sums of four keys share those of the output; measured, that is 2 times as fast as one key at a time.
import { angles, headDim, heads, slope, type Workload } from './workloads.ts';

export function plainRotation({ q, queries, interleaved }: Workload): () => Float32Array {
  const { cos, sin } = angles(queries);
  const [c32, s32] = [Float32Array.from(cos), Float32Array.from(sin)];
  const pairs = headDim / 2;
  const [step, apart] = interleaved ? [2, 1] : [1, pairs];
  return () => {
    const y = new Float32Array(q.length);
    for (let row = 0; row < heads * queries; row += 1) {
      const start = row * headDim;
      const table = (row % queries) * pairs;
      for (let pair = 0; pair < pairs; pair += 1) {
        const first = start + step * pair;
        const a = q[first] as number;
        const b = q[first + apart] as number;
        const c = c32[table + pair] as number;
        const s = s32[table + pair] as number;
        y[first] = a * c - b * s;
        y[first + apart] = a * s + b * c;
      }
    }
    return y;
  };
}

export function plainAttention(load: Workload): () => Float32Array {
  const { q, k, v, queries, keys, scale, work } = load;
  return () => {
    const y = new Float32Array(heads * queries * headDim);
    const scores = new Float64Array(keys);
    const sums = new Float64Array(headDim);
    for (let head = 0; head < heads; head += 1) {
      const penalty = work === 'bias' ? slope(head) : 0;
      const first = head * keys * headDim;
      for (let row = 0; row < queries; row += 1) {
        const place = keys - queries + row;
        const query = (head * queries + row) * headDim;
        const most = scored(q, query, k, first, place, scale, penalty, scores);
        let total = 0;
        for (let key = 0; key <= place; key += 1) {
          const weight = Math.exp((scores[key] as number) - most);
          scores[key] = weight;
          total += weight;
        }
        summed(v, first, place, scores, sums);
        for (let d = 0; d < headDim; d += 1) y[query + d] = (sums[d] as number) / total;
      }
    }
    return y;
  };
}

/** Scores of keys 0 to `place`; returns the largest. */
function scored(
  q: Float32Array,
  query: number,
  k: Float32Array,
  first: number,
  place: number,
  scale: number,
  penalty: number,
  scores: Float64Array,
): number {
  let most = Number.NEGATIVE_INFINITY;
  let key = 0;
  for (; key + 3 <= place; key += 4) {
    const at = first + key * headDim;
    let [s0, s1, s2, s3] = [0, 0, 0, 0];
    for (let d = 0; d < headDim; d += 1) {
      const x = q[query + d] as number;
      s0 += x * (k[at + d] as number);
      s1 += x * (k[at + headDim + d] as number);
      s2 += x * (k[at + 2 * headDim + d] as number);
      s3 += x * (k[at + 3 * headDim + d] as number);
    }
    const back = place - key;
    s0 = s0 * scale - penalty * back;
    s1 = s1 * scale - penalty * (back - 1);
    s2 = s2 * scale - penalty * (back - 2);
    s3 = s3 * scale - penalty * (back - 3);
    scores[key] = s0;
    scores[key + 1] = s1;
    scores[key + 2] = s2;
    scores[key + 3] = s3;
    most = Math.max(most, s0, s1, s2, s3);
  }
  for (; key <= place; key += 1) {
    const at = first + key * headDim;
    let sum = 0;
    for (let d = 0; d < headDim; d += 1) sum += (q[query + d] as number) * (k[at + d] as number);
    sum = sum * scale - penalty * (place - key);
    scores[key] = sum;
    most = Math.max(most, sum);
  }
  return most;
}

/** sums = Σ weight · value over keys 0 to `place`. */
function summed(
  v: Float32Array,
  first: number,
  place: number,
  weights: Float64Array,
  sums: Float64Array,
): void {
  sums.fill(0);
  let key = 0;
  for (; key + 3 <= place; key += 4) {
    const at = first + key * headDim;
    const w0 = weights[key] as number;
    const w1 = weights[key + 1] as number;
    const w2 = weights[key + 2] as number;
    const w3 = weights[key + 3] as number;
    for (let d = 0; d < headDim; d += 1)
      sums[d] =
        (sums[d] as number) +
        w0 * (v[at + d] as number) +
        w1 * (v[at + headDim + d] as number) +
        w2 * (v[at + 2 * headDim + d] as number) +
        w3 * (v[at + 3 * headDim + d] as number);
  }
  for (; key <= place; key += 1) {
    const at = first + key * headDim;
    const weight = weights[key] as number;
    for (let d = 0; d < headDim; d += 1)
      sums[d] = (sums[d] as number) + weight * (v[at + d] as number);
  }
}

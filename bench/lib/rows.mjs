// SPDX-License-Identifier: Apache-2.0
// Attention as a careful user writes it in plain JavaScript, four query rows against each key, and in float64.

/**
 * Rows `first` .. `first + count` of a head: q [rows, D] at `qAt`, k and v [L, D] at `kvAt`. Query i sees the keys
 * before `limit(i)`, with `bias(i, j)` added where there is one. `scores` has room for 4 L.
 */
export function attendRows({ q, qAt, k, v, kvAt, L, D, count, scale, limit, bias, scores, out }) {
  let most = 0;
  for (let i = 0; i < count; i++) most = Math.max(most, limit(i));
  for (let j = 0; j < most; j++) {
    const key = kvAt + j * D;
    if (count === 4) {
      let a = 0;
      let b = 0;
      let c = 0;
      let e = 0;
      for (let d = 0; d < D; d++) {
        const x = k[key + d];
        a += q[qAt + d] * x;
        b += q[qAt + D + d] * x;
        c += q[qAt + 2 * D + d] * x;
        e += q[qAt + 3 * D + d] * x;
      }
      scores[j] = a * scale;
      scores[L + j] = b * scale;
      scores[2 * L + j] = c * scale;
      scores[3 * L + j] = e * scale;
    } else {
      for (let i = 0; i < count; i++) {
        let a = 0;
        for (let d = 0; d < D; d++) a += q[qAt + i * D + d] * k[key + d];
        scores[i * L + j] = a * scale;
      }
    }
  }
  for (let i = 0; i < count; i++) softmax(scores.subarray(i * L, i * L + most), limit(i), bias, i);
  out.fill(0, qAt, qAt + count * D);
  for (let j = 0; j < most; j++) {
    const value = kvAt + j * D;
    if (count === 4) {
      const [a, b, c, e] = [scores[j], scores[L + j], scores[2 * L + j], scores[3 * L + j]];
      for (let d = 0, to = qAt; d < D; d++, to++) {
        const x = v[value + d];
        out[to] += a * x;
        out[to + D] += b * x;
        out[to + 2 * D] += c * x;
        out[to + 3 * D] += e * x;
      }
      continue;
    }
    for (let i = 0; i < count; i++) {
      const weight = scores[i * L + j];
      const to = qAt + i * D;
      for (let d = 0; d < D; d++) out[to + d] += weight * v[value + d];
    }
  }
}

/** In place over the first `seen` scores; the others become 0. */
function softmax(scores, seen, bias, i) {
  if (bias) for (let j = 0; j < seen; j++) scores[j] += bias(i, j);
  let greatest = Number.NEGATIVE_INFINITY;
  for (let j = 0; j < seen; j++) greatest = Math.max(greatest, scores[j]);
  let sum = 0;
  for (let j = 0; j < seen; j++) {
    scores[j] = Math.exp(scores[j] - greatest);
    sum += scores[j];
  }
  for (let j = 0; j < seen; j++) scores[j] /= sum;
  scores.fill(0, seen);
}

/** One row in float64: query `q`, `key(j)` and `value(j)` give rows, `bias(j)` a number. */
export function exactRow({ q, key, value, seen, scale, bias }) {
  const scores = new Float64Array(seen);
  for (let j = 0; j < seen; j++) {
    const k = key(j);
    let sum = 0;
    for (let d = 0; d < q.length; d++) sum += q[d] * k[d];
    scores[j] = sum * scale;
  }
  softmax(scores, seen, bias && ((_, j) => bias(j)), 0);
  const out = new Float64Array(value(0).length);
  for (let j = 0; j < seen; j++) {
    const v = value(j);
    for (let d = 0; d < out.length; d++) out[d] += scores[j] * v[d];
  }
  return out;
}

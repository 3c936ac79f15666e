// SPDX-License-Identifier: Apache-2.0
/**
 * A Llama that decodes token by token: posenc has the positions, the attention and the cache of keys
 * and values, which stays in its memory; products with weights, norms and the feed-forward part are
 * the plain JavaScript below.
 */

/** @import { Posenc, Tensor } from 'posenc' */
/** @import { Checkpoint } from './checkpoint.mjs' */
/** @typedef {Float32Array | Float64Array} Row */

/**
 * x times the transpose of a layer's matrix [out, in].
 * @param {readonly Row[]} x
 * @param {Float32Array} matrix
 * @param {number} layer
 * @param {number} out
 */
export function project(x, matrix, layer, out) {
  const width = x[0].length;
  const base = layer * out * width;
  return x.map((row) => {
    const result = new Float64Array(out);
    for (let o = 0; o < out; ++o) {
      let sum = 0;
      for (let i = 0; i < width; ++i) sum += row[i] * matrix[base + o * width + i];
      result[o] = sum;
    }
    return result;
  });
}

/**
 * RMS norm with a learned gain.
 * @param {readonly Row[]} x
 * @param {Float32Array} gain
 * @param {number} layer
 */
export function normalise(x, gain, layer) {
  return x.map((row) => {
    let squares = 0;
    for (const value of row) squares += value * value;
    const factor = 1 / Math.sqrt(squares / row.length + 1e-5);
    return Float64Array.from(row, (value, i) => value * factor * gain[layer * row.length + i]);
  });
}

/**
 * @param {readonly Row[]} x
 * @param {readonly Row[]} y
 */
export const add = (x, y) =>
  x.map((row, t) => Float64Array.from(row, (value, i) => value + y[t][i]));

/**
 * w2(silu(w1 x) · w3 x).
 * @param {Checkpoint} model
 * @param {readonly Row[]} x
 * @param {number} layer
 */
export function feedForward({ weights, hidden, dim }, x, layer) {
  const gate = project(x, weights.w1, layer, hidden);
  const value = project(x, weights.w3, layer, hidden);
  const inner = gate.map((row, t) => row.map((g, i) => (g / (1 + Math.exp(-g))) * value[t][i]));
  return project(inner, weights.w2, layer, dim);
}

/**
 * The embeddings of tokens.
 * @param {Checkpoint} model
 * @param {readonly number[]} tokens
 */
export const embed = ({ weights, dim }, tokens) =>
  tokens.map((token) =>
    Float64Array.from(weights.embedding.subarray(token * dim, (token + 1) * dim)),
  );

/**
 * Rows of heads side by side as a tensor [n, heads, D].
 * @param {readonly Row[]} x
 * @param {number} heads
 * @returns {Tensor}
 */
export function asHeads(x, heads) {
  const width = x[0].length;
  const data = new Float32Array(x.length * width);
  for (const [t, row] of x.entries()) data.set(row, t * width);
  return { data, shape: [x.length, heads, width / heads] };
}

/** @param {Tensor} tensor */
export const asRows = ({ data, shape: [n, heads, width] }) =>
  Array.from({ length: n }, (_, t) => data.subarray(t * heads * width, (t + 1) * heads * width));

export class Llama {
  /**
   * @param {Posenc} pe
   * @param {Checkpoint} model
   * @param {number} [capacity] Tokens at most, prompt included.
   */
  constructor(pe, model, capacity = model.length) {
    this.pe = pe;
    this.model = model;
    const { headDim, kvHeads, layers } = model;
    const rope = pe.encoding('rope', { headDim, layout: 'interleaved' });
    this.rope = rope;
    this.caches = Array.from({ length: layers }, () =>
      pe.cache({ heads: kvHeads, headDim, capacity, encoding: rope }),
    );
  }

  /**
   * Takes in more tokens and returns the logits of what comes after the last of them.
   * @param {readonly number[]} tokens
   */
  next(tokens) {
    const { pe, model, rope, caches } = this;
    const { weights, dim, heads, kvHeads, headDim, layers, vocabulary } = model;
    /** @type {Row[]} */
    let x = embed(model, tokens);
    for (let layer = 0; layer < layers; ++layer) {
      const input = normalise(x, weights.attentionNorm, layer);
      const q = asHeads(project(input, weights.q, layer, dim), heads);
      const k = asHeads(project(input, weights.k, layer, kvHeads * headDim), kvHeads);
      const v = asHeads(project(input, weights.v, layer, kvHeads * headDim), kvHeads);
      const { output } = pe.attention(q, caches[layer], {
        append: { k, v },
        encoding: rope,
        layout: 'bnhd',
        causal: true,
      });
      x = add(x, project(asRows(output), weights.o, layer, dim));
      x = add(x, feedForward(model, normalise(x, weights.feedNorm, layer), layer));
    }
    const last = normalise([x[x.length - 1]], weights.finalNorm, 0);
    return project(last, weights.classifier, 0, vocabulary)[0];
  }

  dispose() {
    for (const cache of this.caches) cache.dispose();
    this.rope.dispose();
  }
}

/**
 * The prompt and what follows it, the likeliest token each time.
 * @param {Llama} llama
 * @param {readonly number[]} prompt
 * @param {number} count How many tokens to add.
 * @param {(tokens: readonly number[]) => void} [seen] Called after each.
 */
export function generate(llama, prompt, count, seen = () => {}) {
  const tokens = [...prompt];
  let fresh = tokens;
  for (let i = 0; i < count; ++i) {
    const logits = llama.next(fresh);
    const token = logits.indexOf(Math.max(...logits));
    tokens.push(token);
    fresh = [token];
    seen(tokens);
  }
  return tokens;
}

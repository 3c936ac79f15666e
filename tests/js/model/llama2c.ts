// SPDX-License-Identifier: Apache-2.0
/**
 * A small Llama in the file format of llama2.c, layer by layer. Matrix products, norms and the feed
 * forward are plain test code in float64; rotation and attention are the library's.
 */

import type { Posenc, Tensor } from 'posenc';

export interface Model {
  dim: number;
  hidden: number;
  layers: number;
  heads: number;
  kvHeads: number;
  vocabulary: number;
  headDim: number;
  weights: Record<string, Float32Array>;
}

/** Seven int32, then the float32 weights in a fixed order. */
export function readModel(file: ArrayBuffer): Model {
  const [dim, hidden, layers, heads, kvHeads, vocabulary] = new Int32Array(file, 0, 7);
  const headDim = dim / heads;
  const kvDim = headDim * kvHeads;
  let offset = 28;
  const take = (count: number) => {
    const part = new Float32Array(file, offset, count);
    offset += count * 4;
    return part;
  };
  const weights = {
    embedding: take(vocabulary * dim),
    attentionNorm: take(layers * dim),
    q: take(layers * dim * dim),
    k: take(layers * kvDim * dim),
    v: take(layers * kvDim * dim),
    o: take(layers * dim * dim),
    feedNorm: take(layers * dim),
    w1: take(layers * hidden * dim),
    w2: take(layers * dim * hidden),
    w3: take(layers * hidden * dim),
    finalNorm: take(dim),
  };
  return { dim, hidden, layers, heads, kvHeads, vocabulary, headDim, weights };
}

type Rows = Float64Array[];

/** x times the transpose of the layer's matrix [out, in]. */
function project(x: Rows, matrix: Float32Array, layer: number, out: number): Rows {
  const width = x[0].length;
  const base = layer * out * width;
  return x.map((row) =>
    Float64Array.from({ length: out }, (_, o) => {
      let sum = 0;
      for (let i = 0; i < width; ++i) sum += row[i] * matrix[base + o * width + i];
      return sum;
    }),
  );
}

function normalise(x: Rows, weight: Float32Array, layer: number): Rows {
  return x.map((row) => {
    const mean = row.reduce((sum, value) => sum + value * value, 0) / row.length;
    const factor = 1 / Math.sqrt(mean + 1e-5);
    return row.map((value, i) => value * factor * weight[layer * row.length + i]);
  });
}

const add = (x: Rows, y: Rows): Rows => x.map((row, t) => row.map((value, i) => value + y[t][i]));

/** Rows of H·D as a tensor [n, H, D]. */
function asHeads(x: Rows, heads: number): Tensor {
  const width = x[0].length;
  const data = new Float32Array(x.length * width);
  for (const [t, row] of x.entries()) data.set(row, t * width);
  return { data, shape: [x.length, heads, width / heads] };
}

export interface LayerTrace {
  q: Tensor;
  k: Tensor;
  v: Tensor;
  out: Tensor;
}

/** Logits of every position, and what went through attention in each layer. */
export function run(pe: Posenc, model: Model, tokens: readonly number[]) {
  const { weights, dim, hidden, headDim, heads, kvHeads } = model;
  const rope = pe.encoding('rope', { headDim, layout: 'interleaved' });
  const trace: LayerTrace[] = [];
  let x: Rows = tokens.map((token) =>
    Float64Array.from(weights.embedding.subarray(token * dim, (token + 1) * dim)),
  );
  for (let layer = 0; layer < model.layers; ++layer) {
    const input = normalise(x, weights.attentionNorm, layer);
    const q = asHeads(project(input, weights.q, layer, dim), heads);
    const k = asHeads(project(input, weights.k, layer, headDim * kvHeads), kvHeads);
    const v = asHeads(project(input, weights.v, layer, headDim * kvHeads), kvHeads);
    const { output } = pe.attention(q, k, v, { encoding: rope, layout: 'bnhd', causal: true });
    trace.push({ q, k, v, out: output });
    const mixed = tokens.map((_, t) =>
      Float64Array.from(output.data.subarray(t * dim, (t + 1) * dim)),
    );
    x = add(x, project(mixed, weights.o, layer, dim));
    const fed = normalise(x, weights.feedNorm, layer);
    const gate = project(fed, weights.w1, layer, hidden);
    const value = project(fed, weights.w3, layer, hidden);
    const inner = gate.map((row, t) => row.map((g, i) => (g / (1 + Math.exp(-g))) * value[t][i]));
    x = add(x, project(inner, weights.w2, layer, dim));
  }
  const final = normalise(x, weights.finalNorm, 0);
  rope.dispose();
  return { logits: project(final, weights.embedding, 0, model.vocabulary), trace };
}

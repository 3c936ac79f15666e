// SPDX-License-Identifier: Apache-2.0
/**
 * The model of the example, layer by layer over all tokens at once and without a cache. Rotation and
 * attention are the library's, the rest is plain code in float64.
 */

import type { Posenc, Tensor } from 'posenc';
import type { Checkpoint } from '../../../examples/generate/checkpoint.mjs';
import {
  add,
  asHeads,
  asRows,
  embed,
  feedForward,
  normalise,
  project,
} from '../../../examples/generate/llama.mjs';

export interface LayerTrace {
  q: Tensor;
  k: Tensor;
  v: Tensor;
  out: Tensor;
}

/** Logits of every position, and what went through attention in each layer. */
export function run(pe: Posenc, model: Checkpoint, tokens: readonly number[]) {
  const { weights, dim, headDim, heads, kvHeads } = model;
  const rope = pe.encoding('rope', { headDim, layout: 'interleaved' });
  const trace: LayerTrace[] = [];
  let x: (Float32Array | Float64Array)[] = embed(model, tokens);
  for (let layer = 0; layer < model.layers; ++layer) {
    const input = normalise(x, weights.attentionNorm, layer);
    const q = asHeads(project(input, weights.q, layer, dim), heads);
    const k = asHeads(project(input, weights.k, layer, headDim * kvHeads), kvHeads);
    const v = asHeads(project(input, weights.v, layer, headDim * kvHeads), kvHeads);
    const { output } = pe.attention(q, k, v, { encoding: rope, layout: 'bnhd', causal: true });
    trace.push({ q, k, v, out: output });
    x = add(x, project(asRows(output), weights.o, layer, dim));
    x = add(x, feedForward(model, normalise(x, weights.feedNorm, layer), layer));
  }
  const final = normalise(x, weights.finalNorm, 0);
  rope.dispose();
  return { logits: project(final, weights.classifier, 0, model.vocabulary), trace };
}

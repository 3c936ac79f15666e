// SPDX-License-Identifier: Apache-2.0
// One new token against the keys and values before it.
import { largestError, normal } from './lib/inputs.mjs';
import { attendRows, exactRow } from './lib/rows.mjs';
import { job } from './lib/tensors.mjs';

export const kind = 'decode';
const [H, KV, D] = [32, 8, 128];

export const workloads = [512, 2048, 8192].map((L) => ({
  id: `W3.decode.h${H}kv${KV}.L${L}.d${D}`,
  kind,
  H,
  KV,
  L,
  D,
  scale: 1 / Math.sqrt(D),
  make: () => ({
    q: normal(H * D, 21),
    kNew: normal(KV * D, 22),
    vNew: normal(KV * D, 23),
    pastK: normal(KV * (L - 1) * D, 24),
    pastV: normal(KV * (L - 1) * D, 25),
  }),
}));

/** Keys and values in one tensor each, whose last row is written anew. */
function overTensors(pe, w, t) {
  const past = (rows, row) => {
    const tensor = t.owned([w.KV, w.L, w.D]);
    for (let g = 0; g < w.KV; g++)
      tensor.data.set(rows.subarray(g * (w.L - 1) * w.D, (g + 1) * (w.L - 1) * w.D), g * w.L * w.D);
    const append = () => {
      const data = tensor.data;
      for (let g = 0; g < w.KV; g++)
        data.set(row.subarray(g * w.D, (g + 1) * w.D), (g * w.L + w.L - 1) * w.D);
    };
    return { tensor, append };
  };
  const k = past(w.inputs.pastK, w.inputs.kNew);
  const v = past(w.inputs.pastV, w.inputs.vNew);
  const q = t.of([w.H, 1, w.D], w.inputs.q);
  const out = t.empty(q.shape);
  const run = () => {
    k.append();
    v.append();
    pe.attention(q, k.tensor, v.tensor, { scale: w.scale, out });
  };
  return job(t, run, out);
}

/** The package's own cache, as a program that decodes uses it; the new token is dropped again. */
export function overCache(pe, w, t, options = {}) {
  const cache = pe.cache({ heads: w.KV, headDim: w.D, capacity: w.L, ...options });
  const past = [w.KV, w.L - 1, w.D];
  cache.append({ data: w.inputs.pastK, shape: past }, { data: w.inputs.pastV, shape: past });
  const k = t.of([w.KV, 1, w.D], w.inputs.kNew);
  const v = t.of([w.KV, 1, w.D], w.inputs.vNew);
  const q = t.of([w.H, 1, w.D], w.inputs.q);
  const out = t.empty(q.shape);
  const run = () => {
    pe.attention(q, cache, { scale: w.scale, append: { k, v }, out });
    cache.truncate(w.L - 1);
  };
  return job(t, run, out, [cache]);
}

export const posenc = (pe, w, t) => (t.mode === 'e2e' ? overCache : overTensors)(pe, w, t);

/** All rows of one kind, the new one last. */
function complete(w, past, row) {
  const all = new Float32Array(w.KV * w.L * w.D);
  for (let g = 0; g < w.KV; g++) {
    all.set(past.subarray(g * (w.L - 1) * w.D, (g + 1) * (w.L - 1) * w.D), g * w.L * w.D);
    all.set(row.subarray(g * w.D, (g + 1) * w.D), (g * w.L + w.L - 1) * w.D);
  }
  return all;
}

export function plain(w) {
  const k = complete(w, w.inputs.pastK, w.inputs.kNew);
  const v = complete(w, w.inputs.pastV, w.inputs.vNew);
  const out = new Float32Array(w.H * w.D);
  const scores = new Float32Array(4 * w.L);
  const run = () => {
    for (let h = 0; h < w.H; h += 4)
      attendRows({
        q: w.inputs.q,
        qAt: h * w.D,
        k,
        v,
        kvAt: Math.floor((h * w.KV) / w.H) * w.L * w.D,
        L: w.L,
        D: w.D,
        count: 4,
        scale: w.scale,
        limit: () => w.L,
        scores,
        out,
      });
  };
  return { run, output: () => out };
}

// The operator made for this, which moves the past, and attention over keys that are all given.
export const variants = (w) =>
  w.mode === 'resident' ? ['GroupQueryAttention', 'Attention'] : ['GroupQueryAttention'];

export function onnx(w, graph, variant) {
  const { inputs, L } = w;
  if (variant === 'Attention') {
    graph.fresh('q', inputs.q, [1, H, 1, D]);
    graph.input('k', complete(w, inputs.pastK, inputs.kNew), [1, KV, L, D]);
    graph.input('v', complete(w, inputs.pastV, inputs.vNew), [1, KV, L, D]);
    graph.node('Attention', ['q', 'k', 'v'], ['y'], { scale: { float: w.scale } });
    return [1, H, 1, D];
  }
  graph.fresh('q', inputs.q, [1, 1, H * D]);
  graph.fresh('k', inputs.kNew, [1, 1, KV * D]);
  graph.fresh('v', inputs.vNew, [1, 1, KV * D]);
  graph.input('pastK', inputs.pastK, [1, KV, L - 1, D]);
  graph.input('pastV', inputs.pastV, [1, KV, L - 1, D]);
  graph.groupedAttention(w, L, L - 1);
  graph.alsoOut('presentK', [1, KV, L, D]);
  graph.alsoOut('presentV', [1, KV, L, D]);
  return [1, 1, H * D];
}

export function error(w, out) {
  const k = complete(w, w.inputs.pastK, w.inputs.kNew);
  const v = complete(w, w.inputs.pastV, w.inputs.vNew);
  let largest = 0;
  for (const h of [0, 1, w.H - 1]) {
    const first = Math.floor((h * w.KV) / w.H) * w.L;
    const exact = exactRow({
      q: w.inputs.q.subarray(h * w.D, (h + 1) * w.D),
      key: (j) => k.subarray((first + j) * w.D, (first + j + 1) * w.D),
      value: (j) => v.subarray((first + j) * w.D, (first + j + 1) * w.D),
      seen: w.L,
      scale: w.scale,
    });
    const at = h * w.D;
    const indices = Array.from({ length: w.D }, (_, c) => at + c);
    largest = Math.max(
      largest,
      largestError(out, indices, (c) => exact[c - at]),
    );
  }
  return largest;
}

// SPDX-License-Identifier: Apache-2.0
// Attention over a whole text: causal and full, fewer key heads, a rotation or a bias inside.
import { largestError, normal, rotaryTables } from './lib/inputs.mjs';
import { attendRows, exactRow } from './lib/rows.mjs';
import { job } from './lib/tensors.mjs';
import { rotate } from './rope.mjs';

export const kind = 'attn';

function workload(group, H, KV, S, D, name, { causal = true, rope = false, bias } = {}) {
  return {
    id: `${group}.attn.h${H}${KV === H ? '' : `kv${KV}`}.s${S}.d${D}.${name}`,
    kind,
    H,
    KV,
    S,
    D,
    causal,
    rope,
    bias,
    scale: bias === 't5' ? 1 : 1 / Math.sqrt(D),
    make: () => ({
      q: normal(H * S * D, 11, bias === 't5' ? 0.15 : 1),
      k: normal(KV * S * D, 12),
      v: normal(KV * S * D, 13),
      ...(bias === 't5' && { table: normal(32 * H, 14) }),
      ...(rope && rotaryTables(S, D)),
    }),
  };
}

export const workloads = [
  workload('W2', 12, 12, 512, 64, 'causal'),
  workload('W2', 12, 12, 1024, 64, 'causal'),
  workload('W2', 12, 12, 2048, 64, 'causal'),
  workload('W2', 12, 12, 1024, 64, 'full', { causal: false }),
  workload('W2', 32, 8, 1024, 128, 'causal'),
  workload('W2', 32, 8, 1024, 128, 'causal+rope', { rope: true }),
  workload('W4', 12, 12, 1024, 64, 'alibi', { bias: 'alibi' }),
  workload('W4', 12, 12, 1024, 64, 't5', { bias: 't5', causal: false }),
];

/** Slopes of ALiBi for 12 heads: those of 8, then every other one of 16. */
const slopes = (H) => {
  const power = 2 ** Math.floor(Math.log2(H));
  const of = (n) => Array.from({ length: n }, (_, i) => 2 ** ((-8 * (i + 1)) / n));
  return [...of(power), ...of(2 * power).filter((_, i) => i % 2 === 0)].slice(0, H);
};
/** T5's bucket of key minus query, both directions, 32 buckets up to 128. */
function bucket(distance) {
  const far = Math.abs(distance);
  const index =
    far < 8 ? far : Math.min(15, 8 + Math.floor((Math.log(far / 8) / Math.log(16)) * 8));
  return index + (distance > 0 ? 16 : 0);
}
/** bias(h, i, j), or nothing. */
function biasOf(w) {
  if (w.bias === 'alibi') {
    const slope = slopes(w.H);
    return (h, i, j) => -slope[h] * Math.abs(i - j);
  }
  if (w.bias !== 't5') return undefined;
  const buckets = Int32Array.from({ length: 2 * w.S - 1 }, (_, i) => bucket(i - w.S + 1));
  return (h, i, j) => w.inputs.table[buckets[j - i + w.S - 1] * w.H + h];
}

function encodingOf(pe, w) {
  if (w.rope) return pe.encoding('rope', { headDim: w.D });
  if (w.bias === 'alibi') return pe.encoding('alibi', { heads: w.H, form: 'symmetric' });
  if (w.bias === 't5')
    return pe.encoding('t5', { heads: w.H, table: { data: w.inputs.table, shape: [32, w.H] } });
  return undefined;
}

export function posenc(pe, w, t) {
  const encoding = encodingOf(pe, w);
  const q = t.of([w.H, w.S, w.D], w.inputs.q);
  const k = t.of([w.KV, w.S, w.D], w.inputs.k);
  const v = t.of([w.KV, w.S, w.D], w.inputs.v);
  const out = t.empty(q.shape);
  const options = { causal: w.causal, scale: w.scale, out, ...(encoding && { encoding }) };
  return job(t, () => pe.attention(q, k, v, options), out, encoding ? [encoding] : []);
}

export function plain(w) {
  const { H, KV, S, D, inputs } = w;
  const out = new Float32Array(H * S * D);
  const q = w.rope ? new Float32Array(inputs.q.length) : inputs.q;
  const k = w.rope ? new Float32Array(inputs.k.length) : inputs.k;
  const scores = new Float32Array(4 * S);
  const bias = biasOf(w);
  const run = () => {
    if (w.rope) {
      rotate(inputs.q, inputs, q, H, S, D, false);
      rotate(inputs.k, inputs, k, KV, S, D, false);
    }
    for (let h = 0; h < H; h++)
      for (let s = 0; s < S; s += 4)
        attendRows({
          q,
          qAt: (h * S + s) * D,
          k,
          v: inputs.v,
          kvAt: Math.floor((h * KV) / H) * S * D,
          L: S,
          D,
          count: Math.min(4, S - s),
          scale: w.scale,
          limit: (i) => (w.causal ? s + i + 1 : S),
          bias: bias && ((i, j) => bias(h, s + i, j)),
          scores,
          out,
        });
  };
  return { run, output: () => out };
}

// The operator that most exporters use for fewer key heads is the native runtime's fastest and the other's slowest.
export const variants = (w) =>
  w.mode === 'resident' && w.causal && !w.bias && !w.rope && (w.native || w.KV !== w.H)
    ? ['Attention', 'GroupQueryAttention']
    : ['Attention'];

/** From [heads, S, D] to [S, heads, D]. */
function rowsFirst(x, heads, S, D) {
  const out = new Float32Array(x.length);
  for (let h = 0; h < heads; h++)
    for (let s = 0; s < S; s++)
      out.set(x.subarray((h * S + s) * D, (h * S + s + 1) * D), (s * heads + h) * D);
  return out;
}

export function onnx(w, graph, variant) {
  const { H, KV, S, D, inputs } = w;
  if (variant === 'GroupQueryAttention') {
    graph.input('q', rowsFirst(inputs.q, H, S, D), [1, S, H * D]);
    graph.input('k', rowsFirst(inputs.k, KV, S, D), [1, S, KV * D]);
    graph.input('v', rowsFirst(inputs.v, KV, S, D), [1, S, KV * D]);
    graph.groupedAttention(w, S, 0);
    return [1, S, H * D];
  }
  graph.input('q', inputs.q, [1, H, S, D]);
  graph.input('k', inputs.k, [1, KV, S, D]);
  graph.input('v', inputs.v, [1, KV, S, D]);
  let [q, k] = ['q', 'k'];
  if (w.rope) {
    graph.input('cos', inputs.cos, [S, D / 2]);
    graph.input('sin', inputs.sin, [S, D / 2]);
    graph.constant(
      'at',
      BigInt64Array.from({ length: S }, (_, i) => BigInt(i)),
      [1, S],
    );
    graph.node('RotaryEmbedding', ['q', 'cos', 'sin', 'at'], ['turnedQ']);
    graph.node('RotaryEmbedding', ['k', 'cos', 'sin', 'at'], ['turnedK']);
    [q, k] = ['turnedQ', 'turnedK'];
  }
  const bias = biasOf(w);
  if (bias) {
    const all = new Float32Array(H * S * S);
    for (let h = 0, at = 0; h < H; h++)
      for (let i = 0; i < S; i++) for (let j = 0; j < S; j++) all[at++] = bias(h, i, j);
    graph.input('bias', all, [1, H, S, S]);
  }
  graph.node('Attention', [q, k, 'v', ...(bias ? ['bias'] : [])], ['y'], {
    is_causal: w.causal ? 1 : 0,
    scale: { float: w.scale },
  });
  return [1, H, S, D];
}

export function error(w, out) {
  const { H, KV, S, D, inputs } = w;
  const bias = biasOf(w);
  const turned = (x, row) => {
    const given = x.subarray(row * D, (row + 1) * D);
    if (!w.rope) return given;
    const half = D / 2;
    return Float64Array.from({ length: D }, (_, c) => {
      const pair = c % half;
      const angle = (row % S) * 10000 ** (-pair / half);
      const [a, b] = [given[pair], given[pair + half]];
      return c < half
        ? a * Math.cos(angle) - b * Math.sin(angle)
        : b * Math.cos(angle) + a * Math.sin(angle);
    });
  };
  let largest = 0;
  for (const h of [0, H - 1])
    for (const i of [0, 5, S / 2, S - 1]) {
      const first = Math.floor((h * KV) / H) * S;
      const exact = exactRow({
        q: turned(inputs.q, h * S + i),
        key: (j) => turned(inputs.k, first + j),
        value: (j) => inputs.v.subarray((first + j) * D, (first + j + 1) * D),
        seen: w.causal ? i + 1 : S,
        scale: w.scale,
        bias: bias && ((j) => bias(h, i, j)),
      });
      const at = (h * S + i) * D;
      const indices = Array.from({ length: D }, (_, c) => at + c);
      largest = Math.max(
        largest,
        largestError(out, indices, (c) => exact[c - at]),
      );
    }
  return largest;
}

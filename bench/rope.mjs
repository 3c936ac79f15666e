// SPDX-License-Identifier: Apache-2.0
// Rotation of queries or keys.
import { largestError, normal, rotaryTables } from './lib/inputs.mjs';
import { job } from './lib/tensors.mjs';

export const kind = 'rope';

export const workloads = [
  [32, 2048, 128, 'half'],
  [32, 2048, 128, 'interleaved'],
  [12, 512, 64, 'half'],
  [12, 512, 64, 'interleaved'],
].map(([H, S, D, layout]) => ({
  id: `W1.rope.h${H}.s${S}.d${D}.${layout}`,
  kind,
  H,
  S,
  D,
  interleaved: layout === 'interleaved',
  make: () => ({ x: normal(H * S * D, 1), ...rotaryTables(S, D) }),
}));

export function posenc(pe, w, t) {
  const rope = pe.encoding('rope', {
    headDim: w.D,
    layout: w.interleaved ? 'interleaved' : 'half',
  });
  const x = t.of([w.H, w.S, w.D], w.inputs.x);
  const out = t.empty(x.shape);
  const positions = { start: 0 };
  return job(t, () => rope.rotate(x, positions, { out }), out, [rope]);
}

/** Rotates [heads, S, D] into `out`. */
export function rotate(x, tables, out, heads, S, D, interleaved) {
  (interleaved ? rotateNeighbours : rotateHalves)(x, tables, out, heads * S, S, D);
}
function rotateHalves(x, { cos, sin }, out, rows, S, D) {
  const half = D >> 1;
  for (let row = 0; row < rows; row++) {
    const from = row * D;
    const angles = (row % S) * half;
    for (let i = 0; i < half; i++) {
      const c = cos[angles + i];
      const s = sin[angles + i];
      const a = x[from + i];
      const b = x[from + half + i];
      out[from + i] = a * c - b * s;
      out[from + half + i] = b * c + a * s;
    }
  }
}
function rotateNeighbours(x, { cos, sin }, out, rows, S, D) {
  const half = D >> 1;
  for (let row = 0; row < rows; row++) {
    const from = row * D;
    const angles = (row % S) * half;
    for (let i = 0; i < half; i++) {
      const c = cos[angles + i];
      const s = sin[angles + i];
      const a = x[from + 2 * i];
      const b = x[from + 2 * i + 1];
      out[from + 2 * i] = a * c - b * s;
      out[from + 2 * i + 1] = b * c + a * s;
    }
  }
}

export function plain(w) {
  const out = new Float32Array(w.inputs.x.length);
  return {
    run: () => rotate(w.inputs.x, w.inputs, out, w.H, w.S, w.D, w.interleaved),
    output: () => out,
  };
}

export function onnx(w, graph) {
  const { H, S, D } = w;
  graph.input('x', w.inputs.x, [1, H, S, D]);
  graph.input('cos', w.inputs.cos, [S, D / 2]);
  graph.input('sin', w.inputs.sin, [S, D / 2]);
  graph.constant(
    'at',
    BigInt64Array.from({ length: S }, (_, i) => BigInt(i)),
    [1, S],
  );
  graph.node('RotaryEmbedding', ['x', 'cos', 'sin', 'at'], ['y'], {
    interleaved: w.interleaved ? 1 : 0,
  });
  return [1, H, S, D];
}
export const variants = () => ['RotaryEmbedding'];

/** Against float64 angles. */
export function error(w, out) {
  const { H, S, D, inputs, interleaved } = w;
  const half = D / 2;
  const rows = [0, 1, S - 1, (H - 1) * S + S / 2, H * S - 1];
  const indices = rows.flatMap((row) => Array.from({ length: D }, (_, c) => row * D + c));
  return largestError(out, indices, (i) => {
    const row = Math.floor(i / D);
    const c = i % D;
    const pair = interleaved ? c >> 1 : c % half;
    const second = interleaved ? c % 2 === 1 : c >= half;
    const a = row * D + (interleaved ? 2 * pair : pair);
    const b = a + (interleaved ? 1 : half);
    const angle = (row % S) * 10000 ** (-pair / half);
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    return second ? inputs.x[b] * cos + inputs.x[a] * sin : inputs.x[a] * cos - inputs.x[b] * sin;
  });
}

// SPDX-License-Identifier: Apache-2.0
// The sinusoidal table, built and added.
import { largestError, normal } from './lib/inputs.mjs';
import { job } from './lib/tensors.mjs';

const [S, D] = [8192, 1024];
const angle = (position, channel) => position * 10000 ** (-(channel - (channel % 2)) / D);
const value = (position, channel) =>
  (channel % 2 === 0 ? Math.sin : Math.cos)(angle(position, channel));

function table() {
  const out = new Float32Array(S * D);
  for (let c = 0; c < D; c++) for (let s = 0; s < S; s++) out[s * D + c] = value(s, c);
  return out;
}

export const workloads = [
  { id: `W5.sinusoid.build.s${S}.d${D}`, kind: 'pe-build', S, D, make: () => ({}) },
  {
    id: `W5.sinusoid.add.s${S}.d${D}`,
    kind: 'pe-add',
    S,
    D,
    make: () => ({ x: normal(S * D, 31), table: table() }),
  },
];

function build(pe, w, t) {
  const sinusoidal = pe.encoding('sinusoidal', { dim: w.D });
  const out = t.empty([w.S, w.D]);
  const positions = Int32Array.from({ length: w.S }, (_, i) => i);
  return job(t, () => sinusoidal.table(positions, { out }), out, [sinusoidal]);
}

function add(pe, w, t) {
  const learned = pe.encoding('learned', { table: { data: w.inputs.table, shape: [w.S, w.D] } });
  const x = t.of([w.S, w.D], w.inputs.x);
  const out = t.empty(x.shape);
  return job(t, () => learned.embed(x, { start: 0 }, { out }), out, [learned]);
}

export const posenc = (pe, w, t) => (w.kind === 'pe-build' ? build : add)(pe, w, t);

export function plain(w) {
  const out = new Float32Array(w.S * w.D);
  const frequencies = Float64Array.from({ length: w.D / 2 }, (_, i) => 10000 ** ((-2 * i) / w.D));
  const built = () => {
    for (let s = 0, at = 0; s < w.S; s++)
      for (let i = 0; i < w.D / 2; i++, at += 2) {
        out[at] = Math.sin(s * frequencies[i]);
        out[at + 1] = Math.cos(s * frequencies[i]);
      }
  };
  const added = () => {
    const { x, table: rows } = w.inputs;
    for (let i = 0; i < out.length; i++) out[i] = x[i] + rows[i];
  };
  return { run: w.kind === 'pe-build' ? built : added, output: () => out };
}

export function onnx(w, graph) {
  if (w.kind === 'pe-add') {
    graph.input('x', w.inputs.x, [w.S, w.D]);
    graph.input('table', w.inputs.table, [w.S, w.D]);
    graph.node('Add', ['x', 'table'], ['y']);
    return [w.S, w.D];
  }
  // Positions times frequencies [S, D / 2, 1], sines and cosines side by side.
  const frequencies = Float32Array.from({ length: w.D / 2 }, (_, i) => 10000 ** ((-2 * i) / w.D));
  graph.input(
    'positions',
    Float32Array.from({ length: w.S }, (_, i) => i),
    [w.S, 1, 1],
  );
  graph.constant('frequencies', frequencies, [1, w.D / 2, 1]);
  graph.constant('shape', BigInt64Array.of(BigInt(w.S), BigInt(w.D)), [2]);
  graph.node('Mul', ['positions', 'frequencies'], ['angles']);
  graph.node('Sin', ['angles'], ['sines']);
  graph.node('Cos', ['angles'], ['cosines']);
  graph.node('Concat', ['sines', 'cosines'], ['pairs'], { axis: 2 });
  graph.node('Reshape', ['pairs', 'shape'], ['y']);
  return [w.S, w.D];
}
export const variants = (w) => (w.kind === 'pe-add' ? ['Add'] : ['Sin, Cos, Concat']);

export function error(w, out) {
  const rows = [0, 1, 77, 4096, w.S - 1];
  const indices = rows.flatMap((row) => Array.from({ length: w.D }, (_, c) => row * w.D + c));
  return largestError(
    out,
    indices,
    (i) => value(Math.floor(i / w.D), i % w.D) + (w.kind === 'pe-add' ? w.inputs.x[i] : 0),
  );
}

// SPDX-License-Identifier: Apache-2.0
// Into the module's memory and out again.
import { normal } from './lib/inputs.mjs';
import { job } from './lib/tensors.mjs';

export const kind = 'copy';
export const workloads = [1, 8, 32].map((megabytes) => ({
  id: `W6.copy.inout.${megabytes}MB`,
  kind,
  n: megabytes * 2 ** 18,
  make: () => ({ x: normal(megabytes * 2 ** 18, 41) }),
}));

export function posenc(pe, w, t) {
  const tensor = pe.tensor([w.n]);
  const out = { data: new Float32Array(w.n) };
  const run = () => {
    tensor.data.set(w.inputs.x);
    out.data.set(tensor.data);
  };
  return job(t, run, out, [tensor]);
}

export function plain(w) {
  const out = new Float32Array(w.n);
  return { run: () => out.set(w.inputs.x), output: () => out };
}

export function onnx(w, graph) {
  graph.input('x', w.inputs.x, [w.n]);
  graph.node('Identity', ['x'], ['y']);
  return [w.n];
}
export const variants = (w) => (w.mode === 'e2e' ? ['Identity'] : []);

export const error = (w, out) =>
  out.every((value, i) => value === w.inputs.x[i]) ? 0 : Number.POSITIVE_INFINITY;

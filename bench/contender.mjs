// SPDX-License-Identifier: Apache-2.0
// Plugs the built package into a peer benchmark. `create` gives a contender: prepare() is untimed,
// run() is timed, output() is checked against a float64 reference before any time is shown.
//   mode e2e       JavaScript arrays in, JavaScript arrays out: every copy is timed
//   mode resident  tensors that live in WebAssembly memory, results left there

const inNode = typeof process !== 'undefined' && process.versions?.node !== undefined;

/** Plain in e2e mode, owned in resident mode. */
function tensors(pe, mode) {
  const owned = [];
  const keep = (tensor) => {
    owned.push(tensor);
    return tensor;
  };
  return {
    of: (shape, data) => (mode === 'resident' ? keep(pe.tensor(shape, data)) : { data, shape }),
    empty: (shape) =>
      mode === 'resident'
        ? keep(pe.tensor(shape))
        : { data: new Float32Array(shape.reduce((n, d) => n * d, 1)), shape },
    owned: (shape, data) => keep(pe.tensor(shape, data)),
    dispose: () => {
      for (const tensor of owned) tensor.dispose();
    },
  };
}

function job(t, run, out, owners = []) {
  return {
    async run() {
      run();
    },
    async output() {
      return out.data.slice();
    },
    async dispose() {
      t.dispose();
      for (const owner of owners) owner.dispose();
    },
  };
}

function ropeJob(pe, w, t) {
  const rope = pe.encoding('rope', {
    headDim: w.D,
    layout: w.interleaved ? 'interleaved' : 'half',
  });
  const x = t.of([w.H, w.S, w.D], w.inputs.x);
  const out = t.empty(x.shape);
  const positions = { start: 0 };
  return job(t, () => rope.rotate(x, positions, { out }), out, [rope]);
}

function encodingOf(pe, w) {
  if (w.rope) return pe.encoding('rope', { headDim: w.D });
  if (w.bias === 'alibi') return pe.encoding('alibi', { heads: w.H, form: 'symmetric' });
  if (w.bias === 't5')
    return pe.encoding('t5', { heads: w.H, table: { data: w.inputs.table, shape: [32, w.H] } });
  return undefined;
}

function attentionJob(pe, w, t) {
  const encoding = encodingOf(pe, w);
  const q = t.of([w.H, w.S, w.D], w.inputs.q);
  const k = t.of([w.KV, w.S, w.D], w.inputs.k);
  const v = t.of([w.KV, w.S, w.D], w.inputs.v);
  const out = t.empty(q.shape);
  const options = { causal: w.causal, scale: w.scale, out, ...(encoding && { encoding }) };
  return job(t, () => pe.attention(q, k, v, options), out, encoding ? [encoding] : []);
}

/** One token against keys that stay in WebAssembly memory in both modes; the new row is written. */
function decodeJob(pe, w, t) {
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

function buildJob(pe, w, t) {
  const sinusoidal = pe.encoding('sinusoidal', { dim: w.D });
  const out = t.empty([w.S, w.D]);
  const positions = Int32Array.from({ length: w.S }, (_, i) => i);
  return job(t, () => sinusoidal.table(positions, { out }), out, [sinusoidal]);
}

function addJob(pe, w, t) {
  const learned = pe.encoding('learned', { table: { data: w.inputs.table, shape: [w.S, w.D] } });
  const x = t.of([w.S, w.D], w.inputs.x);
  const out = t.empty(x.shape);
  return job(t, () => learned.embed(x, { start: 0 }, { out }), out, [learned]);
}

function copyJob(_pe, w, t) {
  const tensor = t.owned([w.n]);
  const out = { data: new Float32Array(w.n) };
  const run = () => {
    tensor.data.set(w.inputs.x);
    out.data.set(tensor.data);
  };
  return job(t, run, out);
}

const jobs = {
  rope: ropeJob,
  attn: attentionJob,
  decode: decodeJob,
  'pe-build': buildJob,
  'pe-add': addJob,
  copy: copyJob,
};

export async function create({ threads }) {
  const { load } = await import(inNode ? '../dist/index.node.js' : '../dist/index.js');
  const pe = await load();
  return {
    name: 'posenc',
    version: pe.info.version,
    threads: 1,
    variants: (w) => (threads === 1 && w.kind in jobs ? [pe.info.build] : []),
    async prepare(w, _variant, mode) {
      return jobs[w.kind](pe, w, tensors(pe, mode));
    },
  };
}

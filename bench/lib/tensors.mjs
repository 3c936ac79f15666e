// SPDX-License-Identifier: Apache-2.0
// The two ways to call the package.
//   mode e2e       JavaScript arrays in, JavaScript arrays out: every copy is timed
//   mode resident  tensors that live in WebAssembly memory, results left there

/** Plain in e2e mode, owned in resident mode. */
export function tensors(pe, mode) {
  const owned = [];
  const keep = (tensor) => {
    owned.push(tensor);
    return tensor;
  };
  return {
    mode,
    of: (shape, data) => (mode === 'resident' ? keep(pe.tensor(shape, data)) : { data, shape }),
    empty: (shape) =>
      mode === 'resident'
        ? keep(pe.tensor(shape))
        : { data: new Float32Array(shape.reduce((n, d) => n * d, 1)), shape },
    owned: (shape, data) => keep(pe.tensor(shape, data)),
    keep,
    dispose: () => {
      for (const tensor of owned) tensor.dispose();
    },
  };
}

/** What is timed, where its result is, and what to give back afterwards. */
export const job = (t, run, out, owners = []) => ({
  run,
  output: () => out.data.slice(),
  dispose() {
    t.dispose();
    for (const owner of owners) owner.dispose();
  },
});

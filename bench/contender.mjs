// SPDX-License-Identifier: Apache-2.0
// Plugs the built package into a peer benchmark. `create` gives a contender: prepare() is untimed, run() is timed,
// output() is checked against a float64 reference before any time is shown. lib/tensors.mjs says what the modes are.
import * as copy from './copy.mjs';
import * as decode from './decode.mjs';
import { tensors } from './lib/tensors.mjs';
import * as prefill from './prefill.mjs';
import * as rope from './rope.mjs';
import * as sinusoid from './sinusoid.mjs';

const inNode = typeof process !== 'undefined' && process.versions?.node !== undefined;
const kernels = {
  rope,
  attn: prefill,
  decode,
  'pe-build': sinusoid,
  'pe-add': sinusoid,
  copy,
};

/** POSENC_BUILD names the build: simd or relaxed. */
export const loaded = async () => {
  const { load } = await import(inNode ? '../dist/index.node.js' : '../dist/index.js');
  return load({ build: (inNode && process.env.POSENC_BUILD) || 'auto' });
};

export async function create({ threads }) {
  const pe = await loaded();
  return {
    name: 'posenc',
    version: pe.info.version,
    threads: 1,
    variants: (w) => (threads === 1 && w.kind in kernels ? [pe.info.build] : []),
    async prepare(w, _variant, mode) {
      const made = kernels[w.kind].posenc(pe, w, tensors(pe, mode));
      return {
        run: async () => made.run(),
        output: async () => made.output(),
        dispose: async () => made.dispose(),
      };
    },
  };
}

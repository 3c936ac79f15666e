// SPDX-License-Identifier: Apache-2.0
// What the package is compared with: loops of plain JavaScript, and onnxruntime-web where it is installed.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { Graph } from './onnx.mjs';

/** The folder whose node_modules holds the other libraries; `./run bench` installs them into build/peers. */
export const peersRoot = resolve(process.env.BENCH_PEERS_ROOT ?? 'build/peers');

export function peerVersion(name) {
  const file = join(peersRoot, 'node_modules', name, 'package.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).version : undefined;
}

export const plainJavaScript = {
  who: 'js-plain',
  version: process.version,
  variants: () => ['loops'],
  prepare: (kernel, w) => kernel.plain(w),
};

/** onnxruntime-web, or its native sibling; nothing where it is not installed. */
export async function onnxRuntime(name) {
  const version = peerVersion(name);
  if (!version) return undefined;
  const ort = createRequire(join(peersRoot, 'package.json'))(name);
  const native = name === 'onnxruntime-node';
  if (!native) ort.env.wasm.numThreads = 1;
  return {
    who: native ? 'ort-node' : 'ort-web',
    version,
    variants: (kernel, w, mode) => kernel.variants({ ...w, mode, native }),
    async prepare(kernel, w, variant, mode) {
      const graph = new Graph(mode);
      const shape = kernel.onnx(w, graph, variant);
      const { bytes, result } = graph.finish(shape);
      const session = await ort.InferenceSession.create(bytes, {
        executionProviders: [native ? 'cpu' : 'wasm'],
        intraOpNumThreads: 1,
        interOpNumThreads: 1,
        graphOptimizationLevel: mode === 'resident' ? 'disabled' : 'all',
        logSeverityLevel: 3,
      });
      const named = { float32: Float32Array, int32: Int32Array, int64: BigInt64Array };
      const feeds = {};
      for (const [name, { data, shape: dims }] of Object.entries(graph.feeds)) {
        const type = Object.keys(named).find((key) => data instanceof named[key]);
        feeds[name] = new ort.Tensor(type, data, dims);
      }
      let last;
      return {
        async run() {
          last = await session.run(feeds);
        },
        output: () => (mode === 'resident' ? undefined : last[result].data),
        dispose: () => session.release(),
      };
    },
  };
}

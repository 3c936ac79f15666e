// SPDX-License-Identifier: Apache-2.0
// What is meant to take long: configurations whose keys would be compared with everything else, files of many entries, shapes
// without elements but with many rows, arrays of holes. The first call and the least of eight, in milliseconds; the rule for
// 64 KB of configuration is 50.
// Usage: node bench/hostile.mjs
import { fromConfig, load, readSafetensors } from '../dist/index.node.js';

const pe = await load();
const base = { model_type: 'llama', head_dim: 64, max_position_embeddings: 4096 };
const many = (count, name) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${name}${i}`, i]));
const scaling = { rope_type: 'linear', factor: 2, ...many(3000, 'kee_fastor_') };
const config = (given) => {
  const text = typeof given === 'string' ? given : JSON.stringify(given);
  return () => JSON.stringify(fromConfig(text));
};
const self = (...shape) => {
  const x = { data: new Float32Array(0), shape };
  return () => pe.attention(x, x, x);
};
const manyTensors = () => {
  const one = (i) => ({ dtype: 'F32', shape: [1], data_offsets: [4 * i, 4 * i + 4] });
  const entries = Array.from({ length: 20000 }, (_, i) => [`t${i}`, one(i)]);
  const head = new TextEncoder().encode(JSON.stringify(Object.fromEntries(entries)));
  const file = new Uint8Array(8 + head.length + 80000);
  new DataView(file.buffer).setUint32(0, head.length, true);
  file.set(head, 8);
  return () => readSafetensors(file);
};
const holes = [];
holes.length = 2 ** 32 - 1;

const cases = {
  '3000 keys that are nearly right': config({ ...base, rope_scaling: scaling }),
  '3000 keys with the name of a dictionary': config({ ...base, ...many(3000, 'rope_scaling') }),
  '3000 kinds of layers': config({ ...base, layer_types: Object.keys(many(3000, 't')) }),
  '65,000 characters of text': config({ a: 'x'.repeat(65000) }),
  'lists 30,000 deep': config(`{"a":${'['.repeat(30000)}${']'.repeat(30000)}}`),
  '20,000 tensors in a file': manyTensors(),
  '30,000 tokens of width 0': self(1, 1, 30_000, 0),
  '2^30 tokens of width 0': self(1, 1, 2 ** 30, 0),
  '2^30 heads of width 0': self(1, 2 ** 30, 1, 0),
  '2^29 heads of no tokens': self(1, 2 ** 29, 0, 2),
  '2^32 - 1 holes': () => pe.tensor([1], holes),
};
for (const [name, call] of Object.entries(cases)) {
  const times = Array.from({ length: 8 }, () => {
    const begin = performance.now();
    try {
      call();
    } catch (error) {
      if (error.name !== 'PosencError') throw error;
    }
    return performance.now() - begin;
  });
  console.log(
    `${name.padEnd(42)} first ${times[0].toFixed(2)}, least ${Math.min(...times).toFixed(2)}`,
  );
}

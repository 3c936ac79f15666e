// SPDX-License-Identifier: Apache-2.0
// What the package computes, as one number: equal in two engines only if every bit is. Plain JavaScript, since Node, Chromium,
// Firefox and WebKit load the very same file: import it beside the package and call `digest(pe)`; `committed` is what every engine must give.

import { inputsOf, optionsOf, tensor, tokens } from './examples.mjs';

/** A new number is a change of results, and belongs into the changelog. */
export const committed = '95e74cfe3cdb26678929ebe20a753152c54a8d5cbefc2c72a5ea9683cc2fcb77';

/** Every call of every encoding at its sites, gradients included, each under a name. */
export function* results(pe) {
  for (const info of pe.encodings) {
    const options = optionsOf(info);
    const encoding = pe.encoding(info.id, options);
    const { q, k, v, x, positions } = inputsOf(info, options, { group: 2 });
    const acts = (site) => info.sites.includes(site);
    if (acts('embed')) yield [`${info.id} embed`, encoding.embed(x, positions)];
    if (acts('rotate')) {
      yield [`${info.id} rotate`, encoding.rotate(q, positions)];
      yield [`${info.id} rotate key`, encoding.rotate(q, positions, { role: 'key' })];
    }
    const inside = info.sites.length === 0 || info.sites.some((site) => site !== 'embed');
    if (inside) yield* throughAttention(pe, info.id, encoding, [q, k, v], positions);
    encoding.dispose();
  }
  yield* throughCaches(pe);
}

function* throughAttention(pe, id, encoding, [q, k, v], positions) {
  const at = positions ? { queryPositions: positions, keyPositions: positions } : {};
  const options = { encoding, causal: true, softcap: 20, ...at };
  const all = { ...options, weights: true, logSumExp: true };
  const { output, weights, logSumExp } = pe.attention(q, k, v, all);
  yield [`${id} attention`, output];
  yield [`${id} weights`, weights];
  yield [`${id} logSumExp`, logSumExp];
  const back = pe.attentionBackward(q, k, v, output, logSumExp, tensor(output.shape, 5), options);
  for (const name of ['dq', 'dk', 'dv']) yield [`${id} ${name}`, back[name]];
  for (const [name, one] of Object.entries(back.encodings[0])) yield [`${id} d ${name}`, one];
}

/** A prompt, steps, and pieces through caches of every type of number. */
function* throughCaches(pe) {
  const [q, k, v] = [1, 2, 3].map((seed) => tensor([1, 4, tokens, 16], seed));
  const rows = ({ data }, from, count) => {
    const part = [0, 1, 2, 3].map((h) => {
      const start = (h * tokens + from) * 16;
      return data.subarray(start, start + count * 16);
    });
    return { shape: [1, 4, count, 16], data: Float32Array.from(part.flatMap((one) => [...one])) };
  };
  for (const dtype of ['f32', 'f16', 'i8']) {
    const cache = pe.cache({ heads: 4, headDim: 16, capacity: tokens, dtype });
    for (const [from, count] of [
      [0, 20],
      [20, 1],
      [21, 9],
      [30, 7],
    ]) {
      const append = { k: rows(k, from, count), v: rows(v, from, count) };
      const { output } = pe.attention(rows(q, from, count), cache, { append, causal: true });
      yield [`cache ${dtype} ${from}`, output];
    }
    cache.dispose();
  }
}

/** SHA-256 in hexadecimal, and of how many results. */
export async function digest(pe) {
  const parts = [];
  for (const [, { data }] of results(pe)) parts.push(data);
  const bytes = new Uint8Array(parts.reduce((all, part) => all + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), at);
    at += part.byteLength;
  }
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  const digits = [...hash].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return { made: parts.length, hash: digits };
}

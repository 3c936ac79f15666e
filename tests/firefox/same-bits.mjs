// SPDX-License-Identifier: Apache-2.0
// Results of every encoding that its defaults make, as one number: equal in two engines only if every bit is.
// Plain JavaScript, since Node and a page load the very same file.

/** Integer arithmetic alone, so the inputs are the same everywhere. */
function numbers(count, seed) {
  let state = seed;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) / 2 ** 23 - 1;
  });
}

const tensor = (shape, seed) => ({
  shape,
  data: numbers(
    shape.reduce((all, size) => all * size, 1),
    seed,
  ),
});

/** The examples of the required options; of a list with a length, the example stands all along it. */
function optionsOf(info) {
  const standing = (name) => {
    const field = info.fields.find((one) => one.name === name);
    return field?.default ?? field?.example ?? (field?.defaultFrom && standing(field.defaultFrom));
  };
  const options = {};
  for (const { name, required, example, type, length } of info.fields) {
    if (!required) continue;
    const count =
      length?.option && (standing(length.option) * (length.times ?? 1)) / (length.over ?? 1);
    options[name] = type === 'list' && count ? Array(Math.trunc(count)).fill(example) : example;
  }
  return options;
}

/** SHA-256 in hexadecimal, and of how many encodings. */
export async function digest(engine, encodings) {
  const parts = [];
  let made = 0;
  for (const info of encodings) {
    if (info.axes > 1 || info.tables.some((table) => table.required || table.usual)) continue;
    const encoding = engine.encoding(info.id, optionsOf(info));
    const number = (name, fallback) =>
      Number(info.fields.find((field) => field.name === name)?.example ?? fallback);
    const heads = number('heads', 4);
    const width = info.sites.includes('embed') ? number('dim', 32) : number('headDim', 32);
    const shape = [heads, 37, width];
    const [q, k, v] = [1, 2, 3].map((seed) => tensor(shape, seed));
    if (info.sites.includes('embed')) parts.push(encoding.embed(tensor([37, width], 4)).data);
    const inside = info.sites.some((site) => site !== 'embed') ? { encoding } : {};
    const { output, weights } = engine.attention(q, k, v, {
      causal: true,
      weights: true,
      ...inside,
    });
    parts.push(output.data, weights.data);
    made += 1;
  }
  const bytes = new Uint8Array(parts.reduce((all, part) => all + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), at);
    at += part.byteLength;
  }
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return { made, hash: [...hash].map((byte) => byte.toString(16).padStart(2, '0')).join('') };
}

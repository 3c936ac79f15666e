// SPDX-License-Identifier: Apache-2.0
// An example of every encoding, from the manifest alone, and tensors that fit it. Plain JavaScript, since Node, Chromium and
// Firefox load the very same file.

/** Integer arithmetic alone, so the numbers are the same in every engine. */
export function numbers(count, seed, size = 1) {
  let state = seed;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return ((state >>> 8) / 2 ** 23 - 1) * size;
  });
}

export function tensor(shape, seed, size) {
  return {
    shape,
    data: numbers(
      shape.reduce((all, extent) => all * extent, 1),
      seed,
      size,
    ),
  };
}

/** Of a head where an encoding does not say. */
const width = 16;
const little = { heads: 4, headDim: width, dim: width };

/** Options of one encoding, required and usual ones, small. */
export function optionsOf(info) {
  // Several numbers as an example, such as sections, go with the examples of the other options.
  const whole = info.fields.some((one) => one.required && Array.isArray(one.example));
  const small = whole ? {} : little;
  const standing = (name) => {
    const field = info.fields.find((one) => one.name === name);
    const usual = small[name] ?? field?.default ?? field?.example;
    return usual ?? (field?.defaultFrom && standing(field.defaultFrom));
  };
  const extentOf = (extent) => {
    if (typeof extent === 'number') return extent;
    if (extent.free !== undefined) return extent.free === 'E' ? width : extent.example;
    const { option, times = 1, over = 1, plus = 0 } = extent;
    return Math.trunc((standing(option) * times) / over) + plus;
  };
  const options = {};
  for (const { name, required, example, type, length } of info.fields) {
    if (!required) continue;
    if (type !== 'list') options[name] = small[name] ?? example;
    else options[name] = [example].flat();
    if (type === 'list' && length !== undefined && options[name].length === 1)
      options[name] = Array(extentOf(length)).fill(options[name][0]);
  }
  info.tables.forEach(({ name, required, usual, shape, deviation }, i) => {
    if (required || usual) options[name] = tensor(shape.map(extentOf), 77 + i, deviation);
  });
  return options;
}

/** How many tokens: more than a tile of four rows or eight keys, and no multiple of them. */
export const tokens = 37;

/** Tensors for an encoding made with `options`, and positions where they must be given. */
export function inputsOf(info, options, { batch = 1, group = 1 } = {}) {
  const heads = options.heads ?? 4;
  const head = options.headDim ?? width;
  const free = info.tables.find(({ shape }) => shape.some(({ free }) => free === 'valueDim'));
  const value = options[free?.name]?.shape.at(-1) ?? head;
  const shape = (n, last) => [batch, n, tokens, last];
  const own = info.fields.some(({ name }) => name === 'heads') && info.sites.includes('rotate');
  const keys = own ? heads : heads / group;
  return {
    q: tensor(shape(heads, head), 1),
    k: tensor(shape(keys, head), 2),
    v: tensor(shape(keys, value), 3),
    x: tensor([batch, tokens, options.dim ?? width], 4),
    positions: info.axes === 1 ? undefined : gridPositions(info.axes),
  };
}

/** Rows and columns of a grid 6 wide; a third axis stands before them. */
function gridPositions(axes) {
  const count = Array.from({ length: tokens }, (_, i) => i);
  const grid = [count.map((i) => Math.floor(i / 6)), count.map((i) => i % 6)];
  return axes === 2 ? grid : [count, ...grid];
}

// SPDX-License-Identifier: Apache-2.0
// What is on screen, as a program that prints the same numbers.

import type { Picture } from '../compute/picture.ts';
import type { EncodingInfo } from '../model/manifest.ts';
import { gridOf, placesIn, stridesOf } from '../model/places.ts';
import { effective, optionsOf, type Settings, type Table } from '../model/settings.ts';

export const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && 'shape' in value;

function optionsText(info: EncodingInfo, settings: Settings): { text: string; hasTables: boolean } {
  let hasTables = false;
  const parts = Object.entries(optionsOf(info, settings)).map(([name, value]) => {
    if (!isTable(value)) return `${name}: ${JSON.stringify(value).replace(/"/g, "'")}`;
    hasTables = true;
    const deviation = info.tables.find((table) => table.name === name)?.deviation ?? 1;
    return `${name}: random([${value.shape.join(', ')}], ${deviation}) /* your trained table */`;
  });
  return { text: parts.length ? `{ ${parts.join(', ')} }` : '{}', hasTables };
}

const randomText = `const random = (shape, deviation) => ({
  shape,
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => (Math.random() + Math.random() - 1) * 2.45 * deviation),
});
`;

/** An expression for the positions of the first `count` tokens, `count` being an expression itself. */
export function positionsText(
  info: EncodingInfo,
  grid: readonly number[] | undefined,
  count: number | string,
): string {
  const list = (value: string): string => `Array.from({ length: ${count} }, (_, i) => ${value})`;
  if (info.axes < 2) return list('i');
  if (!grid) return `Array(${info.axes}).fill(${list('i')})`;
  const strides = stridesOf(grid);
  const lists = grid.map((size, axis) => {
    const stride = strides[axis] as number;
    const steps = stride === 1 ? 'i' : `Math.floor(i / ${stride})`;
    return list(axis === 0 ? steps : `${steps} % ${size}`);
  });
  return `[${lists.join(', ')}]`;
}

export function atlasCode(info: EncodingInfo, settings: Settings, picture: Picture): string {
  const { text, hasTables } = optionsText(info, settings);
  const head = `import { load } from 'posenc';\n\nconst pe = await load();\n${hasTables ? randomText : ''}const encoding = pe.encoding('${info.id}', ${text});\n`;
  const { columns } = picture;
  const grid = gridOf(info, settings, columns);
  const keys = (count: number): string => positionsText(info, grid, count);
  if (picture.rowName === 'dimension')
    return `${head}const { data, shape } = encoding.table(${keys(columns)});\nconsole.log(shape, data);\n`;
  const width = Number(effective(info, 'headDim', settings) ?? 64);
  const wide = picture.growth === undefined ? 'width' : 'key.length';
  const size = picture.growth === undefined ? 'width' : 'Math.hypot(...key) ** 2';
  if (picture.rowName === 'pair')
    return `${head}const width = ${width};
${turningText(info, settings, picture.head ?? 0, width + (picture.growth ?? 0))}const queries = turned(${columns}, ${keys(columns)}, 'query');
const key = turned(1, ${keys(1)}, 'key');
const decay = Array.from({ length: ${columns} }, (_, distance) =>
  key.reduce((sum, value, i) => sum + value * queries[distance * ${wide} + i], 0) / ${size});
console.log(decay);
`;
  if (picture.rowName === 'query')
    return `${head}const query = ${columns - 1};
const keys = Array.from({ length: ${columns} }, (_, distance) => query - distance);
console.log(encoding.distances([query], keys).data);
`;
  const places = placesIn(info, grid, Float64Array.of(picture.first + columns - 1));
  const query = JSON.stringify(
    places instanceof Float64Array ? [...places] : places.map((axis) => [...axis]),
  );
  if (picture.perRow)
    return `${head}const { data, shape } = encoding.bias(${query}, ${keys(columns)});\nconsole.log(shape, data);\n`;
  return `${head}const width = ${width};
const tensor = (heads, rows) => ({ shape: [heads, rows, width], data: new Float32Array(heads * rows * width).fill(0.1) });
const heads = ${picture.rows};
const { weights } = pe.attention(tensor(heads, 1), tensor(1, ${columns}), tensor(1, ${columns}), {
  encoding, weights: true, queryPositions: ${query}, keyPositions: ${keys(columns)},
});
console.log(weights.shape, weights.data);
`;
}

/** A function that turns rows of ones; where every head turns in its own way, it keeps the one on screen. */
function turningText(info: EncodingInfo, settings: Settings, head: number, wide: number): string {
  const heads = effective(info, 'heads', settings);
  if (heads === undefined)
    return `const turned = (rows, positions, role) =>
  encoding.rotate({ shape: [rows, width], data: new Float32Array(rows * width).fill(1) }, positions, { role }).data;
`;
  return `const [heads, head] = [${heads}, ${head}];
const turned = (rows, positions, role) =>
  encoding.rotate({ shape: [heads, rows, width], data: new Float32Array(heads * rows * width).fill(1) }, positions, { role })
    .data.subarray(head * rows * ${wide}, (head + 1) * rows * ${wide});
`;
}

export function orderCode(
  words: readonly string[],
  info: EncodingInfo | undefined,
  settings: Settings,
  causal: boolean,
): string {
  const made = info && optionsText(info, settings);
  const acts = info?.sites.some((site) => site !== 'embed');
  const encoding = made
    ? `${made.hasTables ? randomText : ''}const encoding = pe.encoding('${info.id}', ${made.text});\n`
    : '';
  // In a line the package counts by itself; in a grid it has to be told.
  const grid = info && gridOf(info, settings, words.length);
  const placed =
    info && grid ? `const positions = ${positionsText(info, grid, 'words.length')};\n` : '';
  const embedded = info?.sites.includes('embed')
    ? `encoding.embed({ shape: [words.length, width], data: vectors }${grid ? ', positions' : ''})`
    : '{ shape: [words.length, width], data: vectors }';
  const options = [
    causal ? 'causal: true' : '',
    acts ? 'encoding' : '',
    acts && grid ? 'queryPositions: positions, keyPositions: positions' : '',
    'weights: true',
  ]
    .filter(Boolean)
    .join(', ');
  return `import { load } from 'posenc';

const pe = await load();
const words = ${JSON.stringify(words)};
const [heads, headDim] = [4, 4];
const width = heads * headDim;
${encoding}${placed}// One repeatable vector per word; a model would look it up.
const vectors = Float32Array.from(words.flatMap((word) =>
  Array.from({ length: width }, (_, i) => Math.sin([...word].reduce((sum, c) => sum * 31 + c.codePointAt(0), 7) % 1e6 * (i + 1)))));
const rows = ${embedded};
// Heads side by side to heads first; here without projections.
const split = { shape: [heads, words.length, headDim], data: Float32Array.from({ length: rows.data.length }, (_, i) => {
  const [head, rest] = [Math.floor(i / (words.length * headDim)), i % (words.length * headDim)];
  return rows.data[Math.floor(rest / headDim) * width + head * headDim + (rest % headDim)];
}) };
const { output, weights } = pe.attention(split, split, split, { ${options} });
console.log(output.data, weights.data);
`;
}

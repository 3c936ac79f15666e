// SPDX-License-Identifier: Apache-2.0
// What is on screen, as a program that prints the same numbers.

import type { Picture } from '../compute/picture.ts';
import type { EncodingInfo } from '../model/manifest.ts';
import { gridOf, placesIn, stridesOf } from '../model/places.ts';
import { effective, type Settings, valueWidth } from '../model/settings.ts';
import { optionsText, randomText } from './random-code.ts';

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
    return `${head}const { data } = encoding.table(${keys(columns)});\nconsole.log(JSON.stringify([...data]));\n`;
  const width = Number(effective(info, 'headDim', settings) ?? 64);
  const wide = picture.growth === undefined ? 'width' : 'key.length';
  const size = picture.growth === undefined ? 'width' : 'Math.hypot(...key) ** 2';
  if (picture.rowName === 'pair')
    return `${head}const width = ${width};
${turningText(info, settings, picture.head ?? 0, width + (picture.growth ?? 0))}const queries = turned(${columns}, ${keys(columns)}, 'query');
const key = turned(1, ${keys(1)}, 'key');
const decay = Array.from({ length: ${columns} }, (_, distance) =>
  key.reduce((sum, value, i) => sum + value * queries[distance * ${wide} + i], 0) / ${size});
console.log(JSON.stringify(decay));
`;
  if (picture.rowName === 'query')
    return `${head}const query = ${columns - 1};
const keys = Array.from({ length: ${columns} }, (_, distance) => query - distance);
console.log(JSON.stringify([...encoding.distances([query], keys).data]));
`;
  const places = placesIn(info, grid, Float64Array.of(picture.first + columns - 1));
  const query = JSON.stringify(
    places instanceof Float64Array ? [...places] : places.map((axis) => [...axis]),
  );
  if (picture.perRow)
    return `${head}const { data } = encoding.bias(${query}, ${keys(columns)});\nconsole.log(JSON.stringify([...data]));\n`;
  return `${head.replace("import { load } from 'posenc';\n\n", `import { load } from 'posenc';\n\n${hasTables ? '' : randomText}`)}const [width, heads, count] = [${width}, ${picture.rows}, ${columns}];
// Every key is one vector, so that content prefers none; every head has its own query.
const one = normal(hash('key'), width);
const q = { shape: [heads, 1, width], data: normal(hash('probe'), heads * width) };
const k = { shape: [1, count, width], data: Float32Array.from({ length: count * width }, (_, i) => one[i % width]) };
const v = { shape: [1, count, ${valueWidth(info, settings, width)}], data: new Float32Array(count * ${valueWidth(info, settings, width)}) };
const { weights } = pe.attention(q, k, v, {
  encoding, weights: true, queryPositions: ${query}, keyPositions: ${keys(columns)},
});
console.log(JSON.stringify([...weights.data]));
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

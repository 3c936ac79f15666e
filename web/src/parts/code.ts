// SPDX-License-Identifier: Apache-2.0
// What is on screen, as a program that prints the same numbers.

import type { Picture } from '../compute/picture.ts';
import type { EncodingInfo } from '../model/manifest.ts';
import { effective, optionsOf, type Settings, type Table } from '../model/settings.ts';

const isTable = (value: unknown): value is Table =>
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

export function atlasCode(info: EncodingInfo, settings: Settings, picture: Picture): string {
  const { text, hasTables } = optionsText(info, settings);
  const head = `import { load } from 'posenc';\n\nconst pe = await load();\n${hasTables ? randomText : ''}const encoding = pe.encoding('${info.id}', ${text});\n`;
  const { columns } = picture;
  const keys = (count: number): string =>
    info.axes > 1
      ? `Array(${info.axes}).fill(Array.from({ length: ${count} }, (_, i) => i))`
      : `Array.from({ length: ${count} }, (_, i) => i)`;
  if (picture.rowName === 'dimension')
    return `${head}const { data, shape } = encoding.table(${keys(columns)});\nconsole.log(shape, data);\n`;
  const width = Number(effective(info, 'headDim', settings) ?? 64);
  if (picture.rowName === 'pair')
    return `${head}const width = ${width};
const ones = (rows) => ({ shape: [rows, width], data: new Float32Array(rows * width).fill(1) });
const queries = encoding.rotate(ones(${columns}), ${keys(columns)}, { role: 'query' }).data;
const key = encoding.rotate(ones(1), ${keys(1)}, { role: 'key' }).data;
const decay = Array.from({ length: ${columns} }, (_, distance) =>
  key.reduce((sum, value, i) => sum + value * queries[distance * width + i], 0) / width);
console.log(decay);
`;
  if (picture.perRow) {
    const query =
      info.axes > 1 ? `Array(${info.axes}).fill([${-picture.first}])` : `[${-picture.first}]`;
    return `${head}const { data, shape } = encoding.bias(${query}, ${keys(columns)});\nconsole.log(shape, data);\n`;
  }
  return `${head}const width = ${width};\nconst tensor = (heads, rows) => ({ shape: [heads, rows, width], data: new Float32Array(heads * rows * width).fill(0.1) });\nconst heads = ${picture.rows};\nconst { weights } = pe.attention(tensor(heads, 1), tensor(1, ${columns}), tensor(1, ${columns}), {\n  encoding, weights: true, queryPositions: [${-picture.first}],\n});\nconsole.log(weights.shape, weights.data);\n`;
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
  const embedded = info?.sites.includes('embed')
    ? 'encoding.embed({ shape: [words.length, width], data: vectors })'
    : '{ shape: [words.length, width], data: vectors }';
  const options = [causal ? 'causal: true' : '', acts ? 'encoding' : '', 'weights: true']
    .filter(Boolean)
    .join(', ');
  return `import { load } from 'posenc';

const pe = await load();
const words = ${JSON.stringify(words)};
const [heads, headDim] = [4, 4];
const width = heads * headDim;
${encoding}// One repeatable vector per word; a model would look it up.
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

// SPDX-License-Identifier: Apache-2.0
// How a program comes to the rows of a visitor's table: from the file itself, which has to lie beside it.
import type { Layer } from '../../compute/words.ts';
import type { Entry } from './table-file.ts';

export function tableCode(
  file: string,
  entry: Entry,
  { width, seed }: Pick<Layer, 'width' | 'seed'>,
): string {
  const down =
    entry.width === width
      ? 'return row;'
      : `const sums = new Float64Array(width);
  row.forEach((value, i) => {
    for (let column = 0; column < width; column += 1) sums[column] += value * down[i * width + column];
  });
  return sums;`;
  return `// The file has to lie beside this program, which reads all of it.
const file = ${JSON.stringify(file)};
const bytes = globalThis.process?.versions?.node
  ? (await import("node:fs")).readFileSync(file)
  : await (await fetch(file)).arrayBuffer();
const { data } = readSafetensors(bytes).get(${JSON.stringify(entry.name)}).read();
const given = ${entry.width};
${entry.width === width ? '' : `const down = normal(hash('${seed}:table'), given * width, 1 / Math.sqrt(given));\n`}const rowOf = (id) => {
  const plain = data.subarray(id * given, (id + 1) * given);
  const squares = plain.reduce((sum, value) => sum + value * value, 0);
  const scale = squares > 0 ? 1 / Math.sqrt(squares / given) : 0;
  const row = plain.map((value) => value * scale);
  ${down}
};
ids.forEach((id, place) => rows.set(rowOf(id), place * width));`;
}

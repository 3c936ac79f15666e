// SPDX-License-Identifier: Apache-2.0
// The page's repeatable numbers, for programs: with them they print what the page shows.
import type { EncodingInfo } from '../model/manifest.ts';
import { optionsOf, type Settings, type Table } from '../model/settings.ts';

/** A hash, a generator, and nearly normal numbers as sums of twelve; `table` names and shapes them. */
export const randomText = `// The repeatable random numbers of the page: a hash, a generator, and sums of twelve.
const hash = (text) => {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
};
const normal = (seed, size, deviation = 1) => {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 4294967296;
  };
  return Float32Array.from({ length: size }, () => {
    let sum = -6;
    for (let i = 0; i < 12; i += 1) sum += next();
    return sum * deviation;
  });
};
const table = (name, shape, deviation) => ({
  shape,
  data: normal(hash(\`\${name}:\${shape.join('x')}\`), shape.reduce((a, b) => a * b, 1), deviation),
});
`;

const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && 'shape' in value;

/** Options as the page has them; tables are its own repeatable ones, where a model has trained ones. */
export function optionsText(
  info: EncodingInfo,
  settings: Settings,
): { text: string; hasTables: boolean } {
  let hasTables = false;
  const parts = Object.entries(optionsOf(info, settings)).map(([name, value]) => {
    if (!isTable(value)) return `${name}: ${JSON.stringify(value)}`;
    hasTables = true;
    const deviation = info.tables.find((one) => one.name === name)?.deviation ?? 1;
    return `${name}: table('${name}', ${JSON.stringify(value.shape)}, ${deviation}) /* your trained table */`;
  });
  return { text: parts.length ? `{ ${parts.join(', ')} }` : '{}', hasTables };
}

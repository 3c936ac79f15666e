// SPDX-License-Identifier: Apache-2.0
// The same call with the same numbers, outside the page.
import { biasInfo, rotationInfo } from '../../bench/own.ts';
import { headDim, heads, rowsOf } from '../../bench/workloads.ts';
import type { Values } from '../../model/keys.ts';
import { randomText } from '../../parts/random-code.ts';

/** Prints the milliseconds of a call, and the sum of the answer. */
export function benchCode({ work, size }: Values): string {
  const { queries, keys } = rowsOf(work, size);
  const table = (which: number, rows: number): string =>
    `{ shape: [${heads}, ${rows}, ${headDim}], data: normal(${8 + which}, ${heads * rows * headDim}) }`;
  const call =
    work === 'rotation'
      ? 'encoding.rotate(q)'
      : `pe.attention(q, k, v, { causal: true${work === 'bias' ? ', encoding' : ''} }).output`;
  const made =
    work === 'rotation'
      ? `const encoding = pe.encoding('${rotationInfo.id}', { headDim: ${headDim} });\n`
      : work === 'bias'
        ? `const encoding = pe.encoding('${biasInfo?.id}', { heads: ${heads} });\n`
        : '';
  const inputs =
    work === 'rotation' ? '' : `const k = ${table(1, keys)};\nconst v = ${table(2, keys)};\n`;
  return `import { load } from 'posenc';

const pe = await load();
${randomText}${made}const q = ${table(0, queries)};
${inputs}const call = () => ${call};
for (let i = 0; i < 20; i += 1) call();
const start = performance.now();
for (let i = 0; i < 50; i += 1) call();
const milliseconds = (performance.now() - start) / 50;
const sum = call().data.reduce((total, value) => total + value, 0);
console.log(JSON.stringify({ milliseconds, sum }));
`;
}

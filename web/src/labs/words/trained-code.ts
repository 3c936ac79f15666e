// SPDX-License-Identifier: Apache-2.0
// Trained heads on screen as a program that prints the same weights, number for number; what it needs of the file stands in it.
import { rowsAt } from '../../compute/trained.ts';
import type { Question } from '../../compute/words.ts';
import type { EncodingInfo } from '../../model/manifest.ts';
import { toldOf } from '../../parts/layer-code.ts';
import { randomText } from '../../parts/random-code.ts';
import type { TrainedHeads } from '../../train/heads.ts';
import { provenanceText } from './provenance.ts';

/** As float32, little-endian, in base64. */
const packed = (numbers: ArrayLike<number>): string =>
  `floats('${btoa(Array.from(new Uint8Array(Float32Array.from(numbers).buffer), (byte) => String.fromCharCode(byte)).join(''))}')`;

export function trainedCode(
  question: Question,
  trained: TrainedHeads,
  chosen: EncodingInfo,
): string {
  const { words, part } = question;
  const { made, hasTables, embeds, values, options } = toldOf(question, chosen);
  const { width, heads, embedding, norm, query, key, provenance } = trained;
  // Of the symbols only those that occur.
  const rows = rowsAt(provenance.task, words, part);
  const used = [...new Set(rows.flat())];
  const places = rows.map((list) => list.map((row) => used.indexOf(row)));
  const vectors = used.flatMap((row) => [...embedding.subarray(row * width, (row + 1) * width)]);
  return `import { load } from 'posenc';

// ${provenanceText(trained)}
${hasTables ? `${randomText}\n` : ''}const floats = (text) => new Float32Array(Uint8Array.from(atob(text), (one) => one.charCodeAt(0)).buffer);
const pe = await load();
const words = ${JSON.stringify(words)};
const [heads, width, count] = [${heads}, ${width}, words.length];
const headDim = width / heads;
${made}// A vector for each symbol, and for each place which of them are added up.
const vectors = ${packed(vectors)};
const symbols = ${JSON.stringify(places)};
let rows = new Float64Array(count * width);
symbols.forEach((list, place) => {
  for (const one of list) for (let i = 0; i < width; i += 1) rows[place * width + i] += vectors[one * width + i];
});
${embeds ? 'rows = Float64Array.from(encoding.embed({ shape: [count, width], data: Float32Array.from(rows) }, positions).data);\n' : ''}const gain = ${packed(norm.gain)};
const shift = ${packed(norm.shift)};
for (let from = 0; from < rows.length; from += width) {
  let [mean, variance] = [0, 0];
  for (let i = 0; i < width; i += 1) mean += rows[from + i];
  mean /= width;
  for (let i = 0; i < width; i += 1) variance += (rows[from + i] - mean) * (rows[from + i] - mean);
  const inverse = 1 / Math.sqrt(variance / width + 1e-5);
  for (let i = 0; i < width; i += 1) rows[from + i] = (rows[from + i] - mean) * inverse * gain[i] + shift[i];
}
// weight [heads, width, headDim], bias [heads, headDim]
const project = (weight, bias) => {
  const data = new Float32Array(count * width);
  for (let head = 0; head < heads; head += 1)
    for (let row = 0; row < count; row += 1)
      for (let column = 0; column < headDim; column += 1) {
        let sum = bias[head * headDim + column];
        for (let i = 0; i < width; i += 1) sum += rows[row * width + i] * weight[(head * width + i) * headDim + column];
        data[(head * count + row) * headDim + column] = sum;
      }
  return { shape: [heads, count, headDim], data };
};
const queries = project(
  ${packed(query.weight)},
  ${packed(query.bias)},
);
const keys = project(
  ${packed(key.weight)},
  ${packed(key.bias)},
);
const values = { shape: [heads, count, ${values}], data: new Float32Array(heads * count * ${values}) };
const { weights } = pe.attention(queries, keys, values, { ${options} });
console.log(JSON.stringify([...weights.data]));
`;
}

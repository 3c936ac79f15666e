// SPDX-License-Identifier: Apache-2.0
// The layer on screen as a program that prints the same weights, number for number.
import { headDimOf, type Question, settingsOf, sightOf, sinkLogits } from '../compute/words.ts';
import { actsAt, actsInAttention, actsNowhere, type EncodingInfo } from '../model/manifest.ts';
import { gridOf } from '../model/places.ts';
import { valueWidth } from '../model/settings.ts';
import { positionsText } from './code.ts';
import { optionsText, randomText } from './random-code.ts';

/** What attention is told and asked, whatever its queries and keys are made of. */
export interface Told {
  /** The encoding and positions, made. */
  readonly made: string;
  /** Whether that takes `randomText`. */
  readonly hasTables: boolean;
  readonly embeds: boolean;
  /** Width of values. */
  readonly values: number;
  readonly options: string;
}
export function toldOf(question: Question, chosen: EncodingInfo): Told {
  const { words, layer, mask, span, part, softcap, sink = 0 } = question;
  const info = part === 'content' || actsNowhere(chosen) ? undefined : chosen;
  const settings = info && settingsOf(info, layer);
  const grid = info && settings && gridOf(info, settings, words.length);
  const given = info && settings && optionsText(info, settings);
  const made =
    info && given
      ? `const encoding = pe.encoding('${info.id}', ${given.text});
const positions = ${positionsText(info, grid, 'count')};
`
      : '';
  const values = info && settings ? valueWidth(info, settings, headDimOf(layer)) : headDimOf(layer);
  const options = [
    'weights: true',
    ...Object.entries(sightOf(mask, span, words.length)).map(
      ([name, value]) => `${name}: ${JSON.stringify(value).replace(/"/g, '')}`,
    ),
    ...(softcap > 0 ? [`softcap: ${softcap}`] : []),
    ...(sink > 0 ? [`sinks: Array(heads).fill(${sinkLogits(sink, 1)[0]})`] : []),
    ...(info && actsInAttention(info)
      ? ['encoding, queryPositions: positions, keyPositions: positions']
      : []),
  ];
  const embeds = info !== undefined && actsAt(info, 'embed');
  return {
    made,
    hasTables: given?.hasTables === true,
    embeds,
    values,
    options: options.join(', '),
  };
}

/** Prints the weights, and with `outputs` what attention computed, heads first. */
export function layerCode(question: Question, chosen: EncodingInfo, outputs = false): string {
  const { words, ids, layer, part } = question;
  const vectors = part === 'position' ? undefined : question.vectors;
  const { made, embeds, values, options } = toldOf(question, chosen);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is one in the program.
  const name = part === 'position' ? "''" : ids ? '`#${ids[place]}`' : 'word.toLowerCase()';
  return `import { load${vectors ? ', readSafetensors' : ''} } from 'posenc';

${randomText}
const pe = await load();
const words = ${JSON.stringify(words)};
${
  ids
    ? `const ids = ${JSON.stringify(ids)};
`
    : ''
}const [heads, width, count] = [${layer.heads}, ${layer.width}, words.length];
const headDim = width / heads;
${made}let rows = new Float32Array(count * width);
${vectors?.program ?? `words.forEach((word, place) => rows.set(normal(hash(${name}), width), place * width));`}
${embeds ? 'rows = encoding.embed({ shape: [count, width], data: rows }, positions).data;\n' : ''}const project = (name) => {
  const matrix = normal(hash(\`${layer.seed}:\${name}\`), width * width, ${layer.sharpness} / Math.sqrt(width));
  const data = new Float32Array(count * width);
  for (let row = 0; row < count; row += 1)
    for (let column = 0; column < width; column += 1) {
      let sum = 0;
      for (let i = 0; i < width; i += 1) sum += rows[row * width + i] * matrix[i * width + column];
      data[(Math.floor(column / headDim) * count + row) * headDim + (column % headDim)] = sum;
    }
  return { shape: [heads, count, headDim], data };
};
const values = ${outputs ? "project('value')" : `{ shape: [heads, count, ${values}], data: new Float32Array(heads * count * ${values}) }`};
const { output, weights } = pe.attention(project('query'), project('key'), values, { ${options} });
console.log(JSON.stringify([...weights.data]));
${outputs ? 'console.log(JSON.stringify([...output.data]));\n' : ''}`;
}

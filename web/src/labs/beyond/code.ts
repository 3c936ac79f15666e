// SPDX-License-Identifier: Apache-2.0
// The frequencies of every method on screen, as a program.
import type { Beyond, Setup } from '../../compute/beyond.ts';
import { optionsOf } from '../../model/settings.ts';

export function beyondCode({ methods }: Beyond, { target }: Setup): string {
  const lines = methods.map(({ info, settings }) => {
    return `  ['${info.id}', ${JSON.stringify(optionsOf(info, settings))}],`;
  });
  return `import { load } from 'posenc';

const pe = await load();
const methods = [
${lines.join('\n')}
];
for (const [id, options] of methods) {
  const { inverseFrequencies, attentionFactor, logitScale } = pe.encoding(id, options).plan(${target});
  console.log(id, attentionFactor ** 2 * logitScale, [...inverseFrequencies]);
}
`;
}

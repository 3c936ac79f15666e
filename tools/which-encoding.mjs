// SPDX-License-Identifier: Apache-2.0
// docs/which-encoding.md: what the published configurations in tests/fixtures/configs say.
// Usage: node tools/which-encoding.mjs [--check]

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { explain, fromConfig } from 'posenc';

const root = new URL('../', import.meta.url);
const folder = new URL('tests/fixtures/configs/', root);
const page = new URL('docs/which-encoding.md', root);

const cell = (text) => text.replaceAll('|', '\\|');

function rows(name) {
  const config = JSON.parse(readFileSync(new URL(name, folder), 'utf8'));
  const model = fromConfig(config);
  const { kinds } = explain(model);
  const trained = model.trainedLength?.toLocaleString('en') ?? 'relative';
  return kinds.map(({ type, count, method }, i) => {
    const kind = model.kinds.get(type);
    const needs = [...(kind.encoding.needs ?? []), ...kind.needs.map(({ what }) => what)];
    const layers =
      kinds.length === 1
        ? 'all'
        : `${type.replace('_attention', '')}${count === undefined ? '' : ` (${count})`}`;
    const { id } = kind.encoding;
    const rest = id === 'none' ? 'no positions' : method.replace(`${id}, `, '');
    const said = [
      i === 0 ? config._name_or_path : '',
      layers,
      `\`${id}\``,
      rest,
      i === 0 ? trained : '',
      needs.join(', '),
    ];
    return `| ${said.map(cell).join(' | ')} |`;
  });
}

const files = readdirSync(folder).sort();
const text = `# Which encoding does my model use?

\`npx posenc explain config.json\` answers for any model, and \`fromConfig\` gives the options to a program. For models known to the test suite, this is the answer; the page is generated from their configurations by \`tools/which-encoding.mjs\`.

"Needs" lists what a configuration cannot hold: trained tables, or something attention does besides. Layouts are those of weights in the format of transformers: files in Meta's own format or GGUF pair neighbouring channels where it says \`half\` for a Llama.

| model | layers | encoding | options | trained length | needs |
|---|---|---|---|---|---|
${files.flatMap(rows).join('\n')}
`;

if (process.argv.includes('--check')) {
  if (readFileSync(page, 'utf8') !== text) {
    process.stderr.write(
      'docs/which-encoding.md is not current: run node tools/which-encoding.mjs\n',
    );
    process.exitCode = 1;
  }
} else writeFileSync(page, text);

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

const rules = [
  ['W01', '`attn_factor`, or two different `mscale`, which transformers does not read'],
  ['W02', 'the legacy key `type`, alone or beside `rope_type`; two dictionaries'],
  [
    'W03',
    'the base is only inside the dictionary, differs from the root, or is missing in a GGUF file',
  ],
  ['W04', 'the dictionary is a number, a text or a list (an error unless `lenient`)'],
  ['W05', '`mrope` written as a method, or sections together with a scaling'],
  ['W06', 'parameters nested by type of layer; a type without any'],
  ['W07', '`original_max_position_embeddings` is missing or differs from that of the root'],
  ['W08', 'factor × original length is not `max_position_embeddings`'],
  ['W09', 'a factor of 1 or less'],
  ['W10', 'lists of LongRoPE that do not ascend (of the wrong length: an error)'],
  ['W11', 'a head width other than width / heads (an odd rotary width: an error)'],
  ['W12', 'a key that no reader knows, with the one that was meant'],
  ['W13', 'frequencies that change with the length: cached keys become stale'],
  ['W14', 'pairs that complete no turn within the trained length'],
  ['W15', 'lengths at which angles in float32 are off by more than 1e-3'],
  ['W16', 'a number in a text, converted because of `lenient`'],
  ['W17', 'a base below 10,000'],
  ['W18', 'a model type that is missing or not known here'],
  ['W19', 'a GGUF file scales its frequencies by a tensor whose data was not passed'],
  ['W20', 'parameters of a scaling without the `rope_type` that says which: nothing scales'],
];

const files = readdirSync(folder).sort();
const text = `# Which encoding does my model use?

\`npx posenc explain config.json\` answers for any model, and \`fromConfig\` gives the options to a program. For models known to the test suite, this is the answer; the page is generated from their configurations by \`tools/which-encoding.mjs\`.

"Needs" lists what a configuration cannot hold: trained tables, or something attention does besides. Layouts are those of weights in the format of transformers: files in Meta's own format or GGUF pair neighbouring channels where it says \`half\` for a Llama.

| model | layers | encoding | options | trained length | needs |
|---|---|---|---|---|---|
${files.flatMap(rows).join('\n')}

## Warnings

A \`warning\` means that some reader of the file computes something else, or that a value is doubtful; a \`note\` is worth knowing.

| code | when |
|---|---|
${rules.map(([code, rule]) => `| ${code} | ${rule} |`).join('\n')}
`;

if (process.argv.includes('--check')) {
  if (readFileSync(page, 'utf8') !== text) {
    process.stderr.write(
      'docs/which-encoding.md is not current: run node tools/which-encoding.mjs\n',
    );
    process.exitCode = 1;
  }
} else writeFileSync(page, text);

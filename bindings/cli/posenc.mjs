#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The command `posenc`: what a model's configuration means for positions, for people and for scripts.

import { compare } from './compare.mjs';
import { readInput } from './input.mjs';
import { report } from './report.mjs';

const help = `Usage: posenc explain <config.json | model.gguf | -> [options]

Says what a model does with positions: method, frequencies, longest wavelength, logits, and what
happens at a length; then every warning. Reads a file or standard input; of a GGUF file the header.

  --length N      look at sequences of N tokens (default: the length the model was trained for)
  --layer-type T  only layers of this type: full_attention, sliding_attention, encoder, …
  --json          print everything as JSON, with the origin of each number
  --diff FILE     print only what differs from another configuration
  --strict        end with 1 if there are warnings
  --help          print this

Exit codes: 0 read; 1 read, and there were warnings under --strict, or differences under --diff;
2 bad usage or input. Notes never count as warnings.
`;

class Usage extends Error {}

const flags = { '--json': 'json', '--strict': 'strict' };
const values = { '--length': 'length', '--layer-type': 'layerType', '--diff': 'diff' };

function parse(words) {
  const given = { files: [] };
  for (let i = 0; i < words.length; ++i) {
    const [word, inline] = /^--[^=]+=/.test(words[i]) ? words[i].split(/=(.*)/s) : [words[i]];
    if (word === '--help' || word === '-h') return { help: true, files: [] };
    if (word in flags && inline === undefined) given[flags[word]] = true;
    else if (word in values) {
      const value = inline ?? words[++i];
      if (value === undefined) throw new Usage(`${word} needs a value`);
      given[values[word]] = value;
    } else if (word.startsWith('-') && word !== '-') throw new Usage(`there is no option ${word}`);
    else given.files.push(word);
  }
  if (given.length !== undefined) {
    const length = Number(given.length.replaceAll('_', ''));
    if (!Number.isSafeInteger(length) || length < 1)
      throw new Usage(`--length must be an integer from 1, got ${given.length}`);
    given.length = length;
  }
  return given;
}

async function main(words) {
  const [command, ...rest] = words;
  const given = parse(command === 'explain' ? rest : words);
  if (given.help || words.length === 0) {
    process.stdout.write(help);
    return words.length === 0 ? 2 : 0;
  }
  if (command !== 'explain') throw new Usage(`there is no command ${command}`);
  if (given.files.length !== 1) throw new Usage('explain takes one file');
  const { layerType, length } = given;
  const options = {
    ...(layerType === undefined ? {} : { layerType }),
    ...(length === undefined ? {} : { length }),
  };
  const model = await readInput(given.files[0], options);
  const colour = process.stdout.isTTY === true && !process.env.NO_COLOR;
  if (given.diff !== undefined) {
    const other = await readInput(given.diff, options);
    const { text, differences } = compare(model, other, given.json === true);
    process.stdout.write(text);
    return differences > 0 ? 1 : 0;
  }
  process.stdout.write(report(model, { ...options, json: given.json === true, colour }));
  const warned = model.warnings.some(({ severity }) => severity === 'warning');
  return given.strict === true && warned ? 1 : 0;
}

// A reader that stops early, such as `head`, is no error.
process.stdout.on('error', (error) => process.exit(error.code === 'EPIPE' ? 0 : 2));

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const hint = error instanceof Usage ? '\nTry posenc --help.' : '';
  process.stderr.write(`posenc: ${error.message}${hint}\n`);
  process.exitCode = 2;
}

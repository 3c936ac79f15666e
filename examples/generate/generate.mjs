#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// node examples/generate/generate.mjs MODEL.bin TOKENIZER.bin [PROMPT] [COUNT]

import { readFileSync } from 'node:fs';
import { load } from 'posenc';
import { readCheckpoint, readTokenizer } from './checkpoint.mjs';
import { generate, Llama } from './llama.mjs';

const [modelFile, tokenizerFile, prompt = '', count = '64'] = process.argv.slice(2);
if (tokenizerFile === undefined) {
  console.error('usage: node generate.mjs MODEL.bin TOKENIZER.bin [PROMPT] [COUNT]');
  process.exit(2);
}
const read = (/** @type {string} */ path) => new Uint8Array(readFileSync(path)).buffer;
const model = readCheckpoint(read(modelFile));
const tokenizer = readTokenizer(read(tokenizerFile), model.vocabulary);
const pe = await load();
const llama = new Llama(pe, model);

const start = tokenizer.encode(prompt);
const room = Math.max(0, model.length - start.length);
const began = performance.now();
let shown = '';
const tokens = generate(llama, start, Math.min(Number(count), room), (all) => {
  // A character can take several tokens, so the whole is decoded again and its end shown.
  const text = tokenizer.decode(all);
  process.stdout.write(text.slice(shown.length));
  shown = text;
});
const seconds = (performance.now() - began) / 1000;
const speed = ((tokens.length - start.length) / seconds).toFixed(0);
console.log(`\n\n${tokens.length} tokens, ${speed} a second`);
llama.dispose();

// SPDX-License-Identifier: Apache-2.0
// GPT-2's vocabulary as a file beside the page, for those who choose byte pairs in Lab 3. It comes from a package of npm that has it as
// ranks of byte sequences, and leaves as what they were made of: which two earlier tokens each token joins, 4 bytes a token instead of 17.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Plugin } from 'vite';

const require = createRequire(import.meta.url);
const source = join(dirname(require.resolve('gpt-tokenizer/package.json')), 'data');
const reader = dirname(dirname(require.resolve('@huggingface/tokenizers')));
const sourceVersion: string = JSON.parse(
  readFileSync(join(source, '../package.json'), 'utf8'),
).version;

/** Tokens of one byte, which join nothing. */
export const singles = 256;
const joined = 50_000;
export const vocabulary = {
  folder: `gpt-2-${sourceVersion}/`,
  file: 'pairs.bin',
  bytes: 4 * joined,
};

/** The two tokens that a token joins: byte-pair encoding of it by earlier tokens alone ends with them. */
function halves(bytes: string, rank: number, ranks: ReadonlyMap<string, number>): [number, number] {
  const parts = [...bytes];
  while (parts.length > 2) {
    let least = rank;
    let at = -1;
    for (let i = 0; i + 1 < parts.length; i += 1) {
      const found = ranks.get(`${parts[i]}${parts[i + 1]}`) ?? rank;
      if (found < least) [least, at] = [found, i];
    }
    if (at < 0) throw new Error(`token ${rank} joins no two earlier ones`);
    parts.splice(at, 2, `${parts[at]}${parts[at + 1]}`);
  }
  return parts.map((part) => ranks.get(part) ?? Number.NaN) as [number, number];
}

/** First all left halves, then all right ones: the ids of tokens, unsigned 16-bit little-endian. */
export function pairsOf(rankedBytes: string): Uint8Array {
  const ranks = new Map<string, number>();
  for (const line of rankedBytes.trim().split('\n')) {
    const [bytes, rank] = line.split(' ');
    ranks.set(Buffer.from(bytes ?? '', 'base64').toString('latin1'), Number(rank));
  }
  if (ranks.size !== singles + joined)
    throw new Error(`expected ${singles + joined} tokens, got ${ranks.size}`);
  const pairs = Buffer.alloc(vocabulary.bytes);
  for (const [bytes, rank] of ranks) {
    if (bytes.length === 1) continue;
    const [left, right] = halves(bytes, rank, ranks);
    pairs.writeUInt16LE(left, 2 * (rank - singles));
    pairs.writeUInt16LE(right, 2 * (rank - singles + joined));
  }
  return pairs;
}
export const gpt2Pairs = (): Uint8Array =>
  pairsOf(readFileSync(join(source, 'r50k_base.tiktoken'), 'utf8'));

export function gpt2Vocabulary(license: string, folderOf: () => string): Plugin {
  return {
    name: 'gpt-2-vocabulary',
    configureServer({ middlewares }) {
      middlewares.use(`/${vocabulary.folder}${vocabulary.file}`, (_, response) => {
        response.setHeader('Content-Type', 'application/octet-stream');
        response.end(gpt2Pairs());
      });
    },
    writeBundle() {
      const folder = join(folderOf(), vocabulary.folder);
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, vocabulary.file), gpt2Pairs());
      const texts = [
        readFileSync(license, 'utf8'),
        'gpt-tokenizer, https://github.com/niieani/gpt-tokenizer, from which the vocabulary was taken:\n',
        readFileSync(join(source, '../LICENSE'), 'utf8'),
        'Tokenizers.js, https://github.com/huggingface/tokenizers.js, which reads it and is part of a script of this page:\n',
        readFileSync(join(reader, 'LICENSE'), 'utf8'),
      ];
      writeFileSync(join(folder, 'LICENSE.txt'), texts.join('\n'));
    },
  };
}

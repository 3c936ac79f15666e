// SPDX-License-Identifier: Apache-2.0
// Texts as tokens of a model: GPT-2's, or those of a tokenizer.json.
import { Tokenizer } from '@huggingface/tokenizers';
import { mostTokens } from './text.ts';

export interface Tokens {
  /** As they are shown. */
  readonly words: readonly string[];
  readonly ids: readonly number[];
  /** Whether the text has more than these. */
  readonly more: boolean;
}
export interface Cutter {
  /** Tokens that it knows. */
  readonly size: number;
  cut(text: string): Tokens;
}

const singles = 256;
const isPrinted = (byte: number): boolean =>
  (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
const bytes = Array.from({ length: singles }, (_, byte) => byte);
const [printed, hidden] = [bytes.filter(isPrinted), bytes.filter((byte) => !isPrinted(byte))];
/** How vocabularies of bytes write each byte: as itself where that can be seen, else as a letter from U+0100 on. In the order of GPT-2's ids. */
const letters = [
  ...printed.map((byte) => String.fromCharCode(byte)),
  ...hidden.map((_, i) => String.fromCharCode(singles + i)),
];
const byteOf = new Map(letters.map((letter, i) => [letter, [...printed, ...hidden][i] as number]));

/** What a tokenizer.json of GPT-2 holds, from which two tokens each token joins (web/gpt-2.ts). */
export function gpt2(pairs: Uint16Array): object {
  const count = pairs.length / 2;
  const tokens = [...letters];
  const merges = Array.from({ length: count }, (_, i) => {
    const pair = [tokens[pairs[i] as number], tokens[pairs[count + i] as number]] as const;
    tokens.push(pair.join(''));
    return pair;
  });
  const end = { id: tokens.length, content: '<|endoftext|>', special: true, normalized: true };
  return {
    added_tokens: [end],
    normalizer: null,
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
    post_processor: null,
    decoder: { type: 'ByteLevel' },
    model: { type: 'BPE', vocab: Object.fromEntries(tokens.map((token, i) => [token, i])), merges },
  };
}

/** What leaves no mark on the screen gets one. */
const visible = (text: string): string =>
  text.replace(/[\s\p{Cc}\p{Cf}]/gu, (sign) => {
    if (sign === ' ') return '␣';
    if (sign === '\n') return '⏎';
    if (sign === '\t') return '⇥';
    return `U+${sign.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`;
  });
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A token of bytes as text; where it is a piece of a character, the bytes themselves. */
function fromBytes(token: string): string {
  const found = [...token].map((letter) => byteOf.get(letter));
  // An added token, which is text.
  if (found.includes(undefined)) return visible(token);
  try {
    return visible(utf8.decode(Uint8Array.from(found as number[])));
  } catch {
    return `⟨${found.map((byte) => byte?.toString(16).toUpperCase().padStart(2, '0')).join(' ')}⟩`;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A cutter of a tokenizer.json that JSON.parse has read; what is no such thing is a RangeError that names the field. */
export function cutterOf(json: unknown): Cutter {
  if (!isObject(json)) throw new RangeError('tokenizer.json must be an object');
  if (!isObject(json.model)) throw new RangeError('tokenizer.json has no model');
  const { vocab, merges, type } = json.model;
  if (typeof vocab !== 'object' || vocab === null)
    throw new RangeError('model.vocab of tokenizer.json must be a list of tokens');
  if (type === 'BPE' && !Array.isArray(merges))
    throw new RangeError('model.merges of tokenizer.json must be a list of pairs');
  const none = { added_tokens: [], normalizer: null, pre_tokenizer: null };
  let tokenizer: Tokenizer;
  try {
    tokenizer = new Tokenizer({ ...none, post_processor: null, decoder: null, ...json }, {});
  } catch (error) {
    throw new RangeError(`tokenizer.json is of no kind that can be used here: ${String(error)}`);
  }
  const ofBytes = JSON.stringify([json.pre_tokenizer, json.decoder]).includes('"ByteLevel"');
  const shown = ofBytes ? fromBytes : (token: string) => visible(token.replaceAll('▁', ' '));
  return {
    size: tokenizer.get_vocab().size,
    cut(text) {
      const { ids, tokens } = tokenizer.encode(text, { add_special_tokens: false });
      if (ids.length === 0) throw new RangeError('the tokeniser makes no token of this text');
      const wrong = ids.findIndex((id) => !Number.isSafeInteger(id) || id < 0);
      if (wrong >= 0)
        throw new RangeError(`the tokeniser has no id for “${tokens[wrong]?.slice(0, 24)}”`);
      return {
        words: tokens.slice(0, mostTokens).map(shown),
        ids: ids.slice(0, mostTokens),
        more: ids.length > mostTokens,
      };
    },
  };
}

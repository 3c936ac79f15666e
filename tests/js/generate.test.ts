// SPDX-License-Identifier: Apache-2.0
/** The example that generates text: its greedy choice is the reference's at every step. */

import { describe, expect, it } from 'vitest';
import { readCheckpoint, readTokenizer } from '../../examples/generate/checkpoint.mjs';
import { generate, Llama } from '../../examples/generate/llama.mjs';
import { golden } from './golden/cases.ts';
import { readFile } from './model/file.ts';
import { run } from './model/llama2c.ts';
import { pe } from './support/instance.ts';
import { expectClose } from './support/numbers.ts';

const weights = await readFile('stories260K.bin');
const vocabulary = await readFile('tok512.bin');
const reference = golden('real_stories260k_logits');
const missing = weights === undefined || vocabulary === undefined || reference === undefined;

describe('a checkpoint', () => {
  it('is refused when it is none', () => {
    expect(() => readCheckpoint(new ArrayBuffer(4))).toThrow(/no header/);
    expect(() => readCheckpoint(new ArrayBuffer(64))).toThrow(/makes no sense/);
    const header = new Int32Array(10);
    header.set([8, 8, 1, 2, 2, 4, 4]);
    expect(() => readCheckpoint(header.buffer)).toThrow(/too early/);
  });
});

describe.skipIf(missing)(
  `text from a trained model${missing ? ', skipped: the files of the model are not here' : ''}`,
  () => {
    if (missing) {
      it('equals the reference', () => {});
      return;
    }
    const model = readCheckpoint(weights);
    const tokenizer = readTokenizer(vocabulary, model.vocabulary);
    const prompt = 'Lily and Tom went to the park.';
    const { inputs, expected, tolerance } = reference;

    function withModel<T>(use: (llama: Llama) => T): T {
      const { live } = pe.info.memory();
      const llama = new Llama(pe, model, 128);
      try {
        return use(llama);
      } finally {
        llama.dispose();
        expect(pe.info.memory().live).toBe(live);
      }
    }

    it('is the likeliest token of the reference at every step', () => {
      const tokens = withModel((llama) => generate(llama, [tokenizer.beginning], 64));
      expect(tokens.slice(1)).toEqual(expected.argmax_every_position);
    });

    it('has the logits of the reference, token by token', () => {
      const logits = withModel((llama) =>
        inputs.tokens.map((token: number) => llama.next([token])),
      );
      const got = inputs.logit_positions.flatMap((t: number) => [...logits[t]]);
      expectClose(got, expected.logits_f64.data, tolerance.f32, 'logits');
    });

    it('is the same from a prompt taken in at once, in pieces and without a cache', () => {
      const tokens = tokenizer.encode(prompt);
      const whole = withModel((llama) => llama.next(tokens));
      const pieces = withModel((llama) => {
        llama.next(tokens.slice(0, 5));
        llama.next(tokens.slice(5, 6));
        return llama.next(tokens.slice(6));
      });
      expectClose(pieces, whole, { rtol: 1e-5, atol: 1e-5 });
      const { logits } = run(pe, model, tokens);
      expectClose(whole, logits[tokens.length - 1], { rtol: 1e-5, atol: 1e-5 });
    });

    it('goes to tokens and back', () => {
      for (const text of ['', prompt, 'Ünï 東', 'two  spaces\nand a line'])
        expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
      expect(tokenizer.encode(prompt).length).toBeLessThan(prompt.length / 2);
    });

    it('is what the README shows', async () => {
      const { execFileSync } = await import('node:child_process');
      const { readFileSync } = await import('node:fs');
      const { fileURLToPath } = await import('node:url');
      const root = fileURLToPath(new URL('../..', import.meta.url));
      const readme = readFileSync(`${root}/README.md`, 'utf8');
      const [, shown] =
        /node examples\/generate\/generate\.mjs [^\n]*\n```\n\n```\n([^`]*)```/.exec(readme) ?? [
          '',
          '',
        ];
      const models = fileURLToPath(new URL('../../../shared/golden/models', import.meta.url));
      const printed = execFileSync(
        process.execPath,
        [
          `${root}/examples/generate/generate.mjs`,
          `${models}/stories260K.bin`,
          `${models}/tok512.bin`,
          prompt,
        ],
        { encoding: 'utf8' },
      );
      expect(shown.length).toBeGreaterThan(100);
      expect(printed.slice(0, shown.length)).toBe(shown);
      expect(printed).toMatch(/\d+ tokens, \d+ a second\n$/);
    });
  },
);

// SPDX-License-Identifier: Apache-2.0
// Byte pairs in Lab 3: GPT-2's ids from the vocabulary as the build writes it, tokens of a visitor's file, and what fails on the way.
import { readFileSync } from 'node:fs';
import { encode } from 'gpt-tokenizer/encoding/r50k_base';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { gpt2Pairs, pairsOf, vocabulary } from '../../web/gpt-2.ts';
import { keptFiles } from '../../web/keep.ts';
import { namesOf, type Question, weightsOf } from '../../web/src/compute/words.ts';
import { cutterOf, gpt2 } from '../../web/src/labs/words/tokenizer.ts';
import { layerCode } from '../../web/src/parts/layer-code.ts';
import { engine, infoOf } from './computed.ts';
import {
  columnsOf,
  copied,
  goTo,
  type Opened,
  PageDriver,
  patience,
  saved,
  settled,
  suitsEverybody,
  wordsTile,
} from './page-driver.ts';
import { run } from './programs.ts';

const pairs = gpt2Pairs();
const cutter = cutterOf(gpt2(new Uint16Array(pairs.buffer, pairs.byteOffset, pairs.length / 2)));

/** A tokenizer.json of bytes with two joins. */
function small(): Record<string, unknown> {
  const vocab = Object.fromEntries(['a', 'b', 'Ġ', 'ab', 'Ġab', 'c'].map((t, id) => [t, id]));
  return {
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
    post_processor: null,
    decoder: { type: 'ByteLevel' },
    model: { type: 'BPE', vocab, merges: ['a b', 'Ġ ab'] },
  };
}

describe('GPT-2’s tokens', () => {
  // Ids by another encoder, which works on byte ranks and knows no merges: the one of gpt-tokenizer.
  it.each([
    'the dog bit the man',
    ' dog  dog\n\n\tdog ',
    "I don't know what it'll be, 1234567 or foo_bar(baz)!?",
    'Grüße aus Österreich, ÄÖÜß café naïve',
    '👩‍👩‍👧 party 🎉🎉 and 日本語のテスト',
    'e\u0301 a\u00a0b \u200b zero',
    'antidisestablishmentarianism'.repeat(9),
    ` ${'z'.repeat(1500)}`,
    '<|endoftext|> is one token',
  ])('are those of another encoder: %j', (text) => {
    const { ids, words, more } = cutter.cut(text);
    const others = encode(text, { allowedSpecial: 'all' });
    expect(ids).toEqual(others.slice(0, 512));
    expect(more).toBe(others.length > 512);
    expect(words).toHaveLength(ids.length);
  });

  it('have the ids that are known by heart', () => {
    expect(cutter.cut('Hello world').ids).toEqual([15496, 995]);
    expect(cutter.cut('<|endoftext|>').ids).toEqual([50256]);
    expect(cutter.size).toBe(50257);
  });

  it('are shown with what cannot be seen', () => {
    expect(cutter.cut('the dog\n\tü').words).toEqual(['the', '␣dog', '⏎', '⇥', 'ü']);
    // An emoji is more than one token, each of them a piece of a character.
    expect(cutter.cut('🦒').words.join('')).toBe('⟨F0 9F⟩⟨A6⟩⟨92⟩');
    expect(cutter.cut('a\u00a0b').words).toEqual(['a', 'U+00A0', 'b']);
  });

  it('are written by the build as the two tokens that each joins', () => {
    const folder = inject('page').folder;
    const { files, late } = keptFiles(folder);
    const name = vocabulary.folder + vocabulary.file;
    expect(readFileSync(`${folder}/${name}`).equals(pairs)).toBe(true);
    expect(pairs.length).toBe(200_000);
    // Kept from its first use on, with its licence beside it.
    expect(late).toContain(name);
    expect(files).not.toContain(name);
    expect(readFileSync(`${folder}/${vocabulary.folder}LICENSE.txt`, 'utf8')).toMatch(
      /OpenAI[\s\S]*MIT License[\s\S]*Apache License/,
    );
    expect(() => pairsOf('IQ== 0\nIg== 1')).toThrow('expected 50256 tokens, got 2');
  });
});

describe('a tokenizer.json', () => {
  it('cuts by its own tokens', () => {
    expect(cutterOf(small()).cut('ab ab c')).toEqual({
      words: ['ab', '␣ab', '␣', 'c'],
      ids: [3, 4, 2, 5],
      more: false,
    });
    const metaspace = {
      ...small(),
      pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always' },
      decoder: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always' },
      model: {
        type: 'BPE',
        vocab: { '▁': 0, a: 1, '▁a': 2, '<unk>': 3 },
        merges: [['▁', 'a']],
        unk_token: '<unk>',
      },
    };
    expect(cutterOf(metaspace).cut('a aa')).toEqual({
      words: ['␣a', '␣a', 'a'],
      ids: [2, 2, 1],
      more: false,
    });
  });

  it('is refused by name where it is none', () => {
    const { model } = small() as { model: object };
    for (const [given, why] of [
      [[], 'must be an object'],
      ['x', 'must be an object'],
      [{}, 'has no model'],
      [{ architectures: ['X'] }, 'has no model'],
      [{ ...small(), model: { ...model, vocab: 3 } }, 'model.vocab'],
      [{ ...small(), model: { ...model, merges: null } }, 'model.merges'],
      [{ ...small(), model: { type: 'Nothing' } }, 'model.vocab'],
      [{ ...small(), pre_tokenizer: { type: 'Nothing' } }, 'no kind that can be used'],
    ] as const)
      expect(() => cutterOf(given), JSON.stringify(given).slice(0, 60)).toThrow(why);
    // Without an unknown token, what it does not know is left out.
    expect(cutterOf(small()).cut('abx').ids).toEqual([3]);
    expect(() => cutterOf(small()).cut('xyz')).toThrow('makes no token of this text');
  });
});

describe('the layer over tokens', () => {
  const question: Question = {
    words: ['The', '␣dog', 'the', '␣dog'],
    ids: [464, 3290, 1169, 3290],
    layer: { heads: 2, width: 16, seed: 3, sharpness: 2 },
    mask: 'causal',
    span: 4,
    part: 'both',
    softcap: 0,
  };
  it('tells tokens apart by their ids alone', () => {
    expect(namesOf(question)).toEqual(['#464', '#3290', '#1169', '#3290']);
    expect(namesOf({ ...question, part: 'position' })).toEqual(['', '', '', '']);
    const weights = weightsOf(engine, { ...question, mask: 'open' }, infoOf('none'));
    const row = (at: number) => [...weights.subarray(4 * at, 4 * at + 4)];
    expect(row(1)).toEqual(row(3));
    // As words they are one, whatever their case.
    expect(row(0)).not.toEqual(row(2));
  });
  it.each(['rope', 'learned', 't5'])('is the same number for number in its code: %s', (id) => {
    for (const part of ['both', 'position'] as const) {
      const asked = { ...question, part };
      const printed = JSON.parse(run(`pairs-${id}-${part}`, layerCode(asked, infoOf(id))).join(''));
      expect(Float32Array.from(printed)).toEqual(weightsOf(engine, asked, infoOf(id)));
    }
  });
});

describe('byte pairs in Lab 3', () => {
  let driver: PageDriver;
  beforeAll(async () => {
    driver = await PageDriver.start();
  });
  afterAll(() => driver?.stop());
  let opened: Opened | undefined;
  afterEach(() => opened?.close());

  async function open(hash: string): Promise<Page> {
    opened = await driver.open(hash, { permissions: ['clipboard-read', 'clipboard-write'] });
    return opened.page;
  }
  const text = 'The+dog+saw+the+dog+🦒';
  const hint = (page: Page) => page.locator('#words-hint');
  const says = (page: Page, what: string | RegExp) =>
    expect.poll(() => hint(page).textContent(), { timeout: patience }).toMatch(what);
  const shown = async (page: Page) => {
    await settled(page);
    return page.locator('#words .line-word[text-anchor="end"]').allTextContents();
  };
  const asksFor = (page: Page) => {
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    return () => asked.filter((url) => url.includes(vocabulary.folder)).length;
  };
  const choose = (page: Page, name: string) =>
    page.locator('#words').getByText(name, { exact: true }).click();
  const give = (page: Page, name: string, content: string | Buffer) =>
    page
      .locator('#words .own-file input[type="file"]')
      .first()
      .setInputFiles({
        name,
        mimeType: 'application/json',
        buffer: Buffer.from(content),
      });

  it('are fetched when they are chosen, once, and shared by a link', async () => {
    const page = await open(`#v1&lab=words&say=${text}`);
    const count = asksFor(page);
    await says(page, '6 words.');
    expect(await page.locator('#words [data-field="cut"]').textContent()).toContain('0.2 MB');
    expect(count()).toBe(0);
    await choose(page, 'Byte pairs');
    await says(page, '8 tokens of GPT-2. Equal ones are equal vectors.');
    const tokens = ['The', '␣dog', '␣saw', '␣the', '␣dog', '␣⟨F0 9F⟩', '⟨A6⟩', '⟨92⟩'];
    const seen = await shown(page);
    expect(seen.slice(0, 5)).toEqual(tokens.slice(0, 5));
    expect(page.url()).toContain('cut=pairs');
    await choose(page, 'Letters');
    await says(page, 'letters');
    await choose(page, 'Byte pairs');
    await says(page, 'tokens of GPT-2');
    expect(count()).toBe(1);

    const ids = encode('The dog saw the dog 🦒');
    const csv = (await saved(page, '#words-body', 'All weights as CSV')).toString();
    const asked: Question = {
      words: ids.map(String),
      ids,
      layer: { heads: 4, width: 64, seed: 1, sharpness: 1.6 },
      mask: 'open',
      span: 4,
      part: 'both',
      softcap: 0,
    };
    expect(columnsOf(csv).get('A')).toEqual([...weightsOf(engine, asked, infoOf('rope'))]);
    const code = await copied(page, () =>
      page.locator('#words').getByRole('button', { name: 'Copy A as code' }).click(),
    );
    expect(JSON.parse(run('pairs-page', code).join(''))).toEqual(columnsOf(csv).get('A'));

    const again = await driver.open(new URL(page.url()).hash);
    await says(again.page, '8 tokens of GPT-2');
    expect(await shown(again.page)).toEqual(await shown(page));
    expect(again.complaints).toEqual([]);
    await again.close();
    expect(opened?.complaints).toEqual([]);
  });

  it('follow what is typed and shuffled, up to 512 of them', async () => {
    const page = await open(`#v1&lab=words&cut=pairs&say=${text}`);
    await says(page, '8 tokens');
    await page.locator('#words').getByRole('button', { name: 'Shuffle the words' }).click();
    await settled(page);
    expect(page.url()).toMatch(/mix=\d(\.\d){7}/);
    expect(await wordsTile(page, 'A when words move')).toBeGreaterThan(1e-3);
    await page.fill('#words-text', ' Leading space');
    await says(page, '2 tokens');
    expect(await shown(page)).toEqual(['␣Leading', '␣space']);
    await page.fill('#words-text', 'w '.repeat(700));
    await says(page, 'The first 512 tokens are used.');
    expect(opened?.complaints).toEqual([]);
  });

  it('say that they do not come, leave words as they are, and come when asked again', async () => {
    const page = await open(`#v1&lab=words&say=${text}`);
    await says(page, '6 words.');
    const where = `**/${vocabulary.folder}**`;
    const status = page.locator('#words .words-status');
    for (const [answer, why] of [
      [{ status: 404, body: 'gone' }, 'the server says 404'],
      [{ status: 200, body: '<html>' }, '6 bytes came where 200000 belong'],
    ] as const) {
      await page.route(where, (route) => route.fulfill(answer));
      await choose(page, 'Words');
      await choose(page, 'Byte pairs');
      await expect
        .poll(() => status.textContent(), { timeout: patience })
        .toContain(`GPT-2’s tokens did not come: ${why}. These are words.`);
      await says(page, '6 words.');
      await page.unroute(where);
    }
    expect(await page.locator('#words-body > .control-error').isHidden()).toBe(true);
    await page.fill('#words-text', 'words go on');
    await says(page, '3 words.');
    await status.getByRole('button', { name: 'Try again' }).click();
    await says(page, '3 tokens of GPT-2');
    expect((await status.locator('p').textContent()) ?? '').toBe('');
    // The 404 is reported by the browser too.
    expect(opened?.complaints.filter((one) => !one.includes('404'))).toEqual([]);
  });

  it('are those of a visitor’s tokenizer.json until it is put away', async () => {
    const page = await open('#v1&lab=words&say=ab+ab+c');
    const panel = page.locator('#words .own-file').first();
    await give(page, 'mine.json', JSON.stringify(small()));
    await says(page, '4 tokens of mine.json.');
    expect(await shown(page)).toEqual(['ab', '␣ab', '␣', 'c']);
    expect(await panel.textContent()).toContain('mine.json, which knows 6 tokens. A link does not');
    expect(page.url()).toContain('cut=pairs');

    // What is no tokenizer.json says so, and the one before stays.
    for (const [name, content, why] of [
      ['bad.json', '{"a":', 'it is no JSON'],
      ['config.json', '{"hidden_size": 8}', 'tokenizer.json has no model'],
      ['large.json', Buffer.alloc(20_000_001, 32), 'it is 20.0 MB long'],
    ] as const) {
      await give(page, name, content);
      await expect
        .poll(() => panel.locator('.control-error').textContent(), { timeout: patience })
        .toContain(`${name} is not used: ${why}`);
      await says(page, '4 tokens of mine.json.');
    }
    await page.fill('#words-text', 'x-y');
    const status = page.locator('#words .words-status');
    await expect
      .poll(() => status.textContent(), { timeout: patience })
      .toMatch(
        /^This text is not cut: the tokeniser makes no token of this text. These are words\./,
      );
    await says(page, '1 words.');
    await page.fill('#words-text', 'ab');
    await says(page, '1 tokens of mine.json.');

    // Dropped onto the lab it is taken as well.
    const other = { ...small(), added_tokens: [{ id: 6, content: 'ab', special: false }] };
    await page.evaluate((content) => {
      const data = new DataTransfer();
      data.items.add(new File([content], 'dropped.json'));
      const where = document.querySelector('#words-body') as HTMLElement;
      for (const kind of ['dragover', 'drop'])
        where.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true }));
    }, JSON.stringify(other));
    await says(page, '1 tokens of dropped.json.');
    expect(await panel.locator('.control-error').isHidden()).toBe(true);

    // A pattern without an end is given up, by a limit of 20 s.
    await page.clock.install();
    const endless = {
      ...small(),
      pre_tokenizer: { type: 'Split', pattern: { Regex: '^(a+)+$' }, behavior: 'Isolated' },
    };
    await give(page, 'endless.json', JSON.stringify(endless));
    await expect.poll(() => panel.textContent(), { timeout: patience }).toContain('endless.json,');
    await page.fill('#words-text', `${'a'.repeat(60)}!`);
    await page.clock.fastForward(21_000);
    await expect
      .poll(() => panel.locator('.control-error').textContent(), { timeout: patience })
      .toContain('endless.json is not used: no answer came within 20 s.');
    await page.clock.runFor(1000);
    await says(page, /tokens of GPT-2/);
    expect(opened?.complaints).toEqual([]);
  });

  it('go back to GPT-2’s by a button, and suit everybody', async () => {
    const page = await open('#v1&lab=words&say=ab+ab+c');
    await give(page, `${'long'.repeat(40)}.json`, JSON.stringify(small()));
    await says(page, '4 tokens of long');
    expect(await suitsEverybody(page, 'words')).toEqual([]);
    const back = page.getByRole('button', { name: 'Back to GPT-2’s tokens' });
    await back.focus();
    await page.keyboard.press('Enter');
    await says(page, 'tokens of GPT-2');
    expect(await back.isHidden()).toBe(true);
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(
      'Use a tokenizer.json…',
    );
    await goTo(page, '#v1&lab=words');
    await says(page, '12 words.');
    expect(opened?.complaints).toEqual([]);
  });

  it('are there without a network once they have been used', async () => {
    const worked = await driver.open('#v1&lab=words&cut=pairs', { serviceWorkers: 'allow' });
    const { page } = worked;
    await page.waitForFunction(
      () => document.querySelector('#offline-info')?.textContent !== '',
      undefined,
    );
    await page.reload();
    await says(page, 'tokens of GPT-2');
    const isKept = () =>
      page.evaluate(async (name) => {
        const address = new URL(name, document.baseURI).href;
        return (await caches.match(address)) !== undefined;
      }, vocabulary.folder + vocabulary.file);
    await expect.poll(isKept, { timeout: patience }).toBe(true);
    await worked.close();
  });
});

// SPDX-License-Identifier: Apache-2.0
// Lab 3: maps of attention under two encodings, moved words, blanked contents, and the program that gives the same weights.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { restOf, variation } from '../../web/src/compute/weight-maps.ts';
import { kept, type Mask, type Question, weightsOf } from '../../web/src/compute/words.ts';
import { wordCount } from '../../web/src/labs/notices.ts';
import { wordsNotice } from '../../web/src/labs/words/notice.ts';
import { orderFrom, orderText, tokensOf } from '../../web/src/labs/words/text.ts';
import { layerCode } from '../../web/src/parts/layer-code.ts';
import { engine, infoOf, manifest } from './computed.ts';
import {
  copied,
  goTo,
  type Opened,
  PageDriver,
  saved,
  savedWeights,
  settled,
  suitsEverybody,
  wordsTile,
} from './page-driver.ts';
import { run, runAll } from './programs.ts';

const weightsIn = (lines: string[]): number[] => JSON.parse(lines.join(''));

const words = 'one two three two one'.split(' ');
const question: Question = {
  words,
  layer: { heads: 4, width: 64, seed: 1, sharpness: 1.6 },
  mask: 'open',
  span: 2,
  part: 'both',
  softcap: 0,
};

/** What each mask means, key by key. */
function sees(mask: Mask, span: number, query: number, key: number): boolean {
  if (mask === 'prefix') return key <= query || key < span;
  return (
    key <= query && (mask === 'causal' || query - key < span || (mask === 'first' && key < kept))
  );
}

describe('the layer over words', () => {
  it.each(manifest.map((info) => info.id))('takes %s, and gives rows that sum to one', (id) => {
    const weights = weightsOf(engine, question, infoOf(id));
    expect(weights).toHaveLength(4 * 25);
    for (let row = 0; row < 20; row += 1)
      expect(weights.subarray(5 * row, 5 * row + 5).reduce((sum, w) => sum + w, 0)).toBeCloseTo(
        1,
        5,
      );
  });

  it('takes every encoding on 8 heads of 64', () => {
    const wide = { ...question, layer: { ...question.layer, heads: 8, width: 512 } };
    for (const info of manifest) {
      const weights = weightsOf(engine, wide, info);
      for (let row = 0; row < 40; row += 1)
        expect(
          weights.subarray(5 * row, 5 * row + 5).reduce((sum, w) => sum + w, 0),
          info.id,
        ).toBeCloseTo(1, 5);
    }
  });

  it('hides what a mask hides', () => {
    for (const mask of ['causal', 'window', 'first', 'prefix'] as const) {
      const weights = weightsOf(engine, { ...question, mask }, infoOf('rope'));
      for (let i = 0; i < weights.length; i += 1)
        expect((weights[i] as number) > 0, `${mask} ${i}`).toBe(
          sees(mask, 2, Math.floor(i / 5) % 5, i % 5),
        );
    }
  });

  it('bends scores by a soft cap, before biases', () => {
    const logits = (softcap: number, row = 0) => {
      const weights = weightsOf(engine, { ...question, softcap }, infoOf('none'));
      return [...weights.subarray(row * 5, row * 5 + 5)].map((weight) => Math.log(weight));
    };
    const [plain, bent] = [logits(0), logits(0.5)];
    const differences = (row: number[]) => row.map((value) => value - (row[0] as number));
    expect(Math.max(...differences(bent).map(Math.abs))).toBeLessThanOrEqual(1);
    expect(differences(bent)).not.toEqual(differences(plain));
    // cap · tanh(s / cap) keeps the order of scores.
    const order = (row: number[]) =>
      row.map((_, i) => i).sort((i, j) => (row[j] ?? 0) - (row[i] ?? 0) || i - j);
    expect(order(bent.map((x) => Number(x.toFixed(5))))).toEqual(
      order(plain.map((x) => Number(x.toFixed(5)))),
    );
  });

  it('lets a sink take its share of every row, and changes nothing between words', () => {
    const of = (sink: number) => weightsOf(engine, { ...question, sink }, infoOf('rope'));
    const [plain, one, two] = [of(0), of(1), of(2)] as [Float32Array, Float32Array, Float32Array];
    for (let row = 0; row < 20; row += 1) {
      const at = (weights: Float32Array) => restOf(weights, 5, row);
      // s / (Z + s): twice the sink, half the odds against it.
      expect((1 / at(one) - 1) / (1 / at(two) - 1)).toBeCloseTo(2, 3);
      for (let i = 5 * row; i < 5 * row + 5; i += 1)
        expect((one[i] as number) / (1 - at(one))).toBeCloseTo(plain[i] as number, 5);
    }
    expect([...variation(Float32Array.of(0.5, 0, 0, 1), Float32Array.of(1, 0, 0, 1), 2)]).toEqual([
      0.5, 0,
    ]);
  });

  it('is flat where nothing but place counts and no place is told', () => {
    for (const weight of weightsOf(engine, { ...question, part: 'position' }, infoOf('none')))
      expect(weight).toBeCloseTo(0.2, 6);
    const blind = weightsOf(engine, { ...question, part: 'content' }, infoOf('rope'));
    expect(blind).toEqual(weightsOf(engine, question, infoOf('none')));
  });

  it('measures how much lies elsewhere', () => {
    expect([
      ...variation(Float32Array.of(1, 0, 0.5, 0.5), Float32Array.of(0, 1, 0.5, 0.5), 2),
    ]).toEqual([1, 0]);
  });

  it('is the same number for number in its code', () => {
    const ids: readonly string[] = ['rope', 'learned', 't5', 'alibi', 'rope-2d', 'none'];
    const asked = (id: string): Question => {
      const mask = ({ alibi: 'first', t5: 'window', rope: 'prefix' } as const)[id] ?? 'open';
      return {
        ...question,
        mask,
        softcap: id === 'rope' ? 2 : 0,
        sink: id === 't5' ? 1.5 : 0,
      };
    };
    const printedBy = runAll(
      new Map(ids.map((id) => [`words-${id}`, layerCode(asked(id), infoOf(id))])),
    );
    expect(run('words-alone', layerCode(asked('t5'), infoOf('t5')))).toEqual(printedBy('words-t5'));
    for (const id of ids)
      expect(Float32Array.from(weightsIn(printedBy(`words-${id}`))), id).toEqual(
        Float32Array.from(weightsOf(engine, asked(id), infoOf(id))),
      );
  });

  it('reads texts and orders', () => {
    expect(tokensOf(' a  b\nc ', 'words')).toEqual(['a', 'b', 'c']);
    expect(tokensOf('a b', 'letters')).toEqual(['a', '␣', 'b']);
    expect(tokensOf('x '.repeat(900), 'words')).toHaveLength(512);
    expect(orderFrom('2.0.1', 3)).toEqual([2, 0, 1]);
    for (const wrong of ['', '0.1', '0.0.1', '0.1.x', '0.1.3'])
      expect(orderFrom(wrong, 3)).toEqual([0, 1, 2]);
    expect(orderText([0, 1])).toBe('');
  });

  it('is noticed in at most forty words', () => {
    const flags = [true, false];
    for (const part of ['both', 'content', 'position'] as const)
      for (const moved of flags)
        for (const masked of flags)
          for (const a of [0, 0.5])
            for (const b of [0, 0.5])
              for (const title of manifest.map((info) => info.title))
                expect(
                  wordCount(
                    wordsNotice({
                      names: [title, title],
                      part,
                      moved,
                      masked,
                      rigid: [a, b],
                      mean: 0.3,
                      most: { word: 'word', share: 0.5 },
                      sunk: masked ? [a, b] : undefined,
                      found: moved ? undefined : [1 - a, b],
                    }),
                  ),
                ).toBeLessThanOrEqual(40);
  });
});

describe('Lab 3', () => {
  let driver: PageDriver;
  let opened: Opened;
  let page: Page;
  beforeAll(async () => {
    driver = await PageDriver.start();
    opened = await driver.open('#v1&lab=words', {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    page = opened.page;
    await settled(page);
  });
  afterAll(() => driver?.stop());
  const tile = (name: string) => wordsTile(page, name);
  const weights = () => savedWeights(page);

  it('compares an encoding with none, and tells by a shuffle which sees order', async () => {
    expect(await page.locator('#words-a').inputValue()).toBe('rope');
    expect(await page.locator('#words-b').inputValue()).toBe('none');
    const shown = await weights();
    const asked: Question = {
      ...question,
      words: 'the animal did not cross the street because the animal was tired'.split(' '),
    };
    expect(shown.get('A')).toEqual([...weightsOf(engine, asked, infoOf('rope'))]);
    expect(shown.get('B')).toEqual([...weightsOf(engine, asked, infoOf('none'))]);
    expect(await tile('Attention elsewhere')).toBeGreaterThan(0.05);
    await page.locator('#words').getByRole('button', { name: 'Shuffle the words' }).click();
    expect(await tile('A when words move')).toBeGreaterThan(1e-3);
    expect(await tile('B when words move')).toBeLessThan(1e-5);
    expect(await page.locator('#words .notice-text').textContent()).toContain(
      'moved along rigidly',
    );
    await page.locator('#words').getByText('Words only').click();
    expect(await tile('Attention elsewhere')).toBe(0);
    await page.locator('#words').getByText('Words and places').click();
    await page.locator('#words').getByRole('button', { name: 'As typed' }).click();
  });

  it('chooses a word and a head by keyboard, and reads them out', async () => {
    const map = page.locator('#words .stage.square').first();
    await map.focus();
    for (const key of ['ArrowDown', 'ArrowRight', 'ArrowRight', 'Enter'])
      await page.keyboard.press(key);
    await settled(page);
    expect(await page.locator('#words .row-view h3').textContent()).toBe(
      'animal looks at, place 2 of 12',
    );
    expect(await page.locator('.words-readout').textContent()).toMatch(
      /^animal → did: A \d+\.\d %, B/,
    );
    const rows = await page.locator('.shares tbody tr td:nth-child(2) .number').allInnerTexts();
    const shares = rows.map(Number.parseFloat);
    expect(shares).toEqual([...shares].sort((a, b) => b - a));
    expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(100, 0);
    await page.locator('#words-head--1').focus();
    await page.keyboard.press('ArrowRight');
    await settled(page);
    expect(await page.locator('#words-head-0').isChecked()).toBe(true);
    expect(page.url()).toContain('one=0');
  });

  it('takes every encoding on either side, masks, letters and long texts, and shares them', async () => {
    for (const { id } of manifest) {
      await page.selectOption('#words-b', id);
      await settled(page);
      expect(await page.locator('#words-body > .control-error').isHidden(), id).toBe(true);
    }
    for (const name of ['Causal', 'Window', 'First + window', 'Prefix', 'Letters']) {
      await page.locator('#words').getByText(name, { exact: true }).click();
      await settled(page);
    }
    await page.selectOption('#words-a', 'alibi');
    await page.selectOption('#words-b', 't5');
    await settled(page);
    const again = await driver.open(new URL(page.url()).hash);
    await settled(again.page);
    const text = (one: Page) => one.locator('#words .tiles').textContent();
    expect(await text(again.page)).toBe(await text(page));
    expect(again.complaints).toEqual([]);
    await again.close();
    for (const typed of ['alone', '<img src=x onerror=alert(1)>', 'w '.repeat(700)]) {
      await page.fill('#words-text', typed);
      await settled(page);
      expect(await page.locator('#words-body > .control-error').isHidden(), typed).toBe(true);
    }
    expect(await page.locator('#words-body img').count()).toBe(0);
  });

  it('shows what a learned sink takes', async () => {
    await goTo(page, '#v1&lab=words&say=one+two+two');
    expect(await page.locator('#words .tile').count()).toBe(3);
    await page.locator('#words [data-field="sink"] input.exact').fill('1');
    expect(await tile('Into the sink')).toBeGreaterThan(0.01);
    expect(await page.locator('#words .notice-text').textContent()).toMatch(
      /^The sink takes \d+ %/,
    );
    const shares = await page.locator('.shares tbody td:nth-child(2) .number').allInnerTexts();
    expect(shares.map(Number.parseFloat).reduce((sum, share) => sum + share)).toBeCloseTo(100, 0);
    expect(await page.locator('.shares .sunk th').textContent()).toBe('the sink');
    await page.locator('#words [data-field="sink"] input.exact').press('Enter');
    expect(page.url()).toContain('sink=1');
  });

  it('computes and paints 256 words under 8 heads at once', async () => {
    const many = Array.from({ length: 256 }, (_, i) => `w${i % 90}`).join('+');
    await goTo(page, `#v1&lab=words&heads=8&width=512&say=${many}`);
    const took = await page.evaluate(async () => {
      const times: [number, number][] = [];
      for (const seed of [2, 3, 4, 5, 6, 7, 8]) {
        const field = document.querySelector(
          '#words [data-field="seed"] input.exact',
        ) as HTMLInputElement;
        field.value = String(seed);
        const start = performance.now();
        field.dispatchEvent(new Event('input'));
        await new Promise(requestAnimationFrame);
        const computed = performance.now() - start;
        await new Promise(requestAnimationFrame);
        times.push([computed, performance.now() - start]);
      }
      const middle = (which: 0 | 1) => times.map((one) => one[which]).sort((a, b) => a - b)[3] ?? 0;
      return [middle(0), middle(1)] as const;
    });
    console.log(
      `256 words, 8 heads of 64, two encodings: computed after ${took[0].toFixed(0)} ms, all painted after ${took[1].toFixed(0)} ms; a frame is included in the first, two in the second`,
    );
    expect(await page.locator('#words-body > .control-error').isHidden()).toBe(true);
    expect(opened.complaints).toEqual([]);
  });

  it('saves its maps and suits everybody', async () => {
    await goTo(page, '#v1&lab=words');
    const program = await copied(page, () =>
      page.locator('#words').getByRole('button', { name: 'Copy B as code' }).click(),
    );
    const printed = weightsIn(run('words-page', program));
    const shown = (await weights()).get('B');
    expect(printed.length).toBe(shown?.length);
    expect(printed).toEqual(shown);
    expect((await saved(page, '#words-body', 'Maps as PNG')).subarray(1, 4).toString()).toBe('PNG');
    expect(await suitsEverybody(page, 'words')).toEqual([]);
    expect(opened.complaints).toEqual([]);
  });
});

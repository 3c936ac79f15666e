// SPDX-License-Identifier: Apache-2.0
// Trained heads in Lab 3: they attend as the decoder did in Lab 6, their file is checked before anything is drawn of it, and
// everything the lab does with random projections works with them.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { load } from '../../dist/index.node.js';
import { type Part, weightsOf } from '../../web/src/compute/words.ts';
import { earlier, looksLike, runsLike } from '../../web/src/labs/train/earlier.ts';
import { usualPupils } from '../../web/src/labs/train/pupils.ts';
import { questionOf } from '../../web/src/labs/words/measure.ts';
import { provenanceText, readingOf } from '../../web/src/labs/words/provenance.ts';
import { trainedCode } from '../../web/src/labs/words/trained-code.ts';
import { fallbacks } from '../../web/src/model/keys.ts';
import { openWeights, WeightsError, weightsFile } from '../../web/src/model/safetensors.ts';
import type { Package } from '../../web/src/train/decoder.ts';
import { headsFile, readHeads, type TrainedHeads } from '../../web/src/train/heads.ts';
import { askedAt, fixed, Run } from '../../web/src/train/run.ts';
import { askedIn, readSequence, sampleOf } from '../../web/src/train/symbols.ts';
import { labelsOf, probeOf, sourcesOf, tasks } from '../../web/src/train/tasks.ts';
import { engine, infoOf, manifest } from './computed.ts';
import {
  copied,
  goTo,
  type Opened,
  PageDriver,
  patience,
  saved,
  savedWeights,
  settled,
  suitsEverybody,
  wordsTile,
} from './page-driver.ts';
import { root } from './page-server.ts';
import { run, runAll } from './programs.ts';

const before = await earlier();
const usual = usualPupils(manifest);

const folder = `${root}web/src/labs/words/trained/`;
const bytesOf = (name: string): Uint8Array =>
  Uint8Array.from(readFileSync(`${folder}${name}.safetensors`));
const names = readdirSync(folder).map((name) => name.replace('.safetensors', ''));
const shipped = new Map(names.map((name) => [name, readHeads(bytesOf(name), manifest)]));
const headsOf = (name: string) => shipped.get(name) as TrainedHeads;
/** The one of copying that turns queries and keys. */
const turning = `copy-${usual[2]}`;

const values = { ...fallbacks, hide: 'causal' as const };
/** The map of trained heads over symbols, under an encoding: [heads, symbols, symbols]. */
const attended = (heads: TrainedHeads, words: readonly string[], id: string, part: Part = 'both') =>
  weightsOf(engine, { ...questionOf(values, words, undefined, heads), part }, infoOf(id));
const farthest = (a: Float32Array, b: Float32Array): number => {
  expect(a.length).toBe(b.length);
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - (b[i] as number))), 0);
};

describe('the files', () => {
  it('are there for every task and usual encoding, small, and say where they come from', () => {
    expect(names.sort()).toEqual(
      tasks.flatMap((task) => usual.map((id) => `${task}-${id}`)).sort(),
    );
    for (const [name, heads] of shipped) {
      expect(bytesOf(name).length).toBeLessThanOrEqual(150_000);
      const { task, encoding, steps, seed, longest, lengths, asked, right } = heads.provenance;
      expect(`${task}-${encoding}`).toBe(name);
      // The decoder is the one whose runs the training lab shows.
      const known = runsLike(before, { task, longest }, encoding).find(
        ({ setup }) => setup.seed === seed,
      );
      expect(known?.exams.find(({ step }) => step === steps)?.right).toEqual(right);
      expect(asked).toEqual(askedAt(task, longest));
      expect(lengths).toHaveLength(right.length);
      const text = provenanceText(heads);
      for (const part of [
        infoOf(encoding).title,
        `${steps} steps`,
        `seed ${seed}`,
        'node tools/heads.mjs',
        heads.provenance.made,
      ])
        expect(text).toContain(part);
    }
  });

  it('attend as Lab 6 shows it', () => {
    for (const [name, heads] of shipped) {
      const { task, longest, seed, steps, encoding } = heads.provenance;
      const words = labelsOf(task, probeOf(task, longest));
      const shown = looksLike(before, { task, longest, seed, steps }, encoding).at(-1);
      expect(shown?.step).toBe(steps);
      // Lab 6 keeps these maps as bytes: half of 1/255, and rounding.
      expect(
        farthest(attended(heads, words, encoding), shown?.weights as Float32Array),
        name,
      ).toBeLessThan(0.5 / 255 + 1e-5);
    }
  });

  it('attend as the decoder they are made of, to the rounding of float32', async () => {
    const pe = (await load()) as unknown as Package;
    for (const task of tasks)
      for (const id of usual) {
        const setup = { task, longest: 8, seed: 3, steps: 25 };
        const one = new Run(pe, infoOf(id), setup);
        let exam: ReturnType<Run['advance']>;
        while (!one.finished) exam = one.advance() ?? exam;
        const file = headsFile(one.parts, fixed.heads, infoOf(id), setup, {
          asked: askedAt(task, 8),
          right: exam?.right ?? [],
          made: '2026-11-30',
          command: 'a test',
          package: 'posenc',
        });
        const words = readSequence(task, sampleOf(task, 8), 512).labels;
        const looked = one.look();
        one.dispose();
        // Weights are at most 1, scores a few units: both sides round to 24 bits.
        expect(
          farthest(attended(readHeads(file, manifest), words, id), looked),
          `${task} ${id}`,
        ).toBeLessThan(2e-6);
      }
  });

  it('are refused with what of them is wrong', () => {
    const good = openWeights(bytesOf(turning));
    const tensors = new Map([...good.tensors.keys()].map((name) => [name, good.read(name)]));
    const refused = (bytes: Uint8Array): WeightsError => {
      try {
        readHeads(bytes, manifest);
      } catch (error) {
        expect(error).toBeInstanceOf(WeightsError);
        return error as WeightsError;
      }
      return expect.unreachable('it must be refused');
    };
    expect(readHeads(weightsFile(tensors, good.metadata), manifest).heads).toBe(2);
    for (const name of tensors.keys()) {
      const less = new Map([...tensors].filter(([other]) => other !== name));
      expect(refused(weightsFile(less, good.metadata)).tensor).toBe(name);
      const { shape, data } = tensors.get(name) as { shape: number[]; data: Float32Array };
      for (const wrong of [
        { shape: [data.length + 1], data: new Float32Array(data.length + 1) },
        { shape, data: data.map((value, i) => (i === 3 ? Number.NaN : value)) },
      ])
        expect(
          refused(weightsFile(new Map([...tensors, [name, wrong]]), good.metadata)).tensor,
        ).toBe(name);
    }
    for (const name of Object.keys(good.metadata))
      for (const value of [undefined, '', '-1', '[1,"2"]', 'nonsense'.repeat(200)]) {
        const { [name]: _, ...rest } = good.metadata;
        const file = weightsFile(tensors, value === undefined ? rest : { ...rest, [name]: value });
        // A text may be any.
        if (value?.length && value.length < 99 && ['made', 'command', 'package'].includes(name))
          expect(() => readHeads(file, manifest)).not.toThrow();
        else expect(refused(file).message).toContain(`“${name}” in the header must be`);
      }
    for (const size of [0, 7, 100, 5000]) refused(bytesOf(turning).subarray(0, size));
  });

  it('are made by a tool that says what it takes', () => {
    for (const wrong of [['0'], ['x'], ['25', '-1'], ['25', '1', '2']]) {
      const { status, stderr } = spawnSync(process.execPath, [`${root}tools/heads.mjs`, ...wrong], {
        encoding: 'utf8',
      });
      expect([status, stderr]).toEqual([2, expect.stringContaining('[STEPS from 1 to 10000')]);
    }
  });
});

describe('sequences', () => {
  it.each(tasks)('of %s are typed as they are shown', (task) => {
    const probe = probeOf(task, 16);
    const labels = labelsOf(task, probe);
    expect(readSequence(task, sampleOf(task, 16), 512)).toEqual({
      labels,
      strange: [],
      more: false,
    });
    expect(readSequence(task, sampleOf(task, 16), 5)).toMatchObject({
      labels: labels.slice(0, 5),
      more: true,
    });
    const asked = askedIn(task, labels);
    expect([...asked.tokens]).toEqual([...probe.tokens]);
    expect([...asked.beside]).toEqual([...probe.beside]);
    expect([...sourcesOf(task, asked)]).toEqual([...sourcesOf(task, probe)]);
  });
  it('leave out what is none of the task, and say so', () => {
    expect(readSequence('copy', 'aB c!q', 9)).toEqual({
      labels: ['a', 'b', 'c'],
      strange: ['!', 'q'],
      more: false,
    });
    const recall = readSequence('recall', '007=c 127? 128? 3=i 3 3= x=a 9=h', 9);
    expect(recall.labels).toEqual(['7=c', '127?', '9=h']);
    expect(recall.strange).toEqual(['128?', '3=i', '3', '3=', 'x=a']);
    // A key asked for that was not shown has no place.
    expect([...askedIn('recall', ['1=a', '2?', '1?', '2?']).rows]).toEqual([2]);
    const heads = headsOf(turning);
    expect(readingOf(heads, 'a b')).toMatchObject({ words: ['a', 'b'], strange: false });
    const strange = readingOf(heads, '<img src=x>');
    expect(strange.hint).toMatch(
      /^“<”, “s”, “r”, “=”, “x”, 1 more are no symbols of this task and left out/,
    );
    expect(readingOf(heads, '!!').words).toEqual(readingOf(heads, '').words);
  });
});

describe('the code', () => {
  it('of trained heads prints the same weights, number for number', () => {
    const asked = new Map(
      names.flatMap((name) =>
        [...usual, 't5', 'rope-2d'].map(
          (id) => [`heads-${name}-${id}`, [name, id, 'both']] as const,
        ),
      ),
    ) as Map<string, readonly [string, string, Part]>;
    for (const part of ['content', 'position'] as const)
      asked.set(`heads-${part}`, [`recall-${usual[1]}`, usual[1] as string, part]);
    const words = (heads: TrainedHeads) => readingOf(heads, '').words;
    const printed = runAll(
      new Map(
        [...asked].map(([key, [name, id, part]]) => {
          const heads = headsOf(name);
          const question = { ...questionOf(values, words(heads), undefined, heads), part };
          return [key, trainedCode(question, heads, infoOf(id))];
        }),
      ),
    );
    for (const [key, [name, id, part]] of asked)
      expect(Float32Array.from(JSON.parse(printed(key).join(''))), key).toEqual(
        Float32Array.from(attended(headsOf(name), words(headsOf(name)), id, part)),
      );
  });
});

describe('Lab 3 with trained heads', () => {
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
  const fetched = () => opened.requests.filter((address) => address.includes('.safetensors'));
  const tile = (name: string) => wordsTile(page, name);
  const weights = () => savedWeights(page);
  const about = (one: Page = page) => one.locator('#words-heads-about').textContent();

  it('fetches them when chosen, and draws them with what they were trained with', async () => {
    expect(fetched()).toEqual([]);
    expect(await page.locator('#words-heads option').count()).toBe(names.length + 1);
    await page.locator('#words-heads').focus();
    await page.selectOption('#words-heads', `copy-${usual[3]}`);
    await expect.poll(about, { timeout: patience }).toContain('400 steps');
    await settled(page);
    expect(fetched()).toHaveLength(1);
    expect(await page.locator('#words-a').inputValue()).toBe(usual[3]);
    await page.selectOption('#words-heads', turning);
    await expect.poll(about, { timeout: patience }).toContain(infoOf(usual[2] as string).title);
    await settled(page);
    expect(await page.locator('#words-a').inputValue()).toBe(usual[2]);
    const heads = headsOf(turning);
    const sample = sampleOf('copy', heads.provenance.longest);
    expect(await page.locator('#words-text').inputValue()).toBe(sample);
    expect(await page.locator('#words [data-field="width"]').isVisible()).toBe(false);
    const shown = await weights();
    const words = sample.split(' ');
    expect(shown.get('A')).toEqual([...attended(heads, words, usual[2] as string)]);
    expect(shown.get('B')).toEqual([...attended(heads, words, 'none')]);
    expect(await tile('A on the answer')).toBeGreaterThan(0.4);
    expect(await page.locator('#words .notice-text').textContent()).toMatch(
      /^The place that holds the answer gets \d+ % of attention under A and/,
    );
    // A mean and two heads.
    expect(await page.locator('#words .head-item').count()).toBe(3);
    const rows = await page.locator('.shares tbody tr td:nth-child(2) .number').allInnerTexts();
    expect(rows.map(Number.parseFloat).reduce((sum, share) => sum + share, 0)).toBeCloseTo(100, 0);
  });

  it('moves, and tells its positions another way', async () => {
    await page.locator('#words').getByRole('button', { name: 'Shuffle the words' }).click();
    await settled(page);
    expect(await tile('A when words move')).toBeGreaterThan(1e-3);
    expect(page.url()).toContain('mix=');
    await page.locator('#words').getByRole('button', { name: 'As typed' }).click();
    await page.selectOption('#words-b', usual[3] as string);
    await settled(page);
    const { words } = readingOf(headsOf(turning), '');
    expect((await weights()).get('B')).toEqual([
      ...attended(headsOf(turning), words, usual[3] as string),
    ]);
  });

  it('reads what is typed of its alphabet, and says what is not', async () => {
    await page.fill('#words-text', 'abba? pq');
    await settled(page);
    expect(await page.locator('#words-hint').textContent()).toBe(
      '“?”, “q” are no symbols of this task and left out. It has the letters a to p.',
    );
    expect(await page.locator('#words-text').getAttribute('aria-invalid')).toBe('true');
    expect((await weights()).get('A')).toEqual([
      ...attended(headsOf(turning), ['a', 'b', 'b', 'a', 'p'], usual[2] as string),
    ]);
    await page.fill('#words-text', 'abcd efgh abcd');
    await page.locator('#words-text').blur();
    await settled(page);
    expect(await page.locator('#words-text').getAttribute('aria-invalid')).toBe('false');
    expect(page.url()).toContain('seq=abcd+efgh+abcd');
    const again = await driver.open(new URL(page.url()).hash);
    await settled(again.page);
    const text = (one: Page) => one.locator('#words .tiles').textContent();
    expect(await text(again.page)).toBe(await text(page));
    expect(await again.page.locator('#words-text').inputValue()).toBe('abcd efgh abcd');
    expect(await about(again.page)).toBe(await about());
    expect(again.complaints).toEqual([]);
    await again.close();
  });

  it('gives its code, and suits everybody', async () => {
    for (const [name, column] of [
      ['Copy A as code', 'A'],
      ['Copy B as code', 'B'],
    ] as const) {
      const program = await copied(page, () =>
        page.locator('#words').getByRole('button', { name }).click(),
      );
      expect(JSON.parse(run(`heads-page-${column}`, program).join(''))).toEqual(
        (await weights()).get(column),
      );
    }
    expect((await saved(page, '#words-body', 'Maps as PNG')).subarray(1, 4).toString()).toBe('PNG');
    expect(await suitsEverybody(page, 'words')).toEqual([]);
    await page.selectOption('#words-heads', '');
    await settled(page);
    expect(await page.locator('#words-text').inputValue()).toBe(fallbacks.say);
    expect(await page.locator('#words [data-field="width"]').isVisible()).toBe(true);
    expect(page.url()).not.toMatch(/trained|seq|hide/);
    expect(opened.complaints).toEqual([]);
  });

  it('says what is wrong with a file, tries again, and goes on with random projections', async () => {
    const bad = await driver.open('#v1&lab=words&seed=5');
    const random = await bad.page.locator('#words .tiles').textContent();
    const failure = bad.page.locator('#words .words-failure');
    let answer: 'lost' | 'cut' | 'whole' = 'lost';
    await bad.page.route('**/*.safetensors', async (route) => {
      if (answer === 'lost') return route.fulfill({ status: 404, body: 'none' });
      if (answer === 'whole') return route.continue();
      return route.fulfill({ body: Buffer.from(bytesOf(turning).subarray(0, 4000)) });
    });
    await bad.page.selectOption('#words-heads', turning);
    await failure.waitFor();
    expect(await failure.textContent()).toContain('the server answered 404');
    await settled(bad.page);
    expect(await bad.page.locator('#words-text').inputValue()).toBe(fallbacks.say);
    await bad.page.locator('#words').getByText('None', { exact: true }).first().click();
    await settled(bad.page);
    expect(await bad.page.locator('#words .tiles').textContent()).toBe(random);
    answer = 'cut';
    await failure.getByRole('button', { name: 'Try again' }).click();
    await expect
      .poll(() => failure.textContent(), { timeout: patience })
      .toContain('bytes of data');
    answer = 'whole';
    await failure.getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => about(bad.page), { timeout: patience }).toContain('400 steps');
    await settled(bad.page);
    expect(await failure.isVisible()).toBe(false);
    expect(await bad.page.evaluate(() => document.activeElement?.id)).toBe('words-heads');
    expect(await bad.page.locator('#words .head-item').count()).toBe(3);
    await goTo(bad.page, '#v1&lab=words&trained=nobody&seed=5');
    await settled(bad.page);
    expect(await failure.textContent()).toContain('none named “nobody”');
    expect(await failure.getByRole('button').isVisible()).toBe(false);
    expect(await bad.page.locator('#words .tiles').textContent()).toBe(random);
    expect(bad.complaints.filter((one) => !/404/.test(one))).toEqual([]);
    await bad.close();
  });
});

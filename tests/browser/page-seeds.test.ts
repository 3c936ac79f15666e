// SPDX-License-Identifier: Apache-2.0
// Lab 6 beyond one run: several seeds as a band, what the decoders look at, and the whole of it as a program.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wordCount } from '../../web/src/labs/notices.ts';
import { lineOf } from '../../web/src/labs/train/cards.ts';
import type { Look, Pupil } from '../../web/src/labs/train/course.ts';
import { earlier, looksLike, runsLike } from '../../web/src/labs/train/earlier.ts';
import { usualPupils } from '../../web/src/labs/train/pupils.ts';
import { lookAt, probeNotice } from '../../web/src/labs/train/seen.ts';
import { medianOf, spreadOf } from '../../web/src/labs/train/spread.ts';
import { torchCode } from '../../web/src/labs/train/torch.ts';
import type { Exam } from '../../web/src/train/run.ts';
import { foundOf, probeOf, sourcesOf, tasks } from '../../web/src/train/tasks.ts';
import { manifest } from './computed.ts';
import { columnsOf, PageDriver, saved, settled } from './page-driver.ts';

const usual = usualPupils(manifest);
const before = await earlier();
// Inside the project, where the name of the package leads to its own exports.
const folder = fileURLToPath(new URL('../../build/page/code', import.meta.url));
mkdirSync(`${folder}/train-page`, { recursive: true });

describe('several seeds', () => {
  const asked = [10, 10];
  const exams = (...right: number[]): Exam[] => [{ step: 25, loss: 1, right }];
  it('are a median in a band', () => {
    expect([[3, 1, 2], [4, 1, 2, 3], [7]].map(medianOf)).toEqual([2, 2.5, 7]);
    const spread = spreadOf([exams(1, 9), [], exams(5, 9), exams(2, 0)], asked);
    expect(spread).toMatchObject({ seeds: 3 });
    expect([...(spread?.middle ?? [])]).toEqual([0.2, 0.9]);
    expect([...(spread?.low ?? [])]).toEqual([0.1, 0]);
    expect([...(spread?.high ?? [])]).toEqual([0.5, 0.9]);
    expect(spreadOf([[]], asked)).toBeUndefined();
  });
  it('are there for every task, length and usual encoding', () => {
    for (const task of tasks)
      for (const longest of [8, 16])
        for (const id of usual) {
          const runs = runsLike(before, { task, longest }, id);
          expect(runs.map(({ setup }) => setup.seed)).toEqual([1, 2, 3, 4, 5]);
          expect(looksLike(before, (runs[0] as (typeof runs)[number]).setup, id)).toHaveLength(3);
        }
  });
  it('are compared with those made before, all together', () => {
    const [first, second] = runsLike(before, { task: 'copy', longest: 8 }, usual[1] as string);
    const pupil = (run: typeof first, exams = run?.exams.slice(0, 2) ?? []): Pupil => ({
      id: usual[1] as string,
      seed: run?.setup.seed ?? 0,
      exams: [...exams],
      looks: [],
      step: 25,
      pace: 3,
      parameters: 7,
      problem: undefined,
    });
    const line = (...pupils: Pupil[]) =>
      lineOf({ id: '', title: '', pupils, before: [first, second] as NonNullable<typeof first>[] });
    expect(line()).toBe('made before');
    expect(line(pupil(first))).toMatch(/equal to the run made before, to the last bit, at all 2 p/);
    expect(line(pupil(first), pupil(second))).toMatch(/^2 seeds, .*equal to the 2 runs.*all 4 p/);
    expect(line(pupil(first), pupil(second, first?.exams.slice(1, 2)))).toMatch(/from step 25 on/);
  });
});

describe('the probe', () => {
  it('finds the stripe that copying takes, and shows the step asked for', () => {
    const setup = { task: 'copy', longest: 16, seed: 1, steps: 400 } as const;
    const sources = sourcesOf('copy', probeOf('copy', 16));
    const found = (id: string, step: number) => {
      const { weights } = lookAt(looksLike(before, setup, id), step) as Look;
      return Math.max(...[0, 1].map((head) => foundOf(weights.subarray(256 * head), sources)));
    };
    expect(found(usual[2] as string, -1)).toBeGreaterThan(0.9);
    expect(found(usual[2] as string, 0)).toBeLessThan(0.3);
    expect(found(usual[0] as string, -1)).toBeLessThan(0.3);
    const looks = [0, 25, 50].map((step) => ({ step, weights: new Float32Array() }));
    expect([-1, 0, 30, 99].map((step) => lookAt(looks, step)?.step)).toEqual([50, 0, 25, 50]);
    expect(lookAt([], -1)).toBeUndefined();
  });
  it('is noticed in at most forty words', () => {
    for (const task of tasks)
      for (const shown of [[], manifest.slice(0, 1), manifest]) {
        const seen = shown.map(({ title }, i) => ({ title, found: i / 50 }));
        const notice = probeNotice(seen, { task, longest: 8, seed: 1, steps: 25 });
        expect(wordCount(notice)).toBeLessThanOrEqual(40);
      }
  });
});

describe('the training in PyTorch', () => {
  const who = [...usual, 'learned', 't5', 'cope'].map((id) => ({ id, seed: 1 }));
  const programs = tasks.map((task) => torchCode({ task, longest: 8, seed: 1, steps: 25 }, who));
  it('is Python', () => {
    const check = 'import ast, json, sys\nfor text in json.load(sys.stdin): ast.parse(text)';
    execFileSync('python3', ['-c', check], { input: JSON.stringify(programs) });
  });
  it('is told of each encoding in numbers, and of what numbers do not say nothing', () => {
    const [, places = ''] = /PLACES = r'''([\s\S]*?)'''/.exec(programs[0] as string) ?? [];
    writeFileSync(`${folder}/train-places.mjs`, places);
    const told = JSON.parse(
      execFileSync(process.execPath, [`${folder}/train-places.mjs`], { encoding: 'utf8' }),
    );
    expect(Object.keys(told)).toEqual(who.map(({ id }) => id));
    expect(told.none).toEqual({});
    expect(told.cope).toBeNull();
    expect(told.sinusoidal.rows.shape).toEqual([64, 32]);
    expect(told.rope.frequencies).toHaveLength(8);
    expect(told.rope.layout).toBe('half');
    expect(told.alibi.bias.shape).toEqual([2, 1, 64]);
    // By distance: the first of two heads falls by 1/16.
    expect(told.alibi.bias.data[3]).toBeCloseTo(-3 / 16, 6);
    expect(told.t5).toBeNull();
    expect(told.learned.rows.shape[1]).toBe(32);
    expect(told.learned.trained).toBe(true);
  });
});

describe('on the page', () => {
  let driver: PageDriver;
  beforeAll(async () => {
    driver = await PageDriver.start();
  });
  afterAll(() => driver?.stop());

  it('three seeds make a band, and the probe shows what they look at, step by step', async () => {
    const { page, complaints, close } = await driver.open(
      '#v1&lab=train&upto=8&throws=3&pupils=rope',
      { reducedMotion: 'reduce' },
    );
    const found = () => page.locator('.probe [data-value]').getAttribute('data-value');
    expect(await page.locator('#train-accuracy-plot .band').count()).toBe(1);
    await expect.poll(found).toMatch(/^0\.\d+/);
    const ready = await found();
    await page.locator('#train-body').getByRole('button', { name: '25 steps' }).click();
    await page
      .locator('.pupils li', { hasText: /3 seeds, 25 steps.*equal to the 3 runs.*all 6 points/ })
      .waitFor();
    await page.waitForSelector('#train-step:text-is("Paused.")');
    await expect
      .poll(() => page.locator('.probe .control-doc').first().textContent())
      .toMatch(/^The decoders of now, seed 1, /);
    await expect.poll(found).not.toBe(ready);
    const now = await found();
    await page.locator('[data-field="when"] input.exact').fill('0');
    await expect.poll(found).not.toBe(now);
    await page.locator('[data-field="when"] input.exact').press('Enter');
    await page.locator('.probe .stage.square').first().focus();
    await page.keyboard.press('ArrowDown');
    expect(await page.locator('[data-role="probe-readout"]').textContent()).toMatch(
      /^[a-p] → [a-p].*: A \d+/,
    );
    const csv = columnsOf((await saved(page, '#train-accuracy', 'CSV')).toString());
    const [middle, worst, best] = ['', ', worst seed', ', best seed'].map(
      (end) =>
        csv.get(`"RoPE, median of 3 seeds${end}"`) ?? csv.get(`RoPE, median of 3 seeds${end}`),
    );
    expect([...csv.keys()].length).toBeGreaterThan(3);
    middle?.forEach((share, i) => {
      expect(share).toBeGreaterThanOrEqual(worst?.[i] as number);
      expect(share).toBeLessThanOrEqual(best?.[i] as number);
    });
    expect(page.url()).toContain('when=0');
    expect(complaints).toEqual([]);
    await close();
  });

  it('the training is a program in every form, with the same numbers to the last bit', async () => {
    const { page, complaints, close } = await driver.open(
      // Two of them: each is trained once in every form.
      `#v1&lab=use&show=train&upto=8&rounds=25&pupils=${usual[0]},${usual[2]}`,
    );
    const text = async (form: string, start: RegExp): Promise<string> => {
      await page.locator('#use').getByText(form, { exact: true }).click();
      const program = page.locator('#use .program');
      await expect.poll(() => program.textContent()).toMatch(start);
      await settled(page);
      return (await program.textContent()) ?? '';
    };
    const wanted = [usual[0], usual[2]].map((id) => {
      const [first] = runsLike(before, { task: 'copy', longest: 8 }, id as string);
      return { id, seed: 1, ...first?.exams.find(({ step }) => step === 25) };
    });
    const printed = (lines: string) =>
      lines
        .trim()
        .split('\n')
        .map((line) => {
          const { id, seed, step, loss, right } = JSON.parse(line);
          return { id, seed, step, loss, right };
        });
    writeFileSync(
      `${folder}/train.mjs`,
      await text('TypeScript, JavaScript', /^\/\/ npm install.*\nimport \{ encodings, load \}/),
    );
    const run = execFileSync(process.execPath, [`${folder}/train.mjs`], { encoding: 'utf8' });
    expect(printed(run)).toEqual(wanted);
    const command = await text('Node, one command', /^npm install posenc\nnode /);
    const lines = command.replace('npm install posenc\n', '');
    expect(printed(execFileSync('sh', ['-c', lines], { cwd: folder, encoding: 'utf8' }))).toEqual(
      wanted,
    );
    writeFileSync(
      `${folder}/train-page/index.html`,
      await text('Script in a page', /^<!doctype html>/),
    );
    cpSync(fileURLToPath(new URL('../../dist', import.meta.url)), `${folder}/train-page/posenc`, {
      recursive: true,
    });
    // Four lines come one after the other.
    const shown = await driver.run(`${folder}/train-page`, '#out', wanted.length);
    expect(printed(shown)).toEqual(wanted);
    expect(await text('PyTorch', /^# Train short/)).toContain('import torch');
    expect(complaints).toEqual([]);
    await close();
  });
});

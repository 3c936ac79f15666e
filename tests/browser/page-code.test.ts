// SPDX-License-Identifier: Apache-2.0
// "Copy as code" has to be code: every program the page offers runs against the package as built, and prints what is drawn.
import { execFileSync } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runLayer, seed, spread } from '../../web/src/compute/layer.ts';
import { type Picture, pictureOf } from '../../web/src/compute/picture.ts';
import { asCommand, asModule, asPage } from '../../web/src/labs/use/forms.ts';
import type { EncodingInfo } from '../../web/src/model/manifest.ts';
import { untouched } from '../../web/src/model/settings.ts';
import { atlasCode } from '../../web/src/parts/code.ts';
import { layerCode } from '../../web/src/parts/layer-code.ts';
import { engine, manifest } from './computed.ts';
import { changed, PageDriver, settled, suitsEverybody } from './page-driver.ts';
import { root } from './page-server.ts';
import { programs, run, runAll } from './programs.ts';

const parsed = (lines: string[]) => lines.map((line) => JSON.parse(line) as number[]);

const words = ['dog', 'bites', '"man"', '</script>'];
const layerOf = (info: EncodingInfo, causal: boolean): string =>
  layerCode(
    {
      words,
      layer: { heads: 4, width: 16, seed, sharpness: spread },
      mask: causal ? 'causal' : 'open',
      span: 1,
      part: 'both',
      softcap: 0,
    },
    info,
    true,
  );

const pictures = new Map(
  manifest.map((info) => [info.id, pictureOf(engine, info, untouched, 8)] as const),
);
const printedBy = runAll(
  new Map(
    manifest.flatMap((info) => [
      [`atlas-${info.id}`, atlasCode(info, untouched, pictures.get(info.id) as Picture)],
      [`order-${info.id}`, layerOf(info, true)],
    ]),
  ),
);
it.each(['atlas', 'order'])('a program of the %s runs alone as it does among others', (form) => {
  // The last of them: among others it is one that a hundred came before.
  const info = manifest.at(-1) as EncodingInfo;
  const program =
    form === 'atlas'
      ? atlasCode(info, untouched, pictures.get(info.id) as Picture)
      : layerOf(info, true);
  expect(run(`alone-${form}`, program)).toEqual(printedBy(`${form}-${info.id}`));
});
describe.each(manifest)('the code for $id', (info) => {
  it('of the atlas prints what the atlas draws', () => {
    const picture = pictures.get(info.id) as Picture;
    const [printed = []] = parsed(printedBy(`atlas-${info.id}`));
    const { columns, rows, cells } = picture;
    expect(printed.length).toBeGreaterThan(0);
    expect(printed.every(Number.isFinite)).toBe(true);
    if (picture.rowName === 'pair' || picture.rowName === 'query')
      printed.forEach((value, i) => {
        expect(value, `distance ${i}`).toBeCloseTo(picture.curves[0]?.values[i] as number, 5);
      });
    else
      printed.forEach((value, i) => {
        const [row, column] =
          picture.rowName === 'dimension'
            ? [i % rows, Math.floor(i / rows)]
            : [Math.floor(i / columns), columns - 1 - (i % columns)];
        const drawn = cells[row * columns + column] as number;
        const share =
          picture.rowName === 'dimension' || picture.perRow ? value : Math.log(value * columns);
        expect(share, `${row}, ${column}`).toBeCloseTo(drawn, 5);
      });
  });

  it('of the first lab prints the weights and outputs of the first lab', () => {
    const [weights = [], output = []] = parsed(printedBy(`order-${info.id}`));
    const want = runLayer(engine, words, info.sites.length ? info : undefined, true);
    expect(Float32Array.from(weights)).toEqual(Float32Array.from(want.weights));
    // The lab keeps the heads of a word side by side.
    const rowsFirst = Float32Array.from(
      output.map(
        (_, i) =>
          output[
            (Math.floor((i % 16) / 4) * words.length + Math.floor(i / 16)) * 4 + (i % 4)
          ] as number,
      ),
    );
    expect(rowsFirst).toEqual(want.output);
  });
});

describe('Lab 7', () => {
  let driver: PageDriver;
  beforeAll(async () => {
    driver = await PageDriver.start();
  });
  afterAll(() => driver?.stop());

  it('shows every lab in every form, and the forms print what the lab shows', async () => {
    const { page, complaints, close } = await driver.open('#v1&lab=use&pos=1');
    const program = page.locator('#use .program');
    let module = '';
    for (const name of ['Atlas', 'Beyond', 'Words', 'Config', 'Order']) {
      const choice = page.locator('#use').getByText(name, { exact: true });
      module = await changed(program, () => choice.click());
      expect(module.length, name).toBeGreaterThan(200);
    }
    const shown = Number(await page.locator('.big-number').getAttribute('data-value'));
    expect(shown).toBe(0);
    const [weights = []] = parsed(run('use-module', module));
    const drawn = runLayer(
      engine,
      'the dog bit the man'.split(' '),
      manifest.find(({ id }) => id === 'rope'),
      false,
    );
    expect(Float32Array.from(weights)).toEqual(Float32Array.from(drawn.weights));
    const node = page.locator('#use').getByText('Node, one command');
    const command = await changed(program, () => node.click());
    expect(command).toMatch(/^npm install posenc\n/);
    const printed = execFileSync('sh', ['-c', command.replace(/^.*\n/, '')], {
      cwd: programs,
      encoding: 'utf8',
    });
    expect(JSON.parse(printed.split('\n')[0] as string)).toEqual(weights);
    expect(await suitsEverybody(page, 'use')).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });

  it('shows the lab asked for last, whichever comes last', async () => {
    const { page, complaints, close } = await driver.open('#v1&lab=use');
    let release = (): void => {};
    const held = new Promise<void>((done) => {
      release = done;
    });
    // Words take their time; the doctor of configurations is there at once.
    await page.route(/\/assets\/lab-/, async (route) => {
      const response = await route.fetch();
      const words = (await response.text()).includes('words-text');
      if (words) await held;
      await route.fulfill({ response });
    });
    const program = page.locator('#use .program');
    const choose = (name: string) => page.locator('#use').getByText(name, { exact: true }).click();
    await choose('Words');
    await choose('Config');
    await expect.poll(() => program.textContent()).toContain('fromConfig');
    const text = await program.textContent();
    release();
    await page.waitForSelector('#words[data-loaded]');
    await settled(page);
    expect(await program.textContent()).toBe(text);
    expect(complaints).toEqual([]);
    await close();
  });

  it('writes a page that runs, whatever the words are', async () => {
    const info = manifest.find(({ id }) => id === 'rope') as EncodingInfo;
    const module = layerOf(info, false);
    const place = `${programs}/page`;
    cpSync(`${root}dist`, `${place}/posenc`, {
      recursive: true,
    });
    writeFileSync(`${place}/index.html`, asPage(module));
    const lines = await driver.run(place, '#out');
    expect(
      lines
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual(parsed(run('use-page', asModule(module))));
    expect(asCommand(module)).toContain("<<'END'\n");
  });
});

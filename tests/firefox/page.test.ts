// SPDX-License-Identifier: Apache-2.0
// The page and the package in Firefox, through WebDriver BiDi: same policy, same numbers, same bits. What every control does is
// tested in Chromium; here is what depends on the engine.
import type { ChildProcess } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, launch, type Page } from 'puppeteer-core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { encodings, load } from '../../dist/index.node.js';
import { layer, runLayer } from '../../web/src/compute/layer.ts';
import { pictureOf } from '../../web/src/compute/picture.ts';
import type { Engine } from '../../web/src/engine.ts';
import { labs } from '../../web/src/model/labs.ts';
import type { EncodingInfo } from '../../web/src/model/manifest.ts';
import { untouched } from '../../web/src/model/settings.ts';
import { root, serve } from '../browser/page-server.ts';
import { committed } from '../support/same-bits.mjs';

const engine = (await load()) as unknown as Engine;
const manifest = encodings as unknown as readonly EncodingInfo[];

let browser: Browser;
/** Firefox as root refuses a home that is not root's own. */
const home = mkdtempSync(join(tmpdir(), 'posenc-firefox-'));
const servers: ChildProcess[] = [];
const at = async (folder: string): Promise<string> => {
  const { server, address } = await serve(folder);
  servers.push(server);
  return address;
};
beforeAll(async () => {
  browser = await launch({
    browser: 'firefox',
    executablePath: process.env.FIREFOX ?? '/usr/bin/firefox-esr',
    headless: true,
    // Setting a viewport takes a command that only Firefox 144 and later know; Debian 12 may have an older one.
    defaultViewport: null,
    args: ['--width=1440', '--height=900'],
    env: { ...process.env, HOME: home },
    extraPrefsFirefox: {
      'app.update.enabled': false,
      'datareporting.policy.dataSubmissionEnabled': false,
    },
  });
});
afterAll(async () => {
  await browser?.close();
  for (const server of servers) server.kill();
  rmSync(home, { recursive: true, force: true });
});

/** A new page; `complaints` collects what goes wrong on it. */
async function open(): Promise<{ page: Page; complaints: string[] }> {
  const page = await browser.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warn') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(`uncaught: ${String(error)}`));
  page.on('requestfailed', (request) => complaints.push(`failed: ${request.url()}`));
  return { page, complaints };
}

/**
 * What `read` gives in the page as soon as that is neither false nor empty. Asked from outside: what puppeteer waits with inside
 * is made by Function(), which the policy forbids and Firefox 140, Debian 12's, does not exempt.
 */
async function until<T>(
  page: Page,
  read: (argument: string) => T,
  argument = '',
): Promise<Exclude<Awaited<T>, false | '' | undefined>> {
  for (;;) {
    const got = await page.evaluate(read, argument);
    if (got) return got as Exclude<Awaited<T>, false | '' | undefined>;
    await new Promise((done) => setTimeout(done, 50));
  }
}
const present = (selector: string) => document.querySelector(selector) !== null;

describe('Firefox', () => {
  let address = '';
  let page: Page;
  let complaints: string[];
  beforeAll(async () => {
    address = inject('page').address;
    ({ page, complaints } = await open());
    await page.goto(`${address}#v1&lab=atlas&order=4.1.2.3.0&mask=causal`);
    await until(page, present, 'html[data-ready="true"]');
  });

  it('shows the number of the first lab that Node computes', async () => {
    const words = 'the dog bit the man'.split(' ');
    const order = [4, 1, 2, 3, 0];
    const before = runLayer(engine, words, undefined, true).output;
    const after = runLayer(
      engine,
      order.map((word) => words[word] as string),
      undefined,
      true,
    ).output;
    let most = 0;
    order.forEach((word, place) => {
      for (let i = 0; i < layer.width; i += 1)
        most = Math.max(
          most,
          Math.abs(
            (after[place * layer.width + i] as number) - (before[word * layer.width + i] as number),
          ),
        );
    });
    const shown = await page.$eval('.big-number', (one) => (one as HTMLElement).dataset.value);
    expect(Number(shown)).toBe(most);
  });

  it('reads the same value under the cursor of the atlas', async () => {
    const info = manifest.find(({ id }) => id === 'rope') as EncodingInfo;
    const { cells, columns } = pictureOf(engine, info, untouched, 128);
    await page.focus('#atlas-map');
    for (const key of ['ArrowDown', 'ArrowRight', 'ArrowRight'] as const)
      await page.keyboard.press(key);
    const shown = await until(page, () => {
      const place = document.querySelector('.readout span')?.textContent;
      return place?.startsWith('position 2, pair 1')
        ? document.querySelector('.readout [data-role="cell"]')?.textContent
        : undefined;
    });
    expect(Number(shown.replace('−', '-'))).toBeCloseTo(cells[columns + 2] as number, 7);
  });

  it('opens every lab under the policy, without a complaint', async () => {
    for (const lab of labs) {
      await page.$eval(`.bar-nav a[href="#${lab}"]`, (link) => (link as HTMLElement).click());
      await until(page, present, `#${lab}:not(.lazy:not([data-loaded]))`);
      const empty = await page.$eval(`#${lab} .lab-body`, (body) => body.childElementCount === 0);
      expect(empty, lab).toBe(false);
    }
    expect(complaints).toEqual([]);
  });

  it('gives the verdict of the config doctor', async () => {
    await page.evaluate(() => {
      location.hash = '#v1&lab=config&cfg=llama-2-7b';
    });
    const verdict = await until(page, () => {
      const text = document.querySelector('.doctor-verdict')?.textContent ?? '';
      return text.includes('4,096') && text;
    });
    expect(verdict).toMatch(/128/);
    expect(complaints).toEqual([]);
  });

  it('computes every encoding to the same bits as Node', async () => {
    const folder = `${root}build/firefox-package`;
    mkdirSync(folder, { recursive: true });
    cpSync(`${root}dist`, folder, { recursive: true });
    for (const name of ['same-bits.mjs', 'examples.mjs'])
      cpSync(`${root}tests/support/${name}`, `${folder}/${name}`);
    writeFileSync(
      `${folder}/main.mjs`,
      `import { load } from './index.js';
import { digest } from './same-bits.mjs';
load().then(digest).then(
  (result) => { document.title = JSON.stringify(result); },
  (error) => { document.title = String(error); });
`,
    );
    writeFileSync(
      `${folder}/index.html`,
      '<!doctype html><title></title><script type="module" src="./main.mjs"></script>',
    );
    const { page: other, complaints: heard } = await open();
    await other.goto(await at(folder));
    const title = await until(other, () => document.title);
    expect(JSON.parse(title)).toMatchObject({ hash: committed });
    expect(heard).toEqual([]);
  });
});

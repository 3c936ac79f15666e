// SPDX-License-Identifier: Apache-2.0
// The page without a network, in a folder below the root of its host: a second visit needs no server, and a newer build waits.
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { keptFiles } from '../../web/keep.ts';
import { labs } from '../../web/src/model/labs.ts';
import { chromiumArguments } from './chromium-arguments.mjs';
import { patience, settled } from './page-driver.ts';
import { root, serve } from './page-server.ts';

const folder = `${root}build/page/offline-host`;
let context: BrowserContext;
let server: Awaited<ReturnType<typeof serve>>;
let host = '';
/** By number, since a page at localhost asks its server first. */
async function restart(port?: string): Promise<void> {
  server = await serve(folder, port);
  host = server.address.replace('localhost', '127.0.0.1');
}
beforeAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  cpSync(inject('page').folder, `${folder}/sub`, { recursive: true });
  await restart();
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: chromiumArguments,
  });
  context = await browser.newContext();
  context.setDefaultTimeout(patience);
});
afterAll(async () => {
  await context?.browser()?.close();
  server?.server.kill();
});

async function open(hash = ''): Promise<{ page: Page; complaints: string[] }> {
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(`uncaught: ${error.message}`));
  page.on('requestfailed', (request) => complaints.push(`failed request: ${request.url()}`));
  await page.goto(`${host}sub/${hash}`);
  await page.waitForSelector('html[data-ready="true"]');
  return { page, complaints };
}
const isKept = (page: Page) =>
  page.waitForFunction(() => document.querySelector('#offline-info')?.textContent !== '');

describe('the page without a network', () => {
  it('lists all that was built, but for the worker itself', () => {
    const { files, late } = keptFiles(`${folder}/sub`);
    expect(
      late.filter(
        (name) => !/^(onnxruntime-web-|gpt-2-|ahead\/)|relaxed|\.safetensors$/.test(name),
      ),
    ).toEqual([]);
    expect(late).toContainEqual(expect.stringMatching(/^onnxruntime-web-[^/]+\/LICENSE\.txt$/));
    expect(late).toContainEqual(expect.stringMatching(/^gpt-2-[^/]+\/LICENSE\.txt$/));
    expect(files).toContain('');
    expect(files.filter((name) => name.endsWith('.wasm'))).toHaveLength(1);
    expect(files).not.toContain('service-worker.js');
  });

  it('opens again with its server gone, every lab of it', async () => {
    const first = await open();
    await isKept(first.page);
    const number = await first.page.locator('.big-number').getAttribute('data-value');
    expect(first.complaints).toEqual([]);
    await first.page.close();

    const port = new URL(server.address).port;
    server.server.kill();
    await new Promise((gone) => server.server.once('exit', gone));
    const { page, complaints } = await open();
    expect(await page.locator('.big-number').getAttribute('data-value')).toBe(number);
    for (const lab of labs) {
      await page.locator(`.bar-nav a[href="#${lab}"]`).click();
      await page.waitForSelector(`#${lab}:not(.lazy:not([data-loaded]))`);
    }
    await settled(page);
    expect(await page.locator('.doctor-verdict').isVisible()).toBe(true);
    expect(complaints).toEqual([]);
    await page.goto(`${host}sub/?embed=words#v1&seed=7`);
    await page.waitForSelector('#words[data-loaded]');
    expect(complaints).toEqual([]);
    await page.close();
    await restart(port);
  });

  const rewrite = (name: string, from: RegExp, to: string): void => {
    const path = `${folder}/sub/${name}`;
    const text = readFileSync(path, 'utf8');
    expect(text).toMatch(from);
    writeFileSync(path, text.replace(from, to));
  };
  /** Puts another build on the server and has the page look for it, until its worker is in that state. */
  async function publish(page: Page, version: string, until: ServiceWorkerState): Promise<void> {
    rewrite('index.html', /<title>(\w+ build: )?/, `<title>${version} build: `);
    rewrite('service-worker.js', /"version":"\w+"/, `"version":"${version}"`);
    await page.evaluate(async (state) => {
      const registration = await navigator.serviceWorker.ready;
      const came = new Promise<void>((done) => {
        registration.addEventListener('updatefound', () => {
          const coming = registration.installing;
          coming?.addEventListener('statechange', () => coming.state === state && done());
        });
      });
      await registration.update();
      await came;
    }, until);
  }
  const offered = (page: Page) => page.locator('.toast').getByRole('button', { name: 'Load it' });
  /** Without the reload that waiting too long leads to; on a crowded machine the old worker may be busy for a while. */
  async function take(page: Page): Promise<void> {
    await page.evaluate(() => {
      window.setTimeout = (() => 0) as unknown as typeof setTimeout;
    });
    await Promise.all([page.waitForEvent('load'), offered(page).click()]);
    await page.waitForSelector('html[data-ready="true"]');
  }
  const versions = (page: Page) =>
    page.evaluate(async () => (await caches.keys()).map((name) => name.split(' ').at(-1)));

  it('offers a newer build, and changes nothing before it is taken, in any tab', async () => {
    const { page } = await open();
    await isKept(page);
    const other = (await open()).page;
    await isKept(other);
    await publish(page, 'newer', 'installed');
    await offered(page).waitFor();
    await offered(other).waitFor();
    const title = await page.title();
    expect(title).not.toMatch(/^newer build/);
    await take(page);
    expect(await page.title()).toBe(`newer build: ${title}`);
    // Its worker is in office already, and nothing more will change hands.
    expect(await other.title()).toBe(title);
    await take(other);
    expect(await other.title()).toBe(`newer build: ${title}`);
    await Promise.all([page.close(), other.close()]);
  });

  it('keeps the files of the build in use before, not those of one that never was', async () => {
    const { page } = await open();
    await isKept(page);
    rewrite('service-worker.js', /"files":\[/, '"files":["missing.js",');
    await publish(page, 'broken', 'redundant');
    expect(await versions(page)).not.toContain('broken');
    rewrite('service-worker.js', /"missing\.js",/, '');
    await publish(page, 'ignored', 'installed');
    await publish(page, 'newest', 'installed');
    expect(await versions(page)).toEqual(expect.arrayContaining(['newer', 'ignored', 'newest']));
    // One offer, of the newest.
    await take(page);
    expect(await page.title()).toMatch(/^newest build: /);
    await page.evaluate(() => navigator.serviceWorker.ready);
    expect((await versions(page)).sort()).toEqual(['newer', 'newest']);
    await page.close();
  });
});

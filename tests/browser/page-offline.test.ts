// SPDX-License-Identifier: Apache-2.0
// The page without a network, in a folder below the root of its host: a second visit needs no server, and a newer build waits.
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keptFiles } from '../../web/keep.ts';
import { labs } from '../../web/src/model/labs.ts';
import { chromiumArguments, settled } from './page-driver.ts';
import { buildPage, root, serve } from './page-server.ts';

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
  cpSync(buildPage('offline'), `${folder}/sub`, { recursive: true });
  await restart();
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: chromiumArguments,
  });
  context = await browser.newContext();
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
    expect(late.filter((name) => !/^onnxruntime-web-|relaxed/.test(name))).toEqual([]);
    expect(late.length).toBeGreaterThan(0);
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

  it('offers a newer build, and changes nothing before it is taken', async () => {
    const { page } = await open();
    await isKept(page);
    const rewrite = (name: string, from: RegExp, to: string): void => {
      const path = `${folder}/sub/${name}`;
      const text = readFileSync(path, 'utf8');
      expect(text).toMatch(from);
      writeFileSync(path, text.replace(from, to));
    };
    rewrite('index.html', /<title>/, '<title>Newer: ');
    rewrite('service-worker.js', /"version":"\w+"/, '"version":"newer"');
    await page.evaluate(async () => (await navigator.serviceWorker.ready).update());
    const take = page.locator('.toast').getByRole('button', { name: 'Load it' });
    await take.waitFor();
    expect(await page.title()).not.toMatch(/^Newer/);
    await Promise.all([page.waitForEvent('load'), take.click()]);
    // On a crowded machine the old worker may be busy that long; the next visit then finds the new one.
    for (let visits = 0; visits < 5 && !/^Newer/.test(await page.title()); visits += 1) {
      await page.waitForTimeout(1000);
      await page.reload();
    }
    expect(await page.title()).toMatch(/^Newer: /);
  });
});

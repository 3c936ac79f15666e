// SPDX-License-Identifier: Apache-2.0
// What the page keeps for later where a host leads elsewhere or the disk is full: all of it or nothing, and never a wrong file.
import { statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { keptFiles } from '../../web/keep.ts';
import { chromiumArguments } from './chromium-arguments.mjs';
import { patience } from './page-driver.ts';

/** What the host answers the worker with the way to something else that is there, as to a login page. */
let astray: string | undefined;
const host = createServer(async (request, response) => {
  const path = (request.url ?? '/').slice(1);
  if (path === astray && request.headers['sec-fetch-dest'] === 'empty')
    return response.writeHead(302, { Location: '/favicon.svg' }).end();
  const answer = await fetch(inject('page').address + path);
  const type = answer.headers.get('content-type') ?? '';
  const policy = answer.headers.get('content-security-policy') ?? '';
  response.writeHead(answer.status, { 'Content-Type': type, 'Content-Security-Policy': policy });
  response.end(Buffer.from(await answer.arrayBuffer()));
});

let browser: Browser;
let origin = '';
let context: BrowserContext;
beforeAll(async () => {
  await new Promise<void>((done) => host.listen(0, '127.0.0.1', done));
  origin = `http://127.0.0.1:${(host.address() as AddressInfo).port}`;
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: chromiumArguments,
  });
});
beforeEach(async () => {
  astray = undefined;
  context = await browser.newContext();
  context.setDefaultTimeout(patience);
});
afterEach(() => context.close());
afterAll(async () => {
  await browser?.close();
  host.close();
});

async function open(): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${origin}/`);
  await page.waitForSelector('html[data-ready="true"]');
  return page;
}
const isKept = (page: Page) =>
  page.waitForFunction(() => document.querySelector('#offline-info')?.textContent !== '');

/** How many caches are left once the worker has given up. */
const givenUp = (page: Page): Promise<number> =>
  page.evaluate(async () => {
    const { installing, waiting, active } =
      await navigator.serviceWorker.register('./service-worker.js');
    await new Promise<void>((done) => {
      const look = () => (installing === null || installing.state === 'redundant') && done();
      installing?.addEventListener('statechange', look);
      look();
    });
    if (waiting || active) throw new Error('a worker is in office');
    return (await caches.keys()).length;
  });
const works = async (page: Page): Promise<void> => {
  expect(await page.locator('.big-number').getAttribute('data-value')).not.toBeNull();
  expect(await page.locator('#offline-info').textContent()).toBe('');
};
const fetched = (page: Page, name: string) =>
  page.evaluate(async (name) => {
    const response = await fetch(name);
    const bytes = (await response.arrayBuffer()).byteLength;
    return { bytes, redirected: response.redirected, status: response.status };
  }, name);
const isIn = (page: Page, name: string) =>
  page.evaluate(
    async (name) => (await caches.match(new URL(name, location.href))) !== undefined,
    name,
  );

const { files, late } = keptFiles(inject('page').folder);
const part = files.find((name) => /^assets\/earlier-/.test(name)) ?? '';
const large = late.find((name) => /^onnx.*\.wasm$/.test(name)) ?? '';
/** Of the whole file, whatever the network or the disk is like. */
const whole = { status: 200, bytes: statSync(`${inject('page').folder}/${large}`).size };

describe('a host that leads elsewhere', () => {
  it.each([
    ['the page', ''],
    ['a part of it', part],
  ])('for %s: nothing is kept, and all once it does so no more', async (_, name) => {
    astray = name;
    const page = await open();
    expect(await givenUp(page)).toBe(0);
    await works(page);
    astray = undefined;
    await page.reload();
    await isKept(page);
    expect(await isIn(page, name)).toBe(true);
  });

  it('for what is fetched later: it is not taken for the file', async () => {
    const page = await open();
    await isKept(page);
    astray = large;
    expect(await fetched(page, large)).toMatchObject({ redirected: true });
    astray = undefined;
    // Had the other been kept, it would come again.
    expect(await fetched(page, large)).toMatchObject({ ...whole, redirected: false });
    await expect.poll(() => isIn(page, large), { timeout: patience }).toBe(true);
  });
});

describe('a full disk', () => {
  /** While the page it is asked on is open. */
  const quota = async (): Promise<(bytes?: number) => Promise<unknown>> => {
    const session = await context.newCDPSession(await context.newPage());
    return (bytes) =>
      session.send('Storage.overrideQuotaForOrigin', {
        origin,
        ...(bytes === undefined ? {} : { quotaSize: bytes }),
      });
  };

  it('keeps nothing of the page, which works, and all of it once there is room', async () => {
    const limit = await quota();
    await limit(100_000);
    const page = await open();
    expect(await givenUp(page)).toBe(0);
    await works(page);
    await limit();
    await page.reload();
    await isKept(page);
  });

  it('gives what it cannot keep, whole', async () => {
    const limit = await quota();
    const page = await open();
    await isKept(page);
    await limit(whole.bytes / 2);
    expect(await fetched(page, large)).toMatchObject(whole);
    await limit();
    expect(await fetched(page, large)).toMatchObject(whole);
    await expect.poll(() => isIn(page, large), { timeout: patience }).toBe(true);
  });
});
